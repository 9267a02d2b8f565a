"""Tasks that start runs, and those of them that wait for the run's end.

Who waits is not held by a worker: its task sleeps and looks again, at the latest after a quarter of the time that the run
has taken so far. When the run ends a trigger wakes it (`awaiting.sql`). A run that is waited for does not outlive its
waiting: when the task is gone (cancelled, timed out), the run is cancelled by a chore.
"""

import datetime as dt
import uuid
from typing import Any, NamedTuple

from weft.base import errors
from weft.db import statements
from weft.db.tx import Tx
from weft.flows import operate, steering
from weft.flows.model import OVER, RunState

SQL = statements.load("weft.flows")

BATCH = 1
ACTOR = "upkeep"

_SHORTEST, _LONGEST = 1.0, 60.0


class Asker(NamedTuple):
    """What a task belongs to: a step of a run; and the time of a schedule that it is for."""

    run: uuid.UUID | None = None
    step: uuid.UUID | None = None
    time: dt.datetime | None = None


class Awaited(NamedTuple):
    """A run whose end a task waits for, in the order `awaited_run` selects it."""

    run: uuid.UUID
    state: RunState
    output: Any
    error: dict[str, Any] | None
    age: float
    """Seconds since the run was made."""
    allowed: float | None
    """Seconds that the task may take."""


async def asker(tx: Tx, task: uuid.UUID) -> Asker:
    """Who had a task enqueued."""
    row = await tx.row(SQL.asker, {"task_id": task})
    return Asker() if row is None else Asker(*row)


async def find(tx: Tx, task: uuid.UUID) -> Awaited | None:
    """The run that a task waits for, if it has started one."""
    row = await tx.row(SQL.awaited_run, {"task_id": str(task)})
    return None if row is None else Awaited(*row)


async def begin(tx: Tx, task: uuid.UUID, run: uuid.UUID) -> Awaited:
    """From now on the task waits for this run, which was started in the same transaction."""
    await tx.run(SQL.await_run, {"task_id": str(task), "id": run})
    found = await find(tx, task)
    assert found is not None
    return found


def judge(found: Awaited) -> dict[str, Any]:
    """What the task answers: how the run ended. Snooze if it has not; TaskFailed if it ended otherwise than well."""
    if found.state == "completed":
        return {"run_id": str(found.run), "state": found.state, "output": found.output}
    if found.state in OVER:
        problem = (found.error or {}).get("message") or found.state
        kind = errors.TaskCancelled if found.state == "cancelled" else errors.TaskFailed
        raise kind(f"run {found.run} {found.state}: {problem}", run_id=str(found.run))
    delay = min(max(found.age / 4, _SHORTEST), _LONGEST)
    if found.allowed is not None:
        left = found.allowed - found.age
        if left <= 0:
            raise errors.TaskTimedOut(f"run {found.run} has not ended within {found.allowed:g} s, and is cancelled")
        delay = min(delay, left)
    raise errors.Snooze(delay)


async def any_forsaken(tx: Tx) -> bool:
    return await tx.row(SQL.forsaken_run) is not None


async def cancel_forsaken(tx: Tx) -> int:
    """Ends a run that nobody waits for any more. One at a time: each kind of run locks in an order of its own."""
    row = await tx.row(SQL.forsaken_run)
    if row is None:
        return 0
    run, org, kind = row
    act = steering.cancel if kind == "workflow" else operate.cancel
    await act(tx, run, org=org, actor=ACTOR)
    await tx.run(SQL.forsake_run, {"id": run})
    return 1
