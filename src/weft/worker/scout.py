"""The scout: in a flood it claims for those who come with a little, beside the bulk claims.

Wake-ups name them. Under these, and instead of them where nobody notifies us, it asks every so often all lanes whose orgs
have nothing in the buffer.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence

from weft.base import errors
from weft.queue.lanes import Take
from weft.worker.buffer import Buffer
from weft.worker.warm import Place, WarmLanes

log = logging.getLogger("weft.worker")

_EVERY = 0.005
_HEARING = 0.1
"""The same while wake-ups are heard: it costs a statement over all lanes, and they seldom leave it anything to find."""
_LEAST = 0.001
_AFTER_AN_ERROR = 0.5


class Scout:
    """Runs until stopped."""

    def __init__(
        self, *, warm: WarmLanes, buffer: Buffer, flood: asyncio.Event, soon: Callable[[], int],
        claim: Callable[[Sequence[Take], float], Awaitable[int]], hears: Callable[[], bool], hungry: Callable[[], bool],
        found_more: Callable[[], None], found_special: Callable[[set[Place]], None],
    ) -> None:  # fmt: skip
        self.named: set[Place] = set()
        """Lanes that wake-ups told of. While there is no flood they are the claimer's."""
        self._warm = warm
        self._buffer = buffer
        self._flood = flood
        self._soon = soon
        self._claim = claim
        self._hears = hears
        self._hungry = hungry
        self._found_more = found_more
        self._found_special = found_special
        self._told = asyncio.Event()
        self._stopped = False

    def tell(self) -> None:
        """More is named."""
        self._told.set()

    def stop(self) -> None:
        self._stopped = True
        self._flood.set()
        self._told.set()

    async def run(self) -> None:
        asked = time.monotonic()
        while True:
            await self._flood.wait()
            told = await self._wait(asked + (_HEARING if self._hears() else _EVERY) - time.monotonic())
            if self._stopped:
                return
            try:
                await self.ask_named()
                if not told:
                    asked = time.monotonic()
                    await self.ask_all()
            except errors.WeftError as error:
                log.warning("cannot look in on the other orgs: %s", error)
                await asyncio.sleep(_AFTER_AN_ERROR)

    def take_named(self) -> set[Place]:
        """The lanes that wake-ups told of since this was asked last."""
        named, self.named = self.named, set()
        return named

    async def ask_named(self) -> int:
        """Claims what wake-ups told of. Whoever floods is in every bulk claim as it is."""
        room = self._room()
        if not self.named or room <= 0:
            return 0
        named = self.take_named()
        if named & self._warm.special:
            self._found_special(named)
        now = time.monotonic()
        takes = self._warm.named(named - self._warm.limited, room=room, now=now)
        try:
            got = await self._claim([take for take in takes if not self._warm.deep(take.lane)], now)
        except errors.WeftError:
            self.named |= named
            raise
        if self._warm.more:
            self._found_more()
        return got

    async def ask_all(self) -> int:
        """Claims from everybody who has nothing in the buffer."""
        if self._hungry() and not len(self._buffer):
            return 0  # nothing to be beside of
        got = await self._claim(self._warm.newcomers(self._buffer.orgs, room=self._room()), time.monotonic())
        if got and self._warm.more:
            self._found_more()
        return got

    def _room(self) -> int:
        """Only as many as runners are about to become free for: else other workers may be sooner. But one at least, who is
        next then: bulk claims leave such out, and where handlers take long none is ever about to."""
        soon = self._soon()
        return soon if soon < 0 or self._buffer.fresh else max(soon, 1)

    async def _wait(self, longest: float) -> bool:
        """Until more is named; False if that took too long."""
        try:
            async with asyncio.timeout(max(longest, _LEAST)):
                await self._told.wait()
        except TimeoutError:
            return False
        self._told.clear()
        return True
