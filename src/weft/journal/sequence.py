"""The sequencer: gives committed changes their positions, one at a time, and tells the readers once per batch."""

from weft.db import statements
from weft.db.lean import Lean
from weft.db.statements import Part
from weft.db.tx import Tx

SQL = statements.load("weft.journal")

_LOCK, _SEQUENCE = Lean("lock_sequencer", SQL.lock_sequencer), Lean("sequence", SQL.sequence)

BATCH = 1000

STIRS = Part(SQL.stirs)
"""Of the sequencer, the sealer and the outbox."""


async def waiting(tx: Tx) -> bool:
    """Whether there is anything to do."""
    return bool(await tx.value(SQL.inbox_waits))


async def once(tx: Tx, *, take: int = BATCH) -> int:
    """Moves up to `take` changes into the feed. 0 if another transaction is just doing that."""
    [[(locked,)]] = await tx.together([(_LOCK, {})])
    if not locked:
        return 0
    [[(moved, *_)]] = await tx.together([(_SEQUENCE, {"take": take})])
    return int(moved)
