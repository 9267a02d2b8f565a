"""Writing down what was done, by whom, to what."""

import uuid
from collections.abc import Sequence
from typing import Any

from weft.base import json
from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.journal")


async def record(
    tx: Tx,
    *,
    org_id: uuid.UUID,
    actor: str,
    action: str,
    object_type: str,
    object_id: str,
    before: Any = None,
    after: Any = None,
) -> uuid.UUID:
    """One entry, in the transaction that does what it says."""
    arguments = {
        "org_id": org_id,
        "actor": actor,
        "action": action,
        "object_type": object_type,
        "object_id": object_id,
        "before": None if before is None else json.text(before, what="before"),
        "after": None if after is None else json.text(after, what="after"),
    }
    id: uuid.UUID = await tx.value(SQL.record, arguments)
    return id


async def record_many(
    tx: Tx, *, org_id: uuid.UUID, actor: str, action: str, object_type: str, object_ids: Sequence[str]
) -> None:
    """The same entry for many things, in one statement."""
    arguments = {
        "org_id": org_id,
        "actor": actor,
        "action": action,
        "object_type": object_type,
        "object_ids": list(object_ids),
    }
    await tx.run(SQL.record_many, arguments)
