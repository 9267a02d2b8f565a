"""After a commit: runs that somebody else held are tried once more, and runs that waited for room are let in."""

from weft.db import statements
from weft.db.tx import Tx
from weft.flows import advance, start
from weft.flows.advance import Advanced

SQL = statements.load("weft.flows")

PATIENCE = "1s"
"""How long the lock of a run is waited for: its holder may be frozen, and the sweep comes anyway."""


async def once_more(tx: Tx, advanced: Advanced) -> None:
    """In a transaction that holds nothing else, so that waiting for a lock is safe."""
    if advanced.busy:
        await tx.run(SQL.be_patient, {"patience": PATIENCE})
        await tx.rows(SQL.wait_for_runs, {"ids": advanced.busy})
        await advance.advance(tx, advanced.busy)
    for definition in sorted(set(advanced.waiting)):
        await start.admit(tx, definition)
