"""The points at which a connection is cut: every statement that changes something, six places each.

    request before · middle · after      the server got nothing, half a message, or all of it
    answer  before · middle · after      it was done, and nobody, half of somebody, or the client knows
"""

import asyncio
import contextlib
import dataclasses
import datetime as dt
import os
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from crowd import until, value
from cutter import PLACES, SIDES, Cut, Cutter, Place, Side
from witness import Witness

from weft import App, Context
from weft.base import errors, ids
from weft.db import statements
from weft.queue import tasks
from weft.worker.worker import Worker

LEASE = dt.timedelta(seconds=2)
_TRIES = 10
_MOMENT = 3.0
"""Seconds for a cut to happen before what leads to it is done again."""


@dataclasses.dataclass(frozen=True)
class Point:
    """Which statement, what makes somebody say it, and where it is cut."""

    operation: str
    statement: str
    provoke: "Callable[[Scene], Awaitable[None]]"
    side: Side = "request"
    place: Place = "before"
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.operation} {self.nth}, {self.side} {self.place}"

    def cut(self) -> Cut:
        return Cut(statement=self.statement, side=self.side, place=self.place, nth=self.nth)


class Scene:
    """A worker and a client behind the proxy, and a client that is not."""

    def __init__(self, witness: Witness, cutter: Cutter) -> None:
        self.witness = witness
        self.cutter = cutter
        self.meeting: list[asyncio.Event] = []
        """Tasks that wait for another one."""
        self.app = checked_app(witness, cutter.url, self.meeting)
        """Behind the proxy, client and worker."""
        self.safe = App(database_url=witness.url)
        self.worker: Worker | None = None

    async def suffer(self, point: Point) -> None:
        """One cut, seen to have happened, and the end of everything that was begun."""
        cut = self.cutter.arm(point.cut())
        for _ in range(_TRIES):
            # a client may meet a connection of its pool that the last cut broke, and then does not get that far
            await point.provoke(self)
            fired = asyncio.ensure_future(cut.fired.wait())
            done, _ = await asyncio.wait([fired], timeout=_MOMENT)
            fired.cancel()
            if done:
                break
        await cut.happened()
        self.cutter.cuts.remove(cut)


@contextlib.asynccontextmanager
async def scene(witness: Witness, folder: Path) -> AsyncIterator[Scene]:
    """The worker runs in this process: it may lose tasks, it must not end."""
    witness.harmed.add(os.getpid())
    async with Cutter(witness.url, folder=folder) as cutter:
        made = Scene(witness, cutter)
        async with made.app, made.safe, made.app.worker(lease=LEASE, concurrency=4) as worker:
            made.worker = worker
            await until(lambda: value(witness.url, "select count(*) from weft.leaders where term > 0") == 1)
            try:
                yield made
            finally:
                cutter.cuts.clear()


def checked_app(witness: Witness, url: str, meeting: list[asyncio.Event]) -> App:
    """The task of the checker, run in this process."""
    app = App(database_url=url)

    @app.task(retry={"backoff": "fixed", "base": 0}, max_attempts=10)
    async def checked(ctx: Context, k: str, fail: int = 0, seconds: float = 0.0, meet: bool = False) -> dict[str, int]:
        witness.note("start", ctx)
        if meet:
            await _met(meeting)
        if seconds:
            ctx.log(f"attempt {ctx.attempt}")
            ctx.progress(50, f"attempt {ctx.attempt}")
            await asyncio.sleep(seconds)
        if ctx.attempt <= fail:
            raise RuntimeError(f"attempt {ctx.attempt}")
        witness.note("end", ctx)
        return {"attempt": ctx.attempt, "pid": os.getpid()}

    return app


async def _met(meeting: list[asyncio.Event]) -> None:
    """Until another one is here. Who comes again after a cut may be the only one."""
    if meeting:
        meeting.pop().set()
        return
    mine = asyncio.Event()
    meeting.append(mine)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_MOMENT / 2):
            await mine.wait()
    if mine in meeting:
        meeting.remove(mine)


async def enqueue_here(scene: Scene) -> None:
    await scene.witness.enqueue(scene.app, 1)


async def enqueue_said_more(scene: Scene) -> None:
    await scene.witness.enqueue(scene.app, 1, tags=["more"])


async def enqueue_keyed(scene: Scene) -> None:
    await scene.witness.enqueue(scene.app, 1, dedupe_key=uuid.uuid4().hex)


async def enqueue_many(scene: Scene) -> None:
    key = uuid.uuid4().hex
    try:
        [one] = await scene.app.enqueue_many("checked", [{"k": key}])
    except errors.WeftError as error:
        scene.witness.told(key, error=error)
    else:
        scene.witness.told(key, task=one.id)


async def work(scene: Scene) -> None:
    await scene.witness.enqueue(scene.safe, 3)


async def meeting_work(scene: Scene) -> None:
    """Two tasks of two claims that end in the same turn."""
    await scene.witness.enqueue(scene.safe, 1, meet=True)
    await until(lambda: bool(scene.meeting))
    await scene.witness.enqueue(scene.safe, 1, meet=True)


