"""Redriving or discarding many dead tasks, a batch and a transaction at a time, newest first.

A batch goes down the list by id, like a page. What it could not redrive (a newer task has its dedupe key) stays where it
is and is passed; what dies again meanwhile is not met a second time.
"""

import dataclasses
import uuid
from typing import Literal

from weft.base import errors
from weft.db import statements
from weft.db.tx import Tx
from weft.queue import search, tasks
from weft.queue.counts import CAP, Count
from weft.queue.search import Filter

SQL = statements.load("weft.queue")

What = Literal["redrive", "discard"]

BATCH = 500
_SIGNED = 1000


@dataclasses.dataclass(frozen=True)
class Progress:
    """What a batch did, and how many that match come after it. `before` continues; None: it is done."""

    done: int
    skipped: int
    remaining: Count
    before: uuid.UUID | None


async def batch(
    tx: Tx, what: What, *, org: uuid.UUID, filter: Filter, actor: str, before: uuid.UUID | None = None, limit: int = BATCH
) -> Progress:
    """The next dead tasks that match."""
    if filter.states != ("dead",):
        raise errors.InvalidInput("only the dead letter list can be redriven or discarded by a filter")
    found = await search.find(tx, org=org, filter=filter, before=before, limit=limit)
    done = await apply(tx, what, org=org, ids=found.ids, actor=actor)
    left = Count(0)
    if found.before is not None:
        left = await remaining(tx, org=org, filter=filter, before=found.before)
    return Progress(done, len(found.ids) - done, left, found.before)


async def apply(tx: Tx, what: What, *, org: uuid.UUID, ids: list[uuid.UUID], actor: str) -> int:
    """Does it to these tasks; answers to how many."""
    if not ids:
        return 0
    do = tasks.redrive if what == "redrive" else tasks.discard
    return len(await do(tx, org=org, ids=ids, actor=actor))


async def remaining(tx: Tx, *, org: uuid.UUID, filter: Filter, before: uuid.UUID | None = None) -> Count:
    """How many dead tasks match, counted no further than a walk goes."""
    found = await search.find(tx, org=org, filter=filter, before=before, limit=CAP)
    return Count(len(found.ids), found.before is not None)


async def sign(tx: Tx, *, org: uuid.UUID) -> list[str]:
    """Something that is different when the dead letter list may look different."""
    row = await tx.row(SQL.sign_of_dead, {"org_id": org, "most": _SIGNED})
    assert row is not None  # it only counts
    return [str(value) for value in row]
