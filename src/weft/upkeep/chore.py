"""The one skeleton of every chore: look, do a batch under the fence, rest as long as there is nothing to do."""

import asyncio
import dataclasses
import datetime as dt
import logging
from collections.abc import Awaitable, Callable

from weft.base import crash, errors
from weft.cluster import leaders
from weft.db.database import Database
from weft.db.tx import Tx
from weft.upkeep.sight import Sight

log = logging.getLogger("weft.upkeep")

_SHORTEST = 1 / 8  # of the interval: the pause after a batch that found something, doubled while nothing is found


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chore:
    """`once` does at most one batch in the transaction it is given and answers how much that was."""

    name: str
    every: dt.timedelta | Callable[[], dt.timedelta]
    """The longest pause between two looks; a function if it varies."""
    once: Callable[[Tx], Awaitable[int]]
    batch: int | None = None
    """A result this large means there is more. None: one run does it all."""
    peek: Callable[[Tx], Awaitable[bool]] | None = None
    """One cheap statement that says whether `once` would find anything. Changes nothing, so it needs no fence."""
    then: Callable[[Database], Awaitable[None]] | None = None
    """What follows after the commit, outside of any transaction: talking to others."""

    vital: bool = False
    """It goes on whatever becomes of the connections that others share: it has one of its own."""
    told: bool = False
    """It waits until `sight` has seen something for it, instead of looking again and again."""
    steady: bool = False
    """Having found something is no reason to look again sooner: whoever cannot wait does the same work himself."""

    @property
    def interval(self) -> dt.timedelta:
        return self.every() if callable(self.every) else self.every


async def run(chore: Chore, *, database: Database, role: str, term: int, sight: Sight) -> None:
    """Does a chore until cancelled."""
    pause = 0.0
    more = False
    while True:
        if chore.told and not more:
            await sight.due(chore.name)
        done = 0
        try:
            done = await once(chore, database=database, role=role, term=term)
            pause = rest(
                done, pause=pause, interval=chore.interval.total_seconds(), batch=chore.batch, steady=chore.steady
            )
        except (errors.Unavailable, errors.OutcomeUnknown, errors.Conflict) as error:
            # expected while the database or the leader changes; the pulse will notice too
            log.warning("chore %s did nothing: %s", chore.name, error)
            pause = failed(pause)
        except Exception:
            log.exception("chore %s failed", chore.name)
            pause = failed(pause)
        more = pause == 0.0
        if done:
            sight.happened()
        if not chore.told:
            await sight.rest(pause)
        elif not more:
            sight.ask(pause)
            # who found something may be told of more at once; who did not, though told, is not asked as often as all are
            if not done or chore.steady:
                await asyncio.sleep(pause)


async def once(chore: Chore, *, database: Database, role: str, term: int) -> int:
    """One look and, if there is something to do, one fenced batch."""
    if chore.peek is not None:
        async with database.once() as tx:
            if not await chore.peek(tx):
                return 0
    async with database.tx(waits=False) as tx:
        await leaders.fence(tx, role=role, term=term)
        done = await chore.once(tx)
        crash.point(f"chore: {chore.name}")
    if chore.then is not None and done:
        await chore.then(database)
    return done


def rest(done: int, *, pause: float, interval: float, batch: int | None, steady: bool = False) -> float:
    """How long to pause after a run that did `done`: not at all after a full batch, else growing to the interval."""
    if batch is not None and done >= batch:
        return 0.0
    if batch is None or steady:
        return interval
    shortest = interval * _SHORTEST
    return shortest if done > 0 else min(max(pause * 2, shortest), interval)


def failed(pause: float) -> float:
    """How long to pause after a run that failed, whatever the interval: soon at first, then rarely."""
    return min(max(pause * 2, 0.5), 10.0)
