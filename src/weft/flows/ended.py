"""Tasks of runs that succeeded, settled by who holds the runs: what ends a task ends its step, in the same statement."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from weft.db import arrays, statements
from weft.db.tx import Tx
from weft.flows.model import Over
from weft.queue.model import Claimed

SQL = statements.load("weft.flows")


class Completed(NamedTuple):
    """A task that succeeded, and with what."""

    task: Claimed
    result: str | None
    started: float | None


async def complete(tx: Tx, completed: Sequence[Completed]) -> tuple[set[str], list[Over]]:
    """Only for tasks of runs whose locks are ours, each of them once. Answers those that were still held with their token,
    and what ended with them: not the step of a task that has another one by now."""
    rows = await tx.rows(SQL.complete_steps, {
        "ids": arrays.uuids([one.task.id for one in completed]),
        "tokens": arrays.uuids([one.task.token for one in completed]),
        "results": arrays.quoted([one.result for one in completed]),
        "started": arrays.floats([one.started for one in completed]),
    })  # fmt: skip
    known = {one.task.id: one.task for one in completed}
    return {row[0] for row in rows}, [_over(known[row[0]], row) for row in rows if row[2] is not None]


def _over(task: Claimed, row: Sequence[Any]) -> Over:
    rest = task.rest
    assert rest.run_id is not None and rest.step_id is not None
    return Over(rest.run_id, rest.step_id, task.attempt - rest.uncounted, *row)
