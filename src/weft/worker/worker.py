"""A worker: puts claimer, buffer, runners, reporter and pulse together, and takes them down in order.

Stopping: stop claiming, give back what nobody has started, let running handlers finish within the grace time, give the
rest back (their attempt does not count), settle everything, leave the cluster. Stopping twice skips the grace.
"""

import asyncio
import contextlib
import datetime as dt
import logging
import time
from collections.abc import Sequence
from typing import Any

from weft.base import errors
from weft.cluster.model import BeatAnswer, Vitals
from weft.cluster.pulse import Pulse
from weft.db.database import Database
from weft.db.notify import Hub
from weft.queue import lease
from weft.queue.lease import Progress
from weft.sdk.context import Context
from weft.sdk.task import Task
from weft.settle.outcome import Outcome
from weft.worker import logs
from weft.worker.buffer import Buffer
from weft.worker.child import Children
from weft.worker.claimer import Claimer, Serves
from weft.worker.reporter import Reporter
from weft.worker.runner import Runners

log = logging.getLogger("weft.worker")

_AHEAD = 0.2
"""Seconds of observed work the buffer may hold: what a crash loses is leases, and no more of them than that."""
_BUFFER_AT_MOST = 3000
_ATTEND_EVERY = 1.0
_CANCEL_GRACE = dt.timedelta(seconds=5)