async def limited_work(scene: Scene) -> None:
    await scene.witness.enqueue(scene.safe, 2, concurrency_key="one by one", concurrency=1)


async def work_of_a_limited_queue(scene: Scene) -> None:
    async with scene.safe.tx() as tx:
        settings = tasks.QueueSettings(max_running=2)
        await tasks.set_queue(tx, org=ids.DEFAULT_ORG, queue="few", settings=settings, actor="chaos")
    await scene.witness.enqueue(scene.safe, 2, queue="few")


async def work_of_limited_queues(scene: Scene) -> None:
    """Of two, so that both have to be seen to, and at once, so that one is not claimed before the other is there."""
    async with scene.safe.tx() as tx:
        settings = tasks.QueueSettings(max_running=2)
        for queue in ("few", "fewer"):
            await tasks.set_queue(tx, org=ids.DEFAULT_ORG, queue=queue, settings=settings, actor="chaos")
    for queue in ("few", "fewer"):
        await scene.witness.enqueue(scene.safe, 1, queue=queue, delay="500ms")


async def failing_work(scene: Scene) -> None:
    await scene.witness.enqueue(scene.safe, 1, fail=1)


async def talking_work(scene: Scene) -> None:
    await scene.witness.enqueue(scene.safe, 1, seconds=1.5)


async def nothing(scene: Scene) -> None:
    """It comes by itself."""


async def elect(scene: Scene) -> None:
    """Whoever loses its connection loses the lead."""
    await scene.cutter.cut_all()


async def cancel(scene: Scene) -> None:
    """Said again after a doubt, as a client would, it is cancelled."""
    [task] = await scene.witness.enqueue(scene.safe, 1, delay="1h")
    try:
        await scene.app.cancel(task)
    except errors.WeftError:
        assert await scene.safe.cancel(task) in ("cancelled", "finished")


async def redrive(scene: Scene) -> None:
    [task] = await scene.witness.enqueue(scene.safe, 1, delay="1h")
    await scene.safe.cancel(task)
    with contextlib.suppress(errors.WeftError):
        async with scene.app.tx() as tx:
            await tasks.redrive(tx, org=ids.DEFAULT_ORG, ids=[uuid.UUID(task)], actor="chaos")


def sent(text: str) -> str:
    """A pattern for a named statement as the driver sends it: %(name)s becomes $n."""
    pieces = re.split(r"%\(\w+\)s", text.replace("%%", "%"))
    return r"\$\d+".join(re.escape(piece) for piece in pieces)


QUEUE = statements.load("weft.queue")
CLUSTER = statements.load("weft.cluster")

STATEMENTS = (
    Point("enqueue", sent(QUEUE.enqueue_simple), enqueue_here),
    Point("enqueue with more said", sent(QUEUE.enqueue_plain), enqueue_said_more),
    Point("enqueue with a key", sent(QUEUE.enqueue), enqueue_keyed),
    Point("bulk enqueue", sent(QUEUE.enqueue_many_plain), enqueue_many),
    Point("look for lanes", sent(QUEUE.lanes), work),
    Point("claim", sent(QUEUE.claim_plain), work),
    Point("claim of what was told", sent(QUEUE.claim_named), work),
    Point("limited claim, lock", sent(QUEUE.lock_limits), limited_work),
    Point("limited claim, count", sent(QUEUE.count_keys), limited_work),
    Point("limited claim", sent(QUEUE.claim_chosen), limited_work),
    Point("limited claim, with its commit", sent(QUEUE.claim_limited), work_of_limited_queues),
    Point("limited claim, all in one", sent(QUEUE.claim_counted), work_of_a_limited_queue),
    Point("commit", r"(?i)^commit", limited_work),
    Point("heartbeat", sent(CLUSTER.beat), nothing),
    Point("settle", sent(QUEUE.complete_claimed), work),
    Point("settle, of several claims", sent(QUEUE.complete), meeting_work),
    Point("settle, of a key", sent(QUEUE.finish), limited_work),
    Point("settle, retry", sent(QUEUE.requeue), failing_work),
    Point("settle, the next of its key", sent(QUEUE.unblock), limited_work),
    Point("progress", sent(QUEUE.report_progress), talking_work),
    Point("log lines", sent(QUEUE.write_logs), talking_work),
    Point("cancel", sent(QUEUE.cancel_intent), cancel),
    Point("cancel, end", sent(QUEUE.cancel_queued), cancel),
    Point("redrive", sent(QUEUE.redrive), redrive),
    Point("leader election, session", sent(CLUSTER.open_session), elect),
    Point("leader election, found", sent(CLUSTER.found_role), elect),
    Point("leader election, term", sent(CLUSTER.take_term), elect),
    Point("leader election, listen", r"^listen .?weft_leader", elect),
)

POINTS = [dataclasses.replace(one, side=side, place=place) for one in STATEMENTS for side in SIDES for place in PLACES]
EVERY_POINT = [dataclasses.replace(one, nth=nth) for nth in (1, 2) for one in POINTS]
"""For `make chaos`: at the second time, too. What leads there is done again until it comes to it."""
