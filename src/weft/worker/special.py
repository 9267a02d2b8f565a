"""Work under limits and keys, and suspects: claimed beside the plain, because it takes several statements, and must neither
wait for a flood nor slow it down. Never more than can start at once; nothing of it is kept for later.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from weft.base import errors, ids
from weft.db.database import Database
from weft.queue import limits
from weft.queue.lanes import Lane
from weft.settle.outcome import Outcome
from weft.worker.buffer import Buffer
from weft.worker.serves import Serves
from weft.worker.warm import BATCH

log = logging.getLogger("weft.worker")

_AFTER_AN_ERROR = 0.5
_PAUSE = 0.005


class Special:
    """Runs until stopped."""

    def __init__(
        self, database: Database, *, serves: Callable[[], Serves], buffer: Buffer, soon: Callable[[], int],
        doubt: Callable[[str], None],
    ) -> None:  # fmt: skip
        """`doubt` is told the token of a claim that got no answer."""
        self.lanes: list[Lane] = []
        """Where there may be some."""
        self._database = database
        self._serves = serves
        self._buffer = buffer
        self._soon = soon
        self._doubt = doubt
        self._marks: limits.Marks = {}
        self._found = asyncio.Event()
        self._turn, self._crowded = 0, False
        self._held: dict[str, int] = {}
        """How many tasks are still out, by the claims that took them."""
        self._stopped = False
        self.claims = 0

    def tell(self, lanes: Sequence[Lane] | None = None) -> None:
        """There may be work: in these lanes, if given, and in no others."""
        self.lanes = self.lanes if lanes is None else list(lanes)
        self._found.set()

    def forget(self) -> None:
        """The next claim asks from the beginning of each lane."""
        self._marks = {}

    def settled(self, outcomes: Sequence[Outcome]) -> None:
        """These attempts are over: if they held places under a limit, somebody else may have them now."""
        for outcome in outcomes if self._held else ():
            token = outcome.task.token
            if token in self._held:
                self._held[token] -= 1
                if self._held[token] == 0:
                    del self._held[token]
                self._found.set()

    def stop(self) -> None:
        self._stopped = True
        self._found.set()

    async def run(self) -> None:
        while True:
            await self._found.wait()
            if self._stopped:
                return
            try:
                got = await self.claim()
            except errors.WeftError as error:
                log.warning("cannot claim limited work: %s", error)
                self._found.set()
                await asyncio.sleep(_AFTER_AN_ERROR)
                continue
            # what was got is begun before more is asked for
            await asyncio.sleep(0 if got else _PAUSE)

    async def claim(self) -> int:
        """One claim; answers how many it got."""
        want = min(self._soon(), BATCH)
        if not self.lanes or want <= 0:
            return 0
        # before asking: what becomes free meanwhile must not be forgotten
        self._found.clear()
        token = str(ids.token())
        try:
            taken = await self._take(token, want)
        except BaseException:
            self._doubt(token)
            raise
        self.claims += 1
        self._turn, self._crowded = self._turn + 1, taken.contended
        self._buffer.put_first(taken.tasks)
        if taken.tasks:
            self._held[token] = len(taken.tasks)
        # what was asked from a mark on and gave less is asked from its beginning
        self._marks = {} if taken.short else self._marks | taken.marks
        if taken.tasks or taken.contended or taken.short:
            # else nothing is there, or no room: the next look, or a place that becomes free, tells when to try again
            self._found.set()
        return len(taken.tasks) if taken.tasks or not taken.short else await self.claim()

    async def _take(self, token: str, want: int) -> limits.Taken:
        serves = self._serves()
        first, *others = self.lanes
        if first.countable and not others and not self._crowded:
            async with self._database.tx(waits=False, knowing=limits.CLAIM_COUNTED) as tx:
                return await limits.claim_counted(
                    tx, node_id=serves.node_id, token=token, kinds=serves.kinds, lane=first, want=want, marks=self._marks
                )
        async with self._database.tx(waits=False, knowing=limits.CLAIM) as tx:
            return await limits.claim(
                tx, node_id=serves.node_id, token=token, kinds=serves.kinds, lanes=self.lanes, want=want, turn=self._turn,
                suspects=want, marks=self._marks, crowded=self._crowded,
            )  # fmt: skip
