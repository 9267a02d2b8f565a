"""The reporter: collects outcomes, log lines and progress, and settles them in batches.

One flush is in flight at a time, a second one beside it only for a full batch; what comes in meanwhile is the next. A
batch that errors is halved down to one, so a poisonous result fails alone. While the database is away outcomes wait
here: nobody else can end them while our node beats, and if it did not, their tokens are refused.
"""

import abc
import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from weft.base import crash, errors, json
from weft.db.database import Database
from weft.flows import afterwards
from weft.flows.advance import Advanced, Hands
from weft.queue import lease
from weft.queue.lease import Line
from weft.queue.model import Claimed
from weft.settle import settle
from weft.settle.outcome import Outcome
from weft.worker.courtesy import Courtesy

log = logging.getLogger("weft.worker")

BATCH = 1000
"""Outcomes per statement."""

_ALIKE = 500
"""Tasks of one claim that are worth a statement of their own: it saves half a microsecond each, and costs a commit."""
_GATHERING = 0.01
"""Seconds at most: while many handlers run, every turn of the loop ends one of them."""
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
_PATIENCE = 30.0
"""How long a worker that stops tries to settle: longer than a lease, so that the rest is rescued."""


def portion(outcomes: Sequence[Outcome], *, most: int = BATCH) -> int:
    """How many to settle at once. If very many are of one claim, only those: that is quicker (`complete_claimed`)."""
    most = min(len(outcomes), most)
    token = outcomes[0].task.token if outcomes else ""
    same = next((number for number in range(most) if outcomes[number].task.token != token), most)
    return same if same >= _ALIKE else most


class Reporter(abc.ABC):
    """Runs until told to finish; `add` never waits. Where outcomes go is said by those below."""

    def __init__(
        self, *, on_settled: Callable[[Sequence[Outcome]], None], on_lost: Callable[[Outcome], None],
        wake: Callable[[], None], courtesy: Courtesy | None = None,
    ) -> None:  # fmt: skip
        self._on_settled = on_settled
        self._on_lost = on_lost
        self._wake = wake
        self._outcomes: list[Outcome] = []
        self._lines: list[Line] = []
        self._wanted = asyncio.Event()
        self._full = asyncio.Event()
        self._finishing = False
        self._writing_lines = False
        self._second: asyncio.Task[None] | None = None
        self._flushing = 0
        self.settled = 0
        self._courtesy = courtesy or Courtesy()

    @property
    def idle(self) -> bool:
        """Whether all that was added has been settled."""
        return not self._outcomes and not self._flushing

    def add(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)
        waiting = len(self._outcomes)
        if waiting == 1:
            self._wanted.set()
        elif waiting == BATCH:
            self._full.set()

    def log(self, line: Line) -> None:
        """Also called from handlers' threads: the list is picked up within a second, or with the next outcome."""
        self._lines.append(line)

    async def run(self) -> None:
        """Flushes whenever there is something; returns once `finish` was called and all is written."""
        beside = asyncio.create_task(self._flush_full())
        beside.add_done_callback(lambda _: self._wanted.set())
        try:
            while True:
                if beside.done():
                    # what it had in its hands is not settled: this worker must end, so that its tasks are rescued
                    beside.result()
                if self._outcomes or self._lines:
                    await self._gather()
                    await self._flush()
                elif self._finishing:
                    return
                else:
                    await self._wait()
        finally:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)
            if self._second is not None:
                await self._second

    def finish(self) -> None:
        self._finishing = True
        self._wanted.set()

    async def _flush_full(self) -> None:
        """The second flush. Not while log lines wait or are written: they must come before their task's end."""
        while True:
            await self._full.wait()
            self._full.clear()
            while len(self._outcomes) >= BATCH and not self._lines and not self._writing_lines:
                # a flush that was started is finished, whoever is cancelled
                self._second = asyncio.create_task(self._flush())
                await asyncio.shield(self._second)

    async def _gather(self) -> None:
        """Tasks that end within the same turns of the loop are settled together: a statement costs something by itself, and
        those of a run would wait for its lock, one after another. Handlers that wait for anything are not waited for."""
        known, until = 0, time.monotonic() + _GATHERING
        while known < len(self._outcomes) < self._courtesy.portion(BATCH) and time.monotonic() < until:
            known = len(self._outcomes)
            await asyncio.sleep(0)

    async def _wait(self) -> None:
        self._wanted.clear()
        try:
            async with asyncio.timeout(1.0):
                await self._wanted.wait()
        except TimeoutError:
            return

    async def _flush(self) -> None:
        count = portion(self._outcomes, most=self._courtesy.portion(BATCH))
        outcomes, self._outcomes = self._outcomes[:count], self._outcomes[count:]
        lines, self._lines = self._lines, []
        self._writing_lines = self._writing_lines or bool(lines)
        pause = _FIRST_PAUSE
        began = time.monotonic()
        self._flushing += 1
        try:
            while True:
                try:
                    async with self._courtesy.bulk():
                        await self._settle(outcomes, lines)
                    return
                except (errors.Unavailable, errors.OutcomeUnknown) as error:
                    # settling again is harmless: the token fences it, and a repeated finish gets the same answer
                    log.warning("cannot settle %d outcomes yet: %s", len(outcomes), error)
                    if self._finishing and time.monotonic() - began > _PATIENCE:
                        log.error("gave up settling %d outcomes; their tasks will be rescued", len(outcomes))
                        return
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE)
        finally:
            self._flushing -= 1
            if lines:
                self._writing_lines = False

    @abc.abstractmethod
    async def _settle(self, outcomes: Sequence[Outcome], lines: Sequence[Line]) -> None:
        """Ends these attempts and keeps these lines; Unavailable or OutcomeUnknown: it is tried again."""


