"""A second bulk claim beside the first, while handlers do next to nothing.

With one at a time everything waits for it: it shares the processors with the handlers and with what settles, and when these
are through with what they have, a processor rests until it is done. Two of them walk over each other's rows, which costs
something; where others claim as well, no processor rests, and that is all it does. Nor is it for a worker that should leave
room for others (`courtesy.py`).
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator

from weft.worker.warm import spare


class Beside:
    """Runs until stopped."""

    def __init__(
        self, *, room: Callable[[], int], claim: Callable[[int], Awaitable[int]], useful: Callable[[], bool]
    ) -> None:
        self._room = room
        self._claim = claim
        self._useful = useful
        self._offered = asyncio.Event()
        self._stopped = False
        self.asked = 0
        """Tasks that claims under way may bring."""

    def room(self) -> int:
        """How many more may be asked for."""
        return self._room() - self.asked

    @contextlib.contextmanager
    def asking(self, count: int) -> Iterator[None]:
        """Around a bulk claim for so many, whose ever it is."""
        self.asked += count
        if self._more():
            self._offered.set()
        try:
            yield
        finally:
            self.asked -= count

    def stop(self) -> None:
        self._stopped = True
        self._offered.set()

    async def run(self) -> None:
        while True:
            await self._offered.wait()
            if self._stopped:
                return
            self._offered.clear()
            # only beside another one: who finds nothing leaves it to him to say so
            while self.asked and (count := self._more()) and await self._claim(count) and not self._stopped:
                pass

    def _more(self) -> int:
        """What a second claim should ask for now."""
        return spare(self.room()) if self._useful() else 0
