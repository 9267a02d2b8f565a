"""A worker: puts claimer, buffer, runners, reporter and pulse together, and takes them down in order.

Stopping: stop claiming, give back what nobody has started, let running handlers finish within the grace time, give the
rest back (their attempt does not count), settle everything, leave the cluster. Stopping twice skips the grace.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from weft.base import errors
from weft.queue.lease import Progress
from weft.sdk.context import Context
from weft.sdk.task import Task
from weft.settle.outcome import Outcome
from weft.worker import logs
from weft.worker.buffer import Buffer
from weft.worker.child import Children
from weft.worker.courtesy import Courtesy
from weft.worker.engine import Engine
from weft.worker.handlers import NO_SHORTS, Handlers
from weft.worker.pace import Pace
from weft.worker.runner import Runners

log = logging.getLogger("weft.worker")

_MOMENT = 0.02
_ATTEND_EVERY = 1.0
_LET_IN = 0.05
_GLANCE = 0.003
_LAST_WORDS = 2.0
"""Seconds for what was told to end to do so, before we go on without it."""
_SETTLING = 40.0
"""Seconds for the last outcomes; a connection that never answers must not keep the process for ever."""
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 1.0


class Worker:
    """Runs handlers until stopped."""

    def __init__(
        self, engine: Engine, *, handlers: Sequence[Task[Any, Any]],
        queues: Sequence[str] = (), capabilities: Sequence[str] = (), concurrency: int = 50, target: str | None = None,
        grace: float = 30.0, max_tasks: int | None = None, shorts: Mapping[str, Task[Any, Any]] = NO_SHORTS,
    ) -> None:  # fmt: skip
        self._engine = engine
        self._grace = grace
        self._max_tasks = max_tasks
        self._concurrency = concurrency
        self._stopping = asyncio.Event()
        self._now = asyncio.Event()
        self._drained = False
        self._progress: dict[str, Progress] = {}
        self._lines: dict[str, int] = {}
        self._buffer = Buffer()
        self._children = Children(target)
        courtesy = Courtesy()
        self._claimer = engine.claimer(
            kinds=[task.kind for task in handlers], queues=queues, capabilities=capabilities, concurrency=concurrency,
            buffer=self._buffer, room=self._room, soon=self._soon, courtesy=courtesy,
        )  # fmt: skip
        self._reporter = engine.reporter(
            on_settled=self._claimer.settled, on_lost=self._lost, wake=self._nudge, courtesy=courtesy
        )
        self._runners = Runners(
            self._buffer, handlers=Handlers(handlers, shorts), sink=self, report=self._reporter.add,
            children=self._children, runners=concurrency, courtesy=courtesy, all_settled=lambda: self._reporter.idle,
            more_like=self._claimer.more_like, secrets=engine.secrets,
        )  # fmt: skip
        self._buffer.on_low = self._claimer.nudge
        self._buffer.runners, self._buffer.on_idle = concurrency, self._through
        self._pace = Pace(runners=concurrency, now=time.monotonic())
        self._verifying: asyncio.Task[None] | None = None

    @property
    def settled(self) -> int:
        """How many attempts this worker has ended."""
        return self._reporter.settled

    @property
    def drained(self) -> bool:
        """Whether somebody told it to drain from elsewhere: `weft nodes drain`."""
        return self._drained

    @property
    def handled(self) -> dict[str, list[int]]:
        return self._runners.handled

    @property
    def statements(self) -> int:
        return self._claimer.claims

    def drain(self) -> None:
        """Claims no more, lets running handlers finish within the grace time, then gives the rest back."""
        self._stopping.set()

    def stop(self) -> None:
        """Drains. A second call gives back at once what still runs."""
        if self._stopping.is_set():
            self._now.set()
        self.drain()

    async def run(self) -> None:
        """Works until `stop`. Whatever happens, what was claimed is given back or left to its lease."""
        async with self._staffed() as staff:
            claiming = asyncio.create_task(self._claim())
            stopping = asyncio.create_task(self._stopping.wait())
            try:
                await asyncio.wait({stopping, claiming, *staff}, return_when=asyncio.FIRST_COMPLETED)
                await self._stop_claiming(claiming)
                await self._drain()
            finally:
                stopping.cancel()
                claiming.cancel()
            for one in (claiming, *staff):
                if one.done() and not one.cancelled():
                    one.result()  # what broke must be heard of

    async def run_ready(self, let_in: Callable[[], Awaitable[None]]) -> int:
        """Works until nothing is ready; answers how many attempts ended. `let_in` is awaited before each look, but not so
        often while something runs."""
        looked, pause = -_LET_IN, 0.0
        async with self._staffed():
            while True:
                calm = not (self._runners.running or len(self._buffer)) and self._reporter.idle
                if calm or time.monotonic() - looked > _LET_IN:
                    await let_in()
                    looked = time.monotonic()
                if not calm:
                    got = await self._claimer.once() + await self._claimer.claim_special()
                elif not (got := await self._claimer.thoroughly()):
                    return self._reporter.settled
                pause = _GLANCE if got or calm else min(pause * 1.5, _LET_IN)
                await asyncio.sleep(pause)

    @contextlib.asynccontextmanager
    async def _staffed(self) -> AsyncIterator[list["asyncio.Task[None]"]]:
        """Runners, reporter and attendant at work, but nobody who claims; yields those who should never end."""
        handler, secretive = logs.TaskLogHandler(), logs.Secretive()
        others = list(logging.getLogger().handlers)
        for other in others:
            other.addFilter(secretive)
        logging.getLogger().addHandler(handler)
        leave = self._engine.attend(
            nudge=self._claimer.nudge, revived=self._revived, handled=lambda: self._runners.handled,
            busy=lambda: bool(self._runners.running or len(self._buffer)), drain=self._told,
        )  # fmt: skip
        reporting = asyncio.create_task(self._reporter.run())
        runners = [asyncio.create_task(self._runners.run()) for _ in range(self._concurrency)]
        attending = asyncio.create_task(self._attend())
        try:
            yield [reporting, attending]
        finally:
            leave()
            self._runners.close()
            for task in (*runners, attending):
                task.cancel()
            # a handler that takes no notice of being cancelled must not keep us
            await asyncio.wait({*runners, attending}, timeout=_LAST_WORDS)
            await self._children.close()
            logging.getLogger().removeHandler(handler)
            for other in others:
                other.removeFilter(secretive)
            # handed over by runs that went on meanwhile
            self._give_back()
            self._reporter.finish()
            await asyncio.wait({reporting}, timeout=_SETTLING)
            reporting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reporting

    async def _claim(self) -> None:
        """Claims until stopped; a database that is away is waited for."""
        pause, failed = _FIRST_PAUSE, 0.0
        while True:
            try:
                return await self._claimer.run()
            except errors.WeftError as error:
                log.warning("cannot claim: %s", error)
                now = time.monotonic()
                pause = min(pause * 2, _LONGEST_PAUSE) if now - failed < 2 * _LONGEST_PAUSE else _FIRST_PAUSE
                failed = now
            await asyncio.sleep(pause)

    async def _stop_claiming(self, claiming: "asyncio.Task[None]") -> None:
        """The round that is under way is waited for; if there is no answer, what it may have claimed is given back."""
        self._claimer.stop()
        await asyncio.wait({claiming}, timeout=_LAST_WORDS)
        claiming.cancel()
        await asyncio.wait({claiming}, timeout=_LAST_WORDS)
        try:
            async with asyncio.timeout(_LAST_WORDS):
                await self._claimer.clear_doubts()
        except (errors.WeftError, TimeoutError) as error:
            log.warning("what the last claims took, if anything, will be rescued: %s", error)

    async def _drain(self) -> None:
        self._give_back()
        await self._all_ended(self._grace, unless=self._now)
        self._stop_attempts(list(self._runners.running), why="shutting down")
        await self._all_ended(_LAST_WORDS)
        for attempt in list(self._runners.running.values()):
            self._runners.force(attempt)
        await self._all_ended(_LAST_WORDS)
        # handlers that do not listen: whatever they answer will be refused, so give their tasks back
        for attempt in list(self._runners.running.values()):
            self._reporter.add(Outcome(attempt.task, "released"))

    def _give_back(self) -> None:
        for task in self._buffer.drain():
            self._reporter.add(Outcome(task, "released"))

    async def _all_ended(self, patience: float, *, unless: asyncio.Event | None = None) -> None:
        deadline = time.monotonic() + patience
        while self._runners.running and time.monotonic() < deadline and not (unless and unless.is_set()):
            await asyncio.sleep(0.01)

    def _room(self) -> int:
        """How many tasks to claim now: none while more than half of what may be ahead is still there."""
        self._pace.note(time.monotonic(), finished=self._runners.finished)
        ahead, waiting = self._pace.ahead, len(self._buffer)
        self._buffer.low = ahead // 2
        if self._runners.alone:
            return 0
        if self._buffer.idle:
            return self._buffer.idle + ahead
        return ahead - waiting if waiting <= ahead // 2 else 0

    def _through(self) -> None:
        self._pace.through(time.monotonic(), finished=self._runners.finished)

    def _soon(self) -> int:
        """How many tasks can start within a moment: by runners that wait, or that will have finished by then. Less than none
        while nothing may be claimed at all."""
        return -1 if self._runners.alone else self._buffer.idle + min(round(self._pace.rate * _MOMENT), self._concurrency)

    def _told(self) -> None:
        if not self._stopping.is_set():
            log.warning("told to drain: taking no more work")
            self._drained = True
            self.drain()

    def _lost(self, outcome: Outcome) -> None:
        log.warning("task %s attempt %d: lease lost, its outcome was refused", outcome.task.id, outcome.task.attempt)

    def _nudge(self) -> None:
        self._claimer.nudge()

    async def _attend(self) -> None:
        """While tasks run: writes their progress, ends those that were cancelled, and all if our own beat fails."""
        while True:
            slept = time.monotonic()
            await asyncio.sleep(_ATTEND_EVERY)
            if self._max_tasks is not None and self._runners.finished >= self._max_tasks:
                self._stopping.set()
            self._forget()
            if not self._runners.running:
                continue
            if lapsed := self._engine.lapsed(self._runners.running):
                log.error("no beat got through for too long: ending %d tasks whose leases are over", len(lapsed))
                # not the tasks' fault, unless one of them kept the loop from beating
                blocked = time.monotonic() - slept > self._engine.lease / 2
                self._stop_attempts(lapsed, why="lease lost" if blocked else "database away")
                if len(lapsed) == len(self._runners.running):
                    continue
            try:
                await self._exchange()
            except errors.WeftError as error:
                log.warning("cannot report progress yet: %s", error)

    async def _exchange(self) -> None:
        for id, why in (await self._engine.exchange(self._take_progress())).items():
            self._runners.end(id, why)

    def _forget(self) -> None:
        """What was noted of attempts that have ended."""
        for notes in (self._progress, self._lines):
            for id in list(notes):  # handlers' threads add to them meanwhile
                if id not in self._runners.running:
                    notes.pop(id, None)

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

    def _revived(self) -> None:
        self._verifying = asyncio.create_task(self._verify())

    async def _verify(self) -> None:
        """We were taken for dead: end what is no longer ours."""
        running = dict(self._runners.running)
        waiting = self._buffer.drain()
        held_here = [*(one.task for one in running.values()), *waiting]
        attempts = [(one.id, one.token) for one in held_here]
        if not attempts:
            return
        try:
            held = await self._engine.still_held(attempts)
        except errors.WeftError as error:
            log.warning("cannot ask what is still ours, so their tokens will tell: %s", error)
            self._buffer.put(waiting)
            return
        self._buffer.put([task for task in waiting if task.id in held])
        self._stop_attempts([id for id in running if id not in held], why="lease lost")

    def _stop_attempts(self, ids: Sequence[str], *, why: str) -> None:
        for id in ids:
            self._runners.end(id, why)

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
        message = None if message is None else logs.clean(context.redact(str(message))[: logs.MAX_MESSAGE])
        before = self._progress.get(context.task_id)
        if before is not None:
            percent = percent if percent is not None else before.percent
            message = message if message is not None else before.message
        self._progress[context.task_id] = Progress(context.task_id, context.lease_token, percent, message, None)
