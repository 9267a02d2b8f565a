"""Claiming: which lanes have work, and taking plain work from them in one statement."""

import datetime as dt
import time
from collections.abc import Sequence

from weft.base import crash
from weft.db import statements
from weft.db.lean import Lean
from weft.db.tx import Tx
from weft.queue.lanes import Lane, Take
from weft.queue.model import Claimed, claimed

SQL = statements.load("weft.queue")

NAMED = Lean("claim_named", SQL.claim_named)
"""What a connection for a claim of what somebody was told of should know."""


async def lanes(tx: Tx) -> list[Lane]:
    """Every (lane, org) with ready work, by a loose index scan: one probe each, whatever their depth."""
    return [Lane(*row) for row in await tx.rows(SQL.lanes)]


async def lanes_of(tx: Tx, *, org: str) -> list[Lane]:
    """The same for one org, whatever the others have."""
    return [Lane(*row) for row in await tx.rows(SQL.lanes_of, {"org": org})]


async def plain(
    tx: Tx, *, node_id: str, token: str, kinds: Sequence[str], takes: Sequence[Take],
    lease: dt.timedelta | None = None, told: bool = False,
) -> list[Claimed]:  # fmt: skip
    """Takes plain, unlimited work in one statement. Lanes limited or paused meanwhile yield nothing. `told`: somebody has
    said that it is there, and waits for it.

    With `lease` each task gets a lease of its own, as HTTP workers need; without, it hangs on the node's beat.
    """
    sent = time.monotonic()
    if told and len(takes) == 1:
        one = takes[0]
        asked = {
            "lane": one.lane.lane, "org": one.lane.org, "take": one.take, "mark_urgency": one.mark.urgency,
            "mark_run_at": one.mark.run_at, "mark_id": one.mark.id, "kinds": kinds, "node_id": node_id, "token": token,
            "lease": lease, "limited": False,
        }  # fmt: skip
        few = await tx.lean_rows(NAMED, asked)
        crash.point("claim: answered")
        return claimed(few, token=token, sent=sent)
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
            "lease": lease,
            "limited": False,
        },
    )
    crash.point("claim: answered")
    return claimed(rows, token=token, sent=sent)
