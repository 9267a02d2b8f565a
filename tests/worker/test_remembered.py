"""What a worker remembers of runs it has parked: used if nobody else had them, never believed if somebody had."""

import datetime as dt
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from weft import App
from weft.base.version import VERSION
from weft.cluster import nodes
from weft.cluster.pulse import Pulse
from weft.db.notify import Hub
from weft.flows.workflows import Loaded
from weft.queue import promote
from weft.queue.model import Claimed
from weft.sdk.operation import Record
from weft.worker.direct import DatabaseEngine
from weft.worker.live import Live
from weft.worker.remembered import Remembered
from weft.worker.worker import Worker
from weft.worker.workflows import Executor

NOBODY = str(uuid.UUID(int=1))


class Hand:
    """A worker that goes on when it is told to, and remembers in between."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._node = nodes.here(version=VERSION, concurrency=5)
        self._executor: Executor | None = None

    async def run(self) -> None:
        database = await self._app.open()
        if self._executor is None:
            self._executor = Executor(database, self._app.declared, node_id=self._node.id)
            await self._executor.declare()
        pulse = Pulse(database, node=self._node)
        engine = DatabaseEngine(database, hub=Hub(database), pulse=pulse)
        worker = Worker(engine, handlers=self._executor.handlers(), concurrency=5)

        async def let_in() -> None:
            async with database.tx() as tx:
                await promote.once(tx)

        await pulse.start()
        try:
            await worker.run_ready(let_in)
        finally:
            await pulse.stop()


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:

        @made.step
        async def first() -> str:
            return "as it was"

        @made.step(retries=0)
        async def fails() -> str:
            raise ValueError("no")

        @made.workflow
        async def waits(times: int, breaks: bool = False) -> list[Any]:
            value = await first()
            heard = [await made.wait_for("go") for _ in range(times)]
            return [value, *heard, *([await fails()] if breaks else [])]

        yield made


async def edited(app: App, run: uuid.UUID) -> None:
    """Nobody may do this to a run that goes on: it shows who reads the history again."""
    async with app.tx() as tx:
        changed = "update weft.steps set output = '\"edited\"' where run_id = %(run)s and node = 'first#1'"
        assert await tx.run(changed, {"run": run}) == 1


async def begun(app: App, hand: Hand, times: int, *, breaks: bool = False) -> uuid.UUID:
    workflow = app.declared.latest("waits")
    assert workflow is not None
    run = (await app.start(workflow, times, breaks)).id
    await hand.run()
    return run


async def went_on(app: App, hand: Hand, run: uuid.UUID, value: int) -> None:
    """One wake-up. What is known of a run after its second: with the first its only step was written as it was parked."""
    assert (await app.runs.get(run)).state in ("waiting", "running")
    await app.signal(run, "go", value)
    await hand.run()


async def test_who_parked_a_run_reads_only_what_is_new(app: App) -> None:
    hand = Hand(app)
    run = await begun(app, hand, 3)
    await went_on(app, hand, run, 1)
    await edited(app, run)
    await went_on(app, hand, run, 2)
    await went_on(app, hand, run, 3)
    assert (await app.runs.get(run)).output == ["as it was", 1, 2, 3]


async def test_a_memory_is_not_believed_if_another_worker_had_the_run(app: App) -> None:
    hand, other = Hand(app), Hand(app)
    run = await begun(app, hand, 3)
    await went_on(app, hand, run, 1)
    await went_on(app, other, run, 2)
    await edited(app, run)
    await went_on(app, hand, run, 3)
    assert (await app.runs.get(run)).output == ["edited", 1, 2, 3]


async def test_a_memory_is_not_believed_if_an_operator_had_the_run(app: App) -> None:
    hand, other = Hand(app), Hand(app)
    run = await begun(app, hand, 2, breaks=True)
    await went_on(app, hand, run, 1)
    await went_on(app, other, run, 2)
    assert (await app.runs.get(run)).state == "failed"
    await app.runs.skip(run, "fails#4", "by hand")
    async with app.tx() as tx:  # so that the next attempt is the one after what is remembered
        await tx.run("update weft.tasks set attempt = 2 where id = %(run)s", {"run": run})
    await edited(app, run)
    await hand.run()
    assert (await app.runs.get(run)).output == ["edited", 1, 2, "by hand"]


def parked(app: App, run: str, *, texts: list[str]) -> Live:
    workflow = app.declared.latest("waits")
    assert workflow is not None
    task = Claimed(run, NOBODY, workflow.kind, '{"times": 1}', 2, "default", 50, dt.datetime.now(dt.UTC))
    history = [Record(n + 1, str(n + 1), "step", "first", True, text) for n, text in enumerate(texts)]
    loaded = Loaded(run, "running", task.payload, task.run_at, None, None, task.run_at, "era 0", history=history)
    live = Live(task, workflow, loaded, heard=(task.run_at, time.monotonic()), era="era")
    live.replayer.close()
    return live


async def test_what_is_remembered_is_bounded(app: App) -> None:
    few = Remembered(runs=3)
    for n in range(5):
        few.keep(parked(app, str(n), texts=["1"]))
    assert len(few) == 3
    assert few.take("1", attempt=3) is None and few.take("2", attempt=3) is not None
    assert few.take("2", attempt=3) is None, "it is handed over, not kept"
    assert few.take("3", attempt=4) is None, "somebody else had it"

    small = Remembered(size=20_000)
    for n in range(5):
        small.keep(parked(app, str(n), texts=["x" * 4000]))
    assert len(small) == 4 and small.size <= 20_000
    small.keep(parked(app, "large", texts=["x" * 15_000]))
    assert small.take("large", attempt=3) is None, "one run must not take the room of all"
    for n in range(5):
        small.take(str(n), attempt=3)
    assert (len(small), small.size) == (0, 0)


async def test_what_is_not_committed_is_not_remembered(app: App) -> None:
    live = parked(app, "r", texts=["1", "2"])
    live.unsaved.append(live.history[1])
    memory = Remembered()
    memory.keep(live)
    found = memory.take("r", attempt=3)
    assert found is not None and [one.number for one in found.history] == [1] and found.place.number == 1
