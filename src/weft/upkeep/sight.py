"""What there is to do, seen by one statement for all chores.

    look ──▶ (chore, in how many seconds) ──▶ chores that were told run; the others go by their own clock
     ▲  twice a second while something happens, every two seconds while nothing does ──┐
     └──────── at once: a job or task that is due soon was told of; a chore that wants to know more ◀──┘

Each folder says in its statement `stirs` what its chores look for, and here they are put together: thirty questions would be
thirty round trips, which everybody on the database's machine would feel. When nothing was done for a while it is *calm*:
chores that go by their own clock seldom run, and the workers of this process need not poll either. Calm is over as soon
as anything is done, heard or missed. It is only an optimisation: whatever the look does not see is found by the chore's own
clock, later.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from weft.base import errors, events
from weft.cluster import nodes
from weft.db import statements
from weft.db.database import Database
from weft.db.statements import Part
from weft.db.tx import Tx
from weft.flows import chores as runs
from weft.jobs import scheduler
from weft.journal import sequence
from weft.live import sessions
from weft.settle import rescue

log = logging.getLogger("weft.upkeep")

PARTS: tuple[Part, ...] = (nodes.STIRS, rescue.STIRS, sequence.STIRS, runs.STIRS, scheduler.STIRS, sessions.STIRS)
READY = "ready"
"""No chore, but work that nobody was told of."""

AWAKE = 0.5
CALM = 1.9
"""Seconds between two looks. While it is calm nothing else finds what was enqueued without a word: within two seconds."""
_LIVELY = 10.0
"""Seconds for which whatever happened may have consequences: more than the pause of any chore that goes by its own clock and
has something to do with work."""
_RESTED = (10, 300.0)
"""While it is calm a chore's own clock goes so many times slower, and at least so many seconds pass."""
_FIRST = 1 / 8
"""Of its pause: when a chore that rested looks first."""
_SOONEST = 0.02
_SHARE = 20
"""A look may cost this part of the time between two: where an old transaction keeps what is dead it has far to walk."""
_RARELY = 30.0
_AFTER_AN_ERROR = 0.5


async def look(tx: Tx, whole: Part, *, node_id: str, calm: bool = False) -> dict[str, float]:
    """Which chores have something to do, and in how many seconds; not later than now if that is negative."""
    return dict(await tx.rows(whole.text, {**whole.values, "node_id": node_id, "calm": calm}))


class Sight:
    """Of one term."""

    def __init__(
        self, *, told: Iterable[str] = (), hears: Callable[[], bool] = lambda: False,
        ready: Callable[[], None] = lambda: None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.calm = False
        self._hears = hears
        self._ready = ready
        self._clock = clock
        self._due: dict[str, float] = {}
        self._news = {name: asyncio.Event() for name in told}
        self._roused = asyncio.Event()
        self._asked = asyncio.Event()
        self._next = clock()
        self._lively = clock()

    async def run(self, database: Database, *, node_id: str, more: Sequence[Part] = ()) -> None:
        """Looks until cancelled."""
        whole = statements.union([*PARTS, *more])
        while True:
            began, asked = self._clock(), time.monotonic()
            self._next = float("inf")
            try:
                async with database.once() as tx:
                    found = await look(tx, whole, node_id=node_id, calm=self.calm)
                self.saw(found)
                pause = self.pause(time.monotonic() - asked)
            except (errors.Unavailable, errors.OutcomeUnknown, errors.Conflict) as error:
                # expected while the database changes; the pulse will notice too
                log.warning("cannot see what is to do: %s", error)
                pause = self._failed()
            except Exception:
                log.exception("cannot see what is to do")
                pause = self._failed()
            self._next = min(self._next, self._clock() + pause)
            await self._rest(began)

    def saw(self, found: Mapping[str, float]) -> None:
        """What a look found."""
        now = self._clock()
        for name, seconds in found.items():
            if name in self._news:
                self._due[name] = now + seconds
                self._news[name].set()
            elif name == READY:
                self._ready()
            else:
                self.happened()
        self._settle()

    def pause(self, cost: float) -> float:
        """Seconds until the next look, if nobody asks for one."""
        return max(CALM if self.calm else AWAKE, min(_SHARE * cost, _RARELY))

    def happened(self) -> None:
        """Something that may have consequences: calm is over, if it was."""
        self._lively = self._clock()
        if self.calm:
            self.ask(AWAKE)
            self._settle()
            self._ready()

    def ask(self, within: float) -> None:
        """Somebody wants a look so soon."""
        self._next = min(self._next, self._clock() + within)
        self._asked.set()

    async def due(self, name: str) -> None:
        """Waits until this chore has something to do."""
        news = self._news[name]
        while (left := self._due.get(name, float("inf")) - self._clock()) > 0:
            news.clear()
            await events.came(news, within=left)
        del self._due[name]

    async def rest(self, pause: float) -> None:
        """As long as a chore that goes by its own clock does, longer while it is calm."""
        began = self._clock()
        times, least = _RESTED
        while (left := began + (max(times * pause, least) if self.calm else pause) - self._clock()) > 0:
            if not self.calm:
                await asyncio.sleep(left)
            elif await events.came(self._roused, within=left):
                # whoever roused us is not to wait for all that rested
                await asyncio.sleep(min(left, pause * _FIRST))

    def _failed(self) -> float:
        """Who sees nothing does not rest either, and what can be done without being told is done."""
        self.happened()
        return _AFTER_AN_ERROR

    async def _rest(self, began: float) -> None:
        """Until the next look, which somebody may want sooner."""
        self._asked.clear()
        while (left := max(self._next, began + _SOONEST) - self._clock()) > 0:
            await events.came(self._asked, within=left)
            self._asked.clear()

    def _settle(self) -> None:
        """Who is not told of anything cannot rest: it would be late."""
        self.calm = self._hears() and self._clock() - self._lively > _LIVELY
        if self.calm:
            self._roused.clear()
        else:
            self._roused.set()
