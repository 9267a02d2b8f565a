"""The sequencer: gives committed changes their positions, one at a time, and tells the readers once per batch."""

from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.journal")

BATCH = 1000


async def waiting(tx: Tx) -> bool:
    """Whether there is anything to do."""
    return bool(await tx.value(SQL.inbox_waits))


async def once(tx: Tx, *, take: int = BATCH) -> int:
    """Moves up to `take` changes into the feed. 0 if another transaction is just doing that."""
    if not await tx.value(SQL.lock_sequencer):
        return 0
    return int(await tx.value(SQL.sequence, {"take": take}))
