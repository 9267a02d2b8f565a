"""How late the scheduler is."""

import uuid
from typing import NamedTuple

from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.jobs")

_MOST = 1000


class Lag(NamedTuple):
    """How late the job is that is most overdue, and how many are more than five seconds late."""

    seconds: float
    jobs: int


async def look(tx: Tx, *, org: uuid.UUID) -> Lag:
    row = await tx.row(SQL.schedule_lag, {"org_id": org, "most": _MOST})
    assert row is not None  # it only counts
    return Lag(*row)
