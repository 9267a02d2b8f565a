"""Courtesy: what a worker does otherwise while somebody with little work comes by in a flood.

Large portions drain a flood fast, and are what a task of somebody else waits for: the processor that a long statement keeps,
the commit of its many rows, the loop that reads them. So while such tasks come, and for a second after each, portions are
small, one bulk statement is in flight at a time, and a few runners are kept free.

With two processors for all and a flood of no-ops the wait's p99 was 20 to 26 ms (3 to 7 alone); 11 to 14 with wake-ups and
small portions; 5 to 12 with one bulk statement at a time as well, which costs such a flood a third of its rate. In a few
trials portions of 80 or 300 were no better, nor was a pause of a millisecond after each statement.
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

    @contextlib.asynccontextmanager
    async def bulk(self) -> AsyncIterator[None]:
        """Around a bulk statement."""
        if not self.due:
            yield
            return
        async with self._bulk:
            yield
