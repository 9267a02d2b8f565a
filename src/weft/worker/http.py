"""The engine of a worker that has no database, only a server's address and a worker key.

Every task has a lease of its own here, so every task is spoken for by heartbeats: all that are due in one request.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from weft.base import errors
from weft.client.work import Status, Work
from weft.net.guard import Unreachable
from weft.queue.lease import Progress
from weft.queue.model import Claimed
from weft.settle.outcome import Outcome
from weft.worker.buffer import Buffer
from weft.worker.courtesy import Courtesy
from weft.worker.held import Holds
from weft.worker.http_claimer import HttpClaimer
from weft.worker.http_reporter import HttpReporter

log = logging.getLogger("weft.worker")

_ASK_EVERY = 2.0
"""Seconds between two looks at what was cancelled, while something runs."""

_MOST = 500
_REASONS = {"cancelled": "cancelled", "timed_out": "timed out"}


class HttpEngine:
    """See `engine.Engine`."""

    lease = 120.0

    def __init__(self, work: Work, *, shorts: Sequence[str] = ()) -> None:
        self.work = work
        self._shorts = shorts
        self._holds = Holds()
        self._asked = 0.0
        self._status: Status = "active"

    def claimer(
        self, *, kinds: Sequence[str], queues: Sequence[str], capabilities: Sequence[str], concurrency: int,
        buffer: Buffer, room: Callable[[], int], soon: Callable[[], int], courtesy: Courtesy,
    ) -> HttpClaimer:  # fmt: skip
        return HttpClaimer(
            self.work, self._holds, kinds=kinds, queues=queues, capabilities=capabilities, concurrency=concurrency,
            buffer=buffer, room=room, soon=soon, shorts=self._shorts,
        )  # fmt: skip

    def reporter(
        self, *, on_settled: Callable[[Sequence[Outcome]], None], on_lost: Callable[[Outcome], None],
        wake: Callable[[], None], courtesy: Courtesy,
    ) -> HttpReporter:  # fmt: skip
        return HttpReporter(self.work, self._holds, on_settled=on_settled, on_lost=on_lost, wake=wake)

    def attend(
        self, *, nudge: Callable[[str | None], None], revived: Callable[[], None],
        handled: Callable[[], dict[str, list[int]]], busy: Callable[[], bool], drain: Callable[[], None],
    ) -> Callable[[], None]:  # fmt: skip
        """Nobody calls us: claims wait at the server, and a lease that is lost is told with the next heartbeat. One that is
        to drain gets nothing more from the server."""
        return _nothing

    def lapsed(self, running: Mapping[str, object]) -> list[str]:
        return [id for id in self._holds.over() if id in running]

    async def exchange(self, reports: Sequence[Progress]) -> dict[str, str]:
        """Heartbeats of what is due or has something to say, and what should stop."""
        now = time.monotonic()
        items = {one.task_id: _said(one) for one in reports if self._holds.get(one.task_id, one.token) is not None}
        items |= {id: {} for id in self._holds.due() if id not in items}
        if not items and now - self._asked < _ASK_EVERY:
            return {}
        self._asked = now
        stop: dict[str, str] = {}
        ids = list(items)
        for place in range(0, max(len(ids), 1), _MOST):
            some = ids[place : place + _MOST]
            holds = [(id, hold) for id in some if (hold := self._holds.get(id)) is not None]
            told = await self.work.heartbeat([{"token": hold.token, **items[id]} for id, hold in holds], status=self._status)
            stop |= {id: "cancelled" for id in told.stop or ()}
            for (id, hold), verdict in zip(holds, told.items, strict=True):
                if self._holds.get(id) is not hold:
                    continue  # it has ended meanwhile
                if verdict.status != 200:
                    self._holds.drop(id, hold.lease_token)
                    stop[id] = "lease lost"
                else:
                    hold.kept = now
                    hold.token = verdict.token or hold.token
                    if verdict.cancelled:
                        stop[id] = _REASONS.get(verdict.reason or "", "cancelled")
        return stop

    async def secrets(self, task: Claimed, names: Collection[str]) -> Mapping[str, str]:
        token = self._holds.token(task.id, task.token)
        if token is None:
            raise errors.LeaseLost
        return await self.work.secrets(token)

    async def still_held(self, attempts: Sequence[tuple[str, str]]) -> set[str]:
        return {id for id, lease in attempts if self._holds.get(id, lease) is not None}

    async def arrive(self) -> None:
        """Makes sure that the server takes our key; one that is away is waited for later."""
        try:
            await self.work.heartbeat()
        except (Unreachable, errors.Unavailable) as error:
            log.warning("%s; trying again until it is there", error)

    async def drain(self) -> None:
        """Shows the others that this worker takes no more work, if anybody hears it."""
        self._status = "draining"
        with contextlib.suppress(errors.WeftError):
            await self.work.heartbeat(status="draining")

    async def leave(self) -> None:
        """Says that this worker is gone, if anybody hears it."""
        with contextlib.suppress(errors.WeftError):
            await self.work.heartbeat(status="gone")


def _said(one: Progress) -> dict[str, Any]:
    said = {"progress": one.percent, "message": one.message, "started": one.started}
    return {name: value for name, value in said.items() if value is not None}


def _nothing() -> None:
    return None
