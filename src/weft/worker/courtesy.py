"""Courtesy: what a worker does otherwise while somebody with little work comes by in a flood.

Such a task waits for processors: its way from the enqueue to its handler goes through four processes, and each of them that
wakes up and finds all processors taken waits until somebody has had its time. That, and neither the disk nor a lock, is most
of what the slowest wait for (see `/proc/<pid>/schedstat`). So while such tasks come, and for a second after each, the flood
leaves room: portions are small, one bulk statement is in flight at a time, a pause as long as it took follows, and a few
runners are kept free. A flood of no-ops is slower for it. Handlers that take their time are hardly held up: what they end
meanwhile is settled together, with fewer statements.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

_LATELY = 1.0
_PORTION = 200
"""Tasks: two or three milliseconds of a server's time."""
_TURN = 25
_SPARE = 25
"""One runner in so many is kept."""
_LONGEST_REST = 0.01
"""Seconds: a statement that took longer was held up by something else."""


class Courtesy:
    """Of one worker."""

    def __init__(self) -> None:
        self.flood = asyncio.Event()
        """Somebody has much work."""
        self._came = -float("inf")
        self._bulk = asyncio.Lock()

    def came(self, now: float) -> None:
        """Somebody came with a little."""
        self._came = max(self._came, now)

    @property
    def due(self) -> bool:
        return self.flood.is_set() and time.monotonic() - self._came < _LATELY

    def portion(self, most: int) -> int:
        """How many tasks one statement may claim or settle."""
        return min(most, _PORTION) if self.due else most

    def turn(self, most: int) -> int:
        """How many tasks may start before the loop sees to everything else."""
        return min(most, _TURN) if self.due else most

    def spare(self, runners: int) -> int:
        """How many runners are kept for those who come with a little: all might be busy, and become free all at once."""
        return runners // _SPARE if self.due else 0

    def rest(self, took: float) -> float:
        """How long nothing is sent after a bulk statement that took so long: for half of the time a processor is free."""
        return min(took, _LONGEST_REST) if self.due else 0.0

    @contextlib.asynccontextmanager
    async def bulk(self) -> AsyncIterator[None]:
        """Around a bulk statement, and the pause after it."""
        if not self.due:
            yield
            return
        async with self._bulk:
            began = time.monotonic()
            yield
            await asyncio.sleep(self.rest(time.monotonic() - began))