class Taker(Protocol):
    """Who takes over what became ready in a run that went on, without asking for it."""

    def hands(self) -> Hands | None: ...
    def take(self, tasks: Sequence[Claimed]) -> None: ...
    def doubt(self, token: str) -> None:
        """Something may have been handed over with this token, or not: the answer was lost."""
        ...


class DatabaseReporter(Reporter):
    """Settles in the database."""

    def __init__(
        self, database: Database, *, on_settled: Callable[[Sequence[Outcome]], None], on_lost: Callable[[Outcome], None],
        wake: Callable[[], None], courtesy: Courtesy | None = None, taker: Taker | None = None,
    ) -> None:  # fmt: skip
        super().__init__(on_settled=on_settled, on_lost=on_lost, wake=wake, courtesy=courtesy)
        self._database = database
        self._taker = taker

    async def _settle(self, outcomes: Sequence[Outcome], lines: Sequence[Line], *, advance: bool = True) -> None:
        hands: Hands | None = None
        try:
            crash.point("settle: before")
            single = not lines and settle.is_single(outcomes)
            if not single and self._taker is not None:
                hands = self._taker.hands()
            async with self._database.once() if single else self._database.tx() as tx:
                if lines:
                    await lease.write_logs(tx, lines)
                if not outcomes:
                    settled = None
                elif single:
                    settled = await settle.complete(tx, outcomes)
                else:
                    settled = await settle.settle(tx, outcomes, hands=hands, advance=advance)
        except (errors.InvalidInput, errors.DatabaseError, errors.OutcomeUnknown, asyncio.CancelledError) as error:
            if hands is not None and self._taker is not None:
                self._taker.doubt(hands.token)
            if not isinstance(error, errors.WeftError) or isinstance(error, errors.Unavailable | errors.OutcomeUnknown):
                raise
            await self._halve(outcomes, lines, error, advance=advance)
            return
        crash.point("settle: committed")
        if settled is None:
            return
        self.settled += len(outcomes)
        self._on_settled(outcomes)
        for outcome in settled.lost:
            self._on_lost(outcome)
        if settled.wake:
            self._wake()
        if hands is not None and self._taker is not None:
            self._taker.take(hands.given)
        if settled.advanced is not None:
            await self._went_on(settled.advanced)

    async def _went_on(self, advanced: Advanced) -> None:
        """What became ready is somebody's; what could not be done with the lock of others is tried once more."""
        if advanced.ready:
            self._wake()
        if not advanced.unfinished:
            return
        try:
            async with self._database.tx() as tx:
                await afterwards.once_more(tx, advanced)
        except errors.WeftError as error:
            log.warning("runs that others held are left to the sweep: %s", error)

    async def _halve(
        self, outcomes: Sequence[Outcome], lines: Sequence[Line], error: errors.WeftError, *, advance: bool
    ) -> None:
        if lines:
            await self._write(lines)
            await self._settle(outcomes, [])
        elif len(outcomes) == 1 and outcomes[0].task.run_id is not None and advance:
            # what its run makes of it may be the trouble: that is left to the sweep
            await self._settle(outcomes, [], advance=False)
        elif len(outcomes) == 1:
            await self._replace(outcomes[0], error)
        else:
            middle = len(outcomes) // 2
            await self._settle(outcomes[:middle], [])
            await self._settle(outcomes[middle:], [])

    async def _replace(self, poison: Outcome, error: errors.WeftError) -> None:
        """Fails a task because of what it answered."""
        log.error("the result of task %s cannot be stored: %s", poison.task.id, error)
        if poison.result is None:
            log.error("nor can task %s be ended otherwise; it stays with this worker until that ends", poison.task.id)
            return
        problem = {"type": type(error).__name__, "message": f"the result cannot be stored: {error}"}
        await self._settle([Outcome(poison.task, "failed", error=json.text(problem), retryable=False)], [])

    async def _write(self, lines: Sequence[Line]) -> None:
        """Log lines by themselves, when they could not be written along with outcomes."""
        try:
            async with self._database.once() as tx:
                await lease.write_logs(tx, lines)
        except (errors.InvalidInput, errors.DatabaseError) as error:
            if isinstance(error, errors.Unavailable):
                raise
            log.error("dropped %d log lines that cannot be stored: %s", len(lines), error)
