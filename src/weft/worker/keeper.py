"""Checkpoints and histories of all the runs of a process, in shared commits and shared reads.

Who asks waits for its answer; what comes in while one statement is under way goes with the next. So each step of a run is
durable before its next one begins, and a commit is paid by all who were ready for it.
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from weft.base import errors
from weft.db.database import Database
from weft.flows import checkpoint, workflows
from weft.flows.checkpoint import Written
from weft.flows.workflows import Known, Loaded

log = logging.getLogger("weft.worker")

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0

A = TypeVar("A")
B = TypeVar("B")


class Shared(Generic[A, B]):
    """Many questions, one statement. The answers come in the order of the questions; an exception is an answer too."""

    def __init__(
        self, ask: Callable[[Sequence[A]], Awaitable[Sequence[B | Exception]]], *, batch: int, beside: int = 1
    ) -> None:
        self._ask = ask
        self._batch = batch
        self._beside = beside
        """How many statements may be under way at a time."""
        self._waiting: list[tuple[A, asyncio.Future[B]]] = []
        self._asking: set[asyncio.Task[None]] = set()

    async def __call__(self, question: A) -> B:
        future: asyncio.Future[B] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        if len(self._asking) < self._beside:
            task = asyncio.create_task(self._run())
            self._asking.add(task)
        # who is cancelled waits no longer, but what was asked for is done all the same: nobody looks at the future first
        return await future

    async def _run(self) -> None:
        mine = asyncio.current_task()
        assert mine is not None
        try:
            # whoever is about to ask in this turn of the loop comes along
            await asyncio.sleep(0)
            while self._waiting:
                batch, self._waiting = self._waiting[: self._batch], self._waiting[self._batch :]
                await self._answer(batch)
        finally:
            # at once, not by a callback: whoever asks in between would wait for one who has gone
            self._asking.discard(mine)

    async def _answer(self, batch: list[tuple[A, "asyncio.Future[B]"]]) -> None:
        pause = _FIRST_PAUSE
        while batch:
            try:
                answers = await self._ask([question for question, _ in batch])
            except (errors.Unavailable, errors.OutcomeUnknown) as error:
                # saying it again is harmless: what is there already stays as it is
                log.warning("cannot write or read %d runs yet: %s", len(batch), error)
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            except Exception as error:  # noqa: BLE001 - it is theirs who asked
                if len(batch) > 1:
                    await self._answer(batch[: len(batch) // 2])
                    await self._answer(batch[len(batch) // 2 :])
                elif not batch[0][1].done():
                    batch[0][1].set_exception(error)
                return
            else:
                for (_, future), answer in zip(batch, answers, strict=True):
                    if future.done():
                        continue
                    if isinstance(answer, Exception):
                        future.set_exception(answer)
                    else:
                        future.set_result(answer)
                return


class Keeper:
    """`keep` what a run did, `load` what it did before."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.keep: Shared[Written, dt.datetime] = Shared(self._keep, batch=500, beside=2)
        self.load: Shared[tuple[str, Known | None], Loaded | None] = Shared(self._load, batch=200)

    async def _keep(self, written: Sequence[Written]) -> list[dt.datetime | Exception]:
        async with self._database.once() as tx:
            now, held = await checkpoint.keep(tx, written)
        return [now if one.run in held else errors.LeaseLost(f"run {one.run} is no longer ours") for one in written]

    async def _load(self, asked: Sequence[tuple[str, Known | None]]) -> list[Loaded | Exception | None]:
        known = {run: one for run, one in asked if one is not None}
        async with self._database.tx() as tx:
            found = await workflows.load(tx, [run for run, _ in asked], known=known)
        return [found.get(run) for run, _ in asked]