class Worker:
    """Runs handlers until stopped."""

    def __init__(
        self, database: Database, *, hub: Hub, pulse: Pulse, handlers: Sequence[Task[Any, Any]],
        queues: Sequence[str] = (), capabilities: Sequence[str] = (), concurrency: int = 50, target: str | None = None,
        grace: float = 30.0, max_tasks: int | None = None,
    ) -> None:  # fmt: skip
        self._database = database
        self._hub = hub
        self._pulse = pulse
        self._grace = grace
        self._max_tasks = max_tasks
        self._concurrency = concurrency
        self._stopping = asyncio.Event()
        self._now = asyncio.Event()
        self._progress: dict[str, Progress] = {}
        self._lines: dict[str, int] = {}
        self._buffer = Buffer()
        self._children = Children(target)
        self._reporter = Reporter(database, on_lost=self._lost, wake=self._nudge)
        self._runners = Runners(
            self._buffer, handlers={task.kind: task for task in handlers}, sink=self, report=self._reporter.add,
            children=self._children, threads=concurrency,
        )  # fmt: skip
        self._claimer = Claimer(
            database,
            serves=Serves(
                node_id=pulse.node.id, kinds=[task.kind for task in handlers], queues=frozenset(queues),
                capabilities=frozenset(capabilities),
            ),
            buffer=self._buffer, room=self._room,
        )  # fmt: skip
        self._buffer.on_low = self._claimer.nudge
        self._claimer.hears = lambda: hub.healthy
        pulse.vitals = lambda: Vitals(handled=self._runners.handled)
        self._ahead = 0
        self._verifying: asyncio.Task[None] | None = None
        self._measured = (time.monotonic(), 0)

    @property
    def settled(self) -> int:
        """How many attempts this worker has ended."""
        return self._reporter.settled

    @property
    def handled(self) -> dict[str, list[int]]:
        return self._runners.handled

    @property
    def statements(self) -> int:
        return self._claimer.claims

    def stop(self) -> None:
        """Drains. A second call gives back at once what still runs."""
        if self._stopping.is_set():
            self._now.set()
        self._stopping.set()

    async def run(self) -> None:
        """Works until `stop`. Whatever happens, what was claimed is given back or left to its lease."""
        handler = logs.TaskLogHandler()
        logging.getLogger().addHandler(handler)
        unlisten = self._hub.add("weft_wake", self._claimer.nudge)
        self._pulse.on_beat.append(self._beaten)
        reporting = asyncio.create_task(self._reporter.run())
        runners = [asyncio.create_task(self._runners.run()) for _ in range(self._concurrency)]
        attending = asyncio.create_task(self._attend())
        claiming = asyncio.create_task(self._claim())
        try:
            stopping = asyncio.create_task(self._stopping.wait())
            await asyncio.wait({stopping, claiming, reporting}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            await _ended(claiming)
            await self._drain()
        finally:
            unlisten()
            self._pulse.on_beat.remove(self._beaten)
            for task in (*runners, attending):
                task.cancel()
            await asyncio.gather(*runners, attending, return_exceptions=True)
            self._reporter.finish()
            await reporting
            self._runners.close()
            self._children.close()
            logging.getLogger().removeHandler(handler)

    async def _claim(self) -> None:
        """Claims for ever; a database that is away is waited for."""
        pause = 0.1
        while True:
            try:
                await self._claimer.run()
            except errors.DatabaseError as error:
                log.warning("cannot claim: %s", error)
                await asyncio.sleep(pause)
                pause = min(pause * 2, 1.0)

    async def _drain(self) -> None:
        for task in self._buffer.drain():
            self._reporter.add(Outcome(task, "released"))
        deadline = time.monotonic() + self._grace
        while self._runners.running and time.monotonic() < deadline and not self._now.is_set():
            await asyncio.sleep(0.02)
        for attempt in list(self._runners.running.values()):
            attempt.end("shutting down")
        deadline = time.monotonic() + 2
        while self._runners.running and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        # threads that do not listen: their results will be refused, so give the tasks back
        for attempt in list(self._runners.running.values()):
            self._reporter.add(Outcome(attempt.task, "released"))

    def _room(self) -> int:
        """How many tasks to claim now: none while more than half of what may be ahead is still there."""
        self._measure()
        waiting = len(self._buffer)
        if self._buffer.idle:
            return self._buffer.idle + self._ahead
        return self._ahead - waiting if waiting <= self._ahead // 2 else 0

    def _measure(self) -> None:
        at, finished = self._measured
        now = time.monotonic()
        if now - at >= 0.05:
            rate = (self._runners.finished - finished) / (now - at)
            self._ahead = min(round((self._ahead + rate * _AHEAD) / 2), _BUFFER_AT_MOST)
            self._buffer.low = self._ahead // 2
            self._measured = (now, self._runners.finished)

    def _lost(self, outcome: Outcome) -> None:
        log.warning("task %s attempt %d: lease lost, its outcome was refused", outcome.task.id, outcome.task.attempt)

    def _nudge(self) -> None:
        self._claimer.nudge()

    async def _attend(self) -> None:
        """While tasks run: writes their progress, ends those that were cancelled, and all if our own beat fails."""
        while True:
            await asyncio.sleep(_ATTEND_EVERY)
            if self._max_tasks is not None and self._runners.finished >= self._max_tasks:
                self._stopping.set()
            self._forget()
            if not self._runners.running:
                continue
            if time.monotonic() - self._pulse.last_beat > self._pulse.node.lease.total_seconds():
                log.error("no beat got through for %s: our leases are over, ending our tasks", self._pulse.node.lease)
                self._stop_attempts(list(self._runners.running), why="lease lost")
                continue
            try:
                await self._exchange()
            except errors.WeftError as error:
                log.warning("cannot report progress yet: %s", error)

    async def _exchange(self) -> None:
        reports = self._take_progress()
        async with self._database.tx() as tx:
            held = await lease.report_progress(tx, reports) if reports else None
            cancelled = await lease.cancelled_on(tx, node_id=self._pulse.node.id, grace=_CANCEL_GRACE)
        if held is not None:
            self._stop_attempts([one.task_id for one in reports if one.task_id not in held], why="lease lost")
        self._stop_attempts([id for id, _ in cancelled], why="cancelled")

    def _forget(self) -> None:
        """What was noted of attempts that have ended."""
        for notes in (self._progress, self._lines):
            for id in [id for id in notes if id not in self._runners.running]:
                del notes[id]

    def _take_progress(self) -> list[Progress]:
        """Progress said since the last time, and the start of whatever has been running for longer than that."""
        said, self._progress = self._progress, {}
        reports = []
        now = time.monotonic()
        for id, attempt in self._runners.running.items():
            started = attempt.started - attempt.task.claimed
            one = said.get(id)
            if one is not None:
                reports.append(one._replace(started=started))
            elif _ATTEND_EVERY <= now - attempt.started < 2 * _ATTEND_EVERY:
                reports.append(Progress(id, attempt.task.token, None, None, started))
        return reports

    def _beaten(self, answer: BeatAnswer) -> None:
        if answer.revived:
            self._verifying = asyncio.create_task(self._verify())

    async def _verify(self) -> None:
        """We were taken for dead: end what is no longer ours."""
        running = dict(self._runners.running)
        waiting = self._buffer.drain()
        held_here = [*(one.task for one in running.values()), *waiting]
        attempts = [(one.id, one.token) for one in held_here]
        if not attempts:
            return
        async with self._database.once() as tx:
            held = await lease.still_held(tx, attempts)
        self._buffer.put(task for task in waiting if task.id in held)
        self._stop_attempts([id for id in running if id not in held], why="lease lost")

    def _stop_attempts(self, ids: Sequence[str], *, why: str) -> None:
        for id in ids:
            attempt = self._runners.running.get(id)
            if attempt is not None:
                attempt.end(why)

    def log(self, context: Context, *, level: str, message: str, fields: dict[str, Any] | None) -> None:
        """`Sink`: a line of an attempt."""
        count = self._lines.get(context.task_id, 0) + 1
        self._lines[context.task_id] = count
        if count < logs.MAX_LINES:
            self._reporter.log(logs.line(context, level=level, message=message, fields=fields))
        elif count == logs.MAX_LINES:
            note = f"more than {logs.MAX_LINES} lines: the rest is not kept"
            self._reporter.log(logs.line(context, level="warning", message=note, fields=None))

    def progress(self, context: Context, *, percent: int | None, message: str | None) -> None:
        """`Sink`: how far an attempt is; written with the next beat."""
        before = self._progress.get(context.task_id)
        if before is not None:
            percent = percent if percent is not None else before.percent
            message = message if message is not None else before.message
        self._progress[context.task_id] = Progress(context.task_id, context.lease_token, percent, message, None)


async def _ended(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
