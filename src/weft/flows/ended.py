"""Tasks of runs that succeeded, settled by who holds the runs: what ends a task ends its step, in the same statement."""

from collections.abc import Sequence
from typing import NamedTuple

from weft.db import arrays, statements
from weft.db.tx import Tx
from weft.flows.model import Over

SQL = statements.load("weft.flows")


class Completed(NamedTuple):
    """A task that succeeded, and with what."""

    id: str
    token: str
    result: str | None
    started: float | None


async def complete(tx: Tx, completed: Sequence[Completed]) -> list[Over]:
    """Only for tasks of runs whose locks are ours, each of them once."""
    rows = await tx.rows(SQL.complete_steps, {
        "ids": arrays.uuids([one.id for one in completed]), "tokens": arrays.uuids([one.token for one in completed]),
        "results": arrays.quoted([one.result for one in completed]),
        "started": arrays.floats([one.started for one in completed]),
    })  # fmt: skip
    return [Over(*row) for row in rows]
