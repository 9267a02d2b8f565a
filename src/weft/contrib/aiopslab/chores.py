"""What must happen without anybody asking: ending what takes too long, forgetting workers that are long gone."""

import datetime as dt

from weft.contrib.aiopslab import work
from weft.contrib.aiopslab.model import FORGOTTEN, KIND
from weft.db import statements
from weft.db.statements import Part
from weft.db.tx import Tx
from weft.upkeep.chore import Chore

SQL = statements.load("weft.contrib.aiopslab")

BATCH = 100


async def timeouts(tx: Tx) -> int:
    rows = await tx.rows(SQL.overdue, {"kind": KIND, "take": BATCH})
    return await work.end_overdue(tx, ids=[row[0] for row in rows])


async def forget_workers(tx: Tx) -> int:
    return await tx.run(SQL.forget_workers, {"older": FORGOTTEN})


STIRS = Part(SQL.stirs, {"kind": KIND})

CHORES = (
    Chore(name="aiopslab timeouts", every=dt.timedelta(seconds=5), once=timeouts, batch=BATCH, told=True),
    Chore(name="aiopslab worker sweeper", every=dt.timedelta(seconds=3600), once=forget_workers),
)
