"""How many tasks ended over time, and how much waited: counted per minute by a chore, read by charts."""

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


_PLACES = 1000
"""Queues, of all orgs, that are looked at once a minute."""
_CAP = 10_000


@dataclasses.dataclass(frozen=True)
class Depths:
    """The most that was seen waiting and running in each step of a range, and for how many seconds the oldest had waited."""

    ready: list[int]
    running: list[int]
    oldest: list[float]


@dataclasses.dataclass(frozen=True)
class Ended:
    """What ended in each step of a range, oldest first."""

    completed: list[int]
    failed: list[int]
    cancelled: list[int]


async def once(tx: Tx) -> int:
    """Counts minutes that are over, and looks at what waits now; answers how many rows that made."""
    counted = await tx.run(SQL.count_minutes, {"margin": MARGIN, "most": AT_ONCE})
    # last, because it holds for the transaction, and what ended is found by a bitmap
    await tx.row(SQL.go_along_indexes)
    return counted + await tx.run(SQL.sample_depths, {"places": _PLACES, "cap": _CAP})


async def prune(tx: Tx) -> int:
    arguments = {"older": QUEUES_KEPT, "oldest": KEPT, "take": BATCH}
    return await tx.run(SQL.prune_minutes, arguments) + await tx.run(SQL.prune_depths, arguments)


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


async def depths(
    tx: Tx, *, org: uuid.UUID, since: dt.datetime, step: dt.timedelta, points: int, queue: str = ""
) -> Depths:
    """What waited in the steps of a range; zeros where nothing did, or nobody looked. No queue: all of them."""
    rows = await tx.rows(
        SQL.depths_by_step,
        {"org_id": org, "queue": queue, "since": since, "until": since + step * points, "step": step.total_seconds()},
    )
    found = Depths([0] * points, [0] * points, [0.0] * points)
    for place, ready, running, oldest in rows:
        if 0 <= place < points:
            found.ready[place], found.running[place], found.oldest[place] = ready, running, round(oldest, 1)
    return found
