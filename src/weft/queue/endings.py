"""Which of many tasks have ended: for whoever waits for them."""

import uuid
from collections.abc import Sequence

from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.queue")


async def ended(tx: Tx, waited: Sequence[tuple[uuid.UUID, uuid.UUID]]) -> list[uuid.UUID]:
    """The ids of those (org, id) that are in the history."""
    orgs, ids = [org for org, _ in waited], [id for _, id in waited]
    return [row[0] for row in await tx.rows(SQL.which_ended, {"orgs": orgs, "ids": ids})]
