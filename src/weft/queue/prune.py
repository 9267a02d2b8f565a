"""Retention: months of history made ahead and dropped, an org's own shorter retention, expired dedupe keys."""

import datetime as dt
import uuid

from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.queue")

BATCH = 1000
MONTHS_AHEAD = 2


async def partitions(tx: Tx) -> int:
    """Makes the partitions of this month and the next ones."""
    return int(await tx.value(SQL.make_partitions, {"months": MONTHS_AHEAD}))


async def history(tx: Tx, *, older: dt.timedelta) -> list[str]:
    """Drops the months that hold nothing younger; answers their names. What a month holds goes by creation time."""
    return [row[0] for row in await tx.rows(SQL.drop_partitions, {"older": older})]


async def org(tx: Tx, *, org_id: uuid.UUID, older: dt.timedelta) -> int:
    """Deletes a batch of one org's history older than its own retention."""
    return await tx.run(SQL.prune_org, {"org_id": org_id, "older": older, "take": BATCH})


async def orgs(tx: Tx) -> int:
    """A batch of every org that keeps its history for a shorter time than everybody; answers how many tasks went."""
    gone = 0
    for org_id, older in await tx.rows(SQL.orgs_with_retention):
        gone += await org(tx, org_id=org_id, older=older)
    return gone


async def dedupe_keys(tx: Tx) -> int:
    """Forgets keys whose window has passed."""
    return await tx.run(SQL.prune_dedupe_keys, {"take": BATCH})
