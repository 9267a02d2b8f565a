"""Forgetting: executions whose task retention took away, and then the jobs that are over."""

import datetime as dt
import uuid
from collections.abc import Awaitable, Callable

from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.jobs")

BATCH = 1000
_FIRST = uuid.UUID(int=0)


class Executions:
    """Walks through all executions, some at a time, and then from the beginning: each org keeps its own for a time of its
    own, so that the oldest are not always the first to go."""

    def __init__(self) -> None:
        self._after = _FIRST

    async def once(self, tx: Tx) -> int:
        row = await tx.row(SQL.prune_executions, {"after": self._after, "take": BATCH})
        assert row is not None
        last, gone = row
        self._after = last or _FIRST
        return int(gone)


def jobs(older: dt.timedelta | None) -> Callable[[Tx], Awaitable[int]]:
    """Deleted jobs, and those whose one time is over, as long after as history is kept (`older`, or what their org says)
    and when their last execution is gone."""

    async def once(tx: Tx) -> int:
        return await tx.run(SQL.prune_jobs, {"older": older, "take": BATCH})

    return once
