"""The change feed: reading on from a position, and trimming what is old."""

import dataclasses
import datetime as dt
import uuid
from typing import Literal

from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.journal")

BATCH = 10_000
KEPT = dt.timedelta(hours=1)
"""How far back a reader may resume; what it missed before that, it reads from the tables."""

Op = Literal["INSERT", "UPDATE", "DELETE"]


@dataclasses.dataclass(frozen=True)
class Change:
    """One statement's changes to one table. It names rows, of any org; whoever shows them reads them as their org."""

    position: int
    at: dt.datetime
    table_name: str
    op: Op
    ids: list[uuid.UUID] | None
    """None: too many to name; look again at whatever you watch."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Page:
    """What came after a position. `gap`: something before it may be missing, so read the tables anew."""

    changes: list[Change]
    next: int
    """Where to go on from."""
    newest: int
    """The feed's last position; whoever wants only what comes begins there."""
    gap: bool


async def read(tx: Tx, *, after: int, take: int = 1000) -> Page:
    """The changes after a position, oldest first."""
    rows = await tx.rows(SQL.read, {"after": after, "take": take})
    oldest, newest = rows[0][0], rows[0][1]
    changes = [Change(*row[2:]) for row in rows if row[2] is not None]
    gap = has_gap(after=after, oldest=oldest, newest=newest)
    last = changes[-1].position if changes else min(after, newest or 0)
    return Page(changes=changes, next=last, newest=newest or 0, gap=gap)


def has_gap(*, after: int, oldest: int | None, newest: int | None) -> bool:
    """Whether a reader at `after` can have missed something. Numbers burnt by a rollback may say yes for nothing.

    A position the feed never reached comes from before a restore: what it stood for is gone.
    """
    if oldest is None or newest is None:
        return after > 0
    return after + 1 < oldest or after > newest


async def trim(tx: Tx, *, older: dt.timedelta = KEPT, take: int = BATCH) -> int:
    """Deletes a batch of old changes; answers how many."""
    return await tx.run(SQL.trim, {"older": older, "take": take})
