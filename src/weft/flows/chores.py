"""What the leader sees to: runs with facts nobody took, runs that wait to be let in, runs that took too long, old runs."""

import datetime as dt
import logging
from collections.abc import Awaitable, Callable, Sequence

from weft.base import errors
from weft.db import statements
from weft.db.statements import Part
from weft.db.tx import Tx
from weft.flows import advance, operate, start, workflows

SQL = statements.load("weft.flows")

log = logging.getLogger("weft.flows")

BATCH = 50
FACTS = 1000

STIRS = Part(SQL.stirs, {"answers_kept": workflows.ANSWERS_KEPT})


async def sweep(tx: Tx) -> int:
    """Advances runs that nobody advanced: the one who held the lock had looked before the fact was there."""
    await tx.run(SQL.drop_facts, {"take": FACTS})
    runs = [row[0] for row in await tx.rows(SQL.runs_told, {"take": BATCH})]
    return await _carefully(tx, runs) if runs else 0


async def _carefully(tx: Tx, runs: Sequence[str]) -> int:
    """Advances a batch; if the database refuses it, its halves, down to the run that is at fault. That one fails: others,
    of other orgs too, must not wait for it. Answers how many there will not be again."""
    try:
        async with tx.savepoint():
            await advance.advance(tx, runs)
        return len(runs)
    except (errors.DatabaseError, errors.InvalidInput) as error:
        if isinstance(error, errors.Unavailable | errors.MigrationError):
            raise
        if len(runs) > 1:
            half = len(runs) // 2
            return await _carefully(tx, runs[:half]) + await _carefully(tx, runs[half:])
        if isinstance(error, errors.InvalidPlan):
            log.warning("run %s is left to a version of Weft that knows its plan: %s", runs[0], error)
            return 0
        log.warning("run %s cannot be advanced, and fails: %s", runs[0], error)
        await advance.give_up(tx, runs[0], error)
        return 1


async def admit(tx: Tx) -> int:
    """Lets runs in: those that SQL asked for, and those that waited for room."""
    found = [row[0] for row in await tx.rows(SQL.definitions_with_created)]
    return sum([await start.admit(tx, definition) for definition in found])


async def deadlines(tx: Tx) -> int:
    """Ends runs that took longer than they may."""
    ended = 0
    for id, org in await tx.rows(SQL.past_deadline, {"take": BATCH}):
        try:
            async with tx.savepoint():
                await operate.time_out(tx, id, org=org)
            ended += 1
        except errors.NotFound:
            log.warning("run %s is gone", id)
        except errors.InvalidPlan as error:
            log.warning("run %s is left to a version of Weft that knows its plan: %s", id, error)
    return ended


def pruning(older: dt.timedelta | None) -> Callable[[Tx], Awaitable[int]]:
    """Drops runs that ended longer ago than this, or than they or their org say."""

    async def prune(tx: Tx) -> int:
        return await tx.run(SQL.prune_runs, {"older": older, "take": BATCH})

    return prune
