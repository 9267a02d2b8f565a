"""So many looks at a time; orgs that wait take turns, so that one which watches thousands of things holds up nobody else."""

import asyncio
import contextlib
import uuid
from collections import deque
from collections.abc import AsyncIterator


class Turns:
    """Places, and who waits for one: by org, the org that waits longest first; within an org first come, first served."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: dict[uuid.UUID, deque[asyncio.Future[None]]] = {}

    @contextlib.asynccontextmanager
    async def one(self, org: uuid.UUID) -> AsyncIterator[None]:
        """Holds a place while the block lasts."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(org)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, org: uuid.UUID) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(org, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # the place was given in the same moment
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._waiting:
            org = next(iter(self._waiting))
            line = self._waiting.pop(org)
            turn = line.popleft()
            if line:
                self._waiting[org] = line
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
