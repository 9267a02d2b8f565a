"""How many tasks ended over time: counted per minute by a chore, read by charts."""

import dataclasses
import datetime as dt
import uuid

from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.queue")

MINUTE = dt.timedelta(minutes=1)
MARGIN = dt.timedelta(seconds=15)
"""How long a transaction that ends tasks may take to be counted."""
AT_ONCE = dt.timedelta(minutes=30)
"""Counted in one go, after a time without a leader."""
QUEUES_KEPT = dt.timedelta(days=3)
KEPT = dt.timedelta(days=60)
BATCH = 5000
_UNCOUNTED = 100_000
"""Tasks that a chart counts itself: those of the minute or two before now."""


@dataclasses.dataclass(frozen=True)
class Ended:
    """What ended in each step of a range, oldest first."""

    completed: list[int]
    failed: list[int]
    cancelled: list[int]


async def waiting(tx: Tx) -> bool:
    """Whether a minute is over that was not counted."""
    return bool(await tx.value(SQL.minutes_waiting, {"margin": MARGIN}))


async def once(tx: Tx) -> int:
    """Counts minutes that are over; answers how many rows that made."""
    return await tx.run(SQL.count_minutes, {"margin": MARGIN, "most": AT_ONCE})


async def prune(tx: Tx) -> int:
    return await tx.run(SQL.prune_minutes, {"older": QUEUES_KEPT, "oldest": KEPT, "take": BATCH})


async def now(tx: Tx) -> dt.datetime:
    """The database's time, which is the only one."""
    found: dt.datetime = await tx.value(SQL.the_time)
    return found


async def ended(
    tx: Tx, *, org: uuid.UUID, since: dt.datetime, step: dt.timedelta, points: int, queue: str = ""
) -> Ended:
    """The steps of a range; `since` and `step` are whole minutes, or near the present anything. No queue: all of them."""
    rows = await tx.rows(
        SQL.ended_by_step,
        {
            "org_id": org, "queue": queue, "since": since, "until": since + step * points, "step": step.total_seconds(),
            "most": _UNCOUNTED,
        },
    )  # fmt: skip
    found = Ended([0] * points, [0] * points, [0] * points)
    for place, completed, failed, cancelled in rows:
        if 0 <= place < points:
            found.completed[place], found.failed[place], found.cancelled[place] = completed, failed, cancelled
    return found
