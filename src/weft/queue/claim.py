"""Claiming: which lanes have work, and taking plain work from them in one statement."""

import time
from collections.abc import Sequence

from weft.db import statements
from weft.db.tx import Tx
from weft.queue.lanes import Lane, Take
from weft.queue.model import Claimed, claimed

SQL = statements.load("weft.queue")


async def lanes(tx: Tx) -> list[Lane]:
    """Every (lane, org) with ready work, by a loose index scan: one probe each, whatever their depth."""
    return [Lane(*row) for row in await tx.rows(SQL.lanes)]


async def plain(
    tx: Tx, *, node_id: str, token: str, kinds: Sequence[str], takes: Sequence[Take]
) -> list[Claimed]:
    """Takes plain, unlimited work in one statement. Lanes limited or paused meanwhile yield nothing."""
    sent = time.monotonic()
    rows = await tx.rows(
        SQL.claim_plain,
        {
            "lanes": [take.lane.lane for take in takes],
            "orgs": [take.lane.org for take in takes],
            "takes": [take.take for take in takes],
            "mark_urgency": [take.mark.urgency for take in takes],
            "mark_run_at": [take.mark.run_at for take in takes],
            "mark_id": [take.mark.id for take in takes],
            "kinds": kinds,
            "node_id": node_id,
            "token": token,
        },
    )
    return claimed(rows, token=token, sent=sent)
