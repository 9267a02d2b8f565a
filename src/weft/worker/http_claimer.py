"""Claiming over HTTP: one request at a time, for as many tasks as there is room; with nothing to do it waits there.

Each claim has a name. If no answer came, what it may have taken is given back by that name with the next claim.
"""

import asyncio
import contextlib
import contextvars
import datetime as dt
import logging
import time
import uuid
from collections.abc import Callable, Sequence

import msgspec

from weft.base import errors
from weft.client.work import MOST, Handed, Handout, Work
from weft.queue.model import NOTHING, Claimed, Rest
from weft.settle.outcome import Outcome
from weft.worker.buffer import Buffer
from weft.worker.held import Holds

log = logging.getLogger("weft.worker")

_WAIT = 25.0
"""Seconds to wait at the server for work."""
_ROOM_PAUSE = 0.02
_EMPTY = msgspec.Raw()
_LONG_AGO = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class HttpClaimer:
    """See `engine.Claims`."""

    def __init__(
        self, work: Work, holds: Holds, *, kinds: Sequence[str], queues: Sequence[str], capabilities: Sequence[str],
        concurrency: int, buffer: Buffer, room: Callable[[], int], soon: Callable[[], int], shorts: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._work = work
        self._holds = holds
        self._kinds = list(kinds)
        self._shorts = list(shorts)
        self._queues = list(queues)
        self._capabilities = list(capabilities)
        self._concurrency = concurrency
        self._buffer = buffer
        self._room = room
        self._soon = soon
        self._nudged = asyncio.Event()
        self._doubtful: list[str] = []
        self._asking: asyncio.Task[Handout] | None = None
        self._stopped = False
        self.claims = 0

    def nudge(self, payload: str | None = None) -> None:
        """There is room."""
        self._nudged.set()

    def settled(self, outcomes: Sequence[Outcome]) -> None:
        """These are in our hands no more."""
        for outcome in outcomes:
            self._holds.drop(outcome.task.id, outcome.task.token)

    def stop(self) -> None:
        """Ends `run`. A claim that waits at the server is broken off; what it took after all is given back."""
        self._stopped = True
        self._nudged.set()
        if self._asking is not None:
            self._asking.cancel()

    async def run(self) -> None:
        while not self._stopped:
            began = time.monotonic()
            if await self._claim(wait=_WAIT):
                continue
            if self._room() > 0 and time.monotonic() - began < _ROOM_PAUSE:
                # the server has not waited: it is about to stop
                await asyncio.sleep(_ROOM_PAUSE * 5)
            await self._wait()

    async def once(self) -> int:
        """One round, without waiting for work."""
        return await self._claim(wait=0.0)

    async def claim_special(self) -> int:
        """A server's answer has all kinds of work in it."""
        return 0

    async def thoroughly(self) -> int:
        return await self.once()

    async def more_like(self, first: Claimed, *, at_most: int) -> list[Claimed]:
        """Claims more of the same kind for a batch handler that is about to be called."""
        if first.losses or first.concurrency_key is not None or self._stopped:
            return []
        try:
            more = await self._ask(limit=min(at_most, MOST), kinds=[first.kind], queues=[first.queue])
        except errors.WeftError as error:
            log.warning("cannot claim more for a batch: %s", error)
            return []
        return [one for one in more if not one.losses]

    async def clear_doubts(self) -> None:
        """Gives back what claims took that got no answer."""
        if self._doubtful:
            doubtful = self._doubtful[:50]
            await self._work.claim(kinds=self._kinds, limit=0, unanswered=doubtful)
            self._doubtful = self._doubtful[len(doubtful) :]

    async def _claim(self, *, wait: float) -> int:
        self._nudged.clear()
        room = min(self._room(), MOST)
        if room <= 0:
            return 0
        tasks = await self._ask(limit=room, kinds=self._kinds, queues=self._queues, wait=wait)
        self._buffer.put(tasks)
        return len(tasks)

    async def _ask(self, *, limit: int, kinds: Sequence[str], queues: Sequence[str], wait: float = 0.0) -> list[Claimed]:
        name = uuid.uuid4().hex
        unanswered = self._doubtful[:50]
        self.claims += 1
        claim = self._work.claim(
            kinds=kinds, queues=queues, capabilities=self._capabilities, limit=limit, idle=max(self._soon(), 1),
            concurrency=self._concurrency, wait=wait, claim_id=name, unanswered=unanswered,
            shorts=self._shorts if kinds is self._kinds else (),
        )  # fmt: skip
        # in no attempt's context: what is logged here is not the task's
        asking = asyncio.create_task(claim, context=contextvars.Context())
        if wait:
            self._asking = asking
        try:
            handout = await asking
        except asyncio.CancelledError:
            self._doubtful.append(name)
            if not self._stopped or asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
            return []
        except BaseException:
            self._doubtful.append(name)
            raise
        finally:
            self._asking = None
        at = time.monotonic()
        self._doubtful = self._doubtful[len(unanswered) :]
        return [await self._taken(task, org=handout.org, at=at) for task in handout.tasks]

    async def _taken(self, task: Handed, *, org: str, at: float) -> Claimed:
        self._holds.take(task, at=at)
        payload = bytes(task.payload)
        if not payload:
            # left out of a large answer
            payload = bytes((await self._work.fetch(task.token)).payload)
        return Claimed(
            task.task_id, org, task.kind, payload.decode(), task.attempt, task.queue, 50, _LONG_AGO, _rest(task),
            task.lease_token, at,
        )  # fmt: skip

    async def _wait(self) -> None:
        """For room in the buffer, or a moment."""
        if self._stopped or self._room() > 0:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ROOM_PAUSE):
                await self._nudged.wait()


def _rest(task: Handed) -> Rest:
    few = (
        task.timeout, task.heartbeat_timeout, task.max_attempts, task.concurrency_key, task.correlation_id,
        task.trace_parent, task.tags, task.run_id,
    )  # fmt: skip
    if not task.losses and all(one is None for one in few):
        return NOTHING
    return Rest(
        losses=task.losses, max_attempts=task.max_attempts, concurrency_key=task.concurrency_key, timeout=task.timeout,
        heartbeat_timeout=task.heartbeat_timeout, correlation_id=task.correlation_id, trace_parent=task.trace_parent,
        tags=task.tags, run_id=task.run_id, step_id=task.step_id,
    )  # fmt: skip
