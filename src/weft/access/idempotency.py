"""The first answer to a request with an Idempotency-Key, kept with its effect in one transaction."""

import dataclasses
import datetime as dt
import uuid

from weft.base import errors
from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.access")

BATCH = 1000
KEPT = dt.timedelta(hours=24)


@dataclasses.dataclass(frozen=True)
class Kept:
    """What was answered the first time."""

    status: int
    answer: str


async def begin(tx: Tx, *, org: uuid.UUID, key: str, request: bytes) -> Kept | None:
    """None: go on, you are the first. Otherwise what the first was answered; KeyReused if it asked for something else."""
    if await tx.value(SQL.begin_idempotent, {"org_id": org, "key": key, "request": request}):
        return None
    # a statement of its own, so that it sees what the one we waited for has committed
    row = await tx.row(SQL.idempotent_answer, {"org_id": org, "key": key})
    if row is None:
        raise errors.Conflict("the Idempotency-Key has just expired; send the request again")
    before, status, answer = row
    if before != request:
        raise errors.KeyReused()
    return Kept(status, answer)


async def end(tx: Tx, *, org: uuid.UUID, key: str, status: int, answer: str) -> None:
    """Keeps the answer; it is there if and when the effect is."""
    await tx.run(SQL.end_idempotent, {"org_id": org, "key": key, "status": status, "answer": answer})


async def prune(tx: Tx) -> int:
    """Forgets a batch of answers older than a day."""
    return await tx.run(SQL.prune_idempotency_keys, {"older": KEPT, "take": BATCH})
