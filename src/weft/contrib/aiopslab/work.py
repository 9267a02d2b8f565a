"""What a worker says of a problem it runs: its log, its conversation, how it ended. Only its owner, only while it runs."""

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from weft.base import errors, json
from weft.contrib.aiopslab import tasks, workers
from weft.contrib.aiopslab.model import Completed, Failed, NewLog, NewMessage
from weft.db import statements
from weft.db.tx import Tx
from weft.queue import lease, orphans
from weft.queue.lease import Line
from weft.settle.outcome import Held, How, Outcome
from weft.settle.settle import settle

SQL = statements.load("weft.contrib.aiopslab")

_OVERDUE = "it took longer than its timeout_minutes"


class Owned(NamedTuple):
    """A task as its worker holds it."""

    token: str
    started_at: dt.datetime
    now: dt.datetime
    overdue: bool


async def log(tx: Tx, *, org: uuid.UUID, worker: str, task: uuid.UUID, lines: Sequence[NewLog]) -> int:
    """Lines for the log; their times are moved into the time the task runs."""
    owned = await _owned(tx, org=org, worker=worker, task=task)
    written = [
        Line(
            str(task), owned.token, clamped(line.timestamp, owned), line.level, line.message,
            json.text(msgspec.to_builtins(line.context), what="context"),
        )
        for line in lines
    ]  # fmt: skip
    return await lease.write_logs(tx, written)


def clamped(at: "dt.datetime | msgspec.UnsetType", owned: Owned) -> dt.datetime:
    """A time between the start of the task and now."""
    return owned.now if at is UNSET else min(max(at, owned.started_at), owned.now)


async def converse(tx: Tx, *, org: uuid.UUID, worker: str, task: uuid.UUID, messages: Sequence[NewMessage]) -> int:
    await _owned(tx, org=org, worker=worker, task=task)
    arguments = {
        "org": org, "task_id": task, "roles": [one.role for one in messages],
        "contents": [json.text(one.content, what="content") for one in messages],
    }  # fmt: skip
    return await tx.run(SQL.add_messages, arguments)


async def complete(tx: Tx, *, org: uuid.UUID, worker: str, task: uuid.UUID, told: Completed) -> None:
    """It ran to its end; but not if that was after its time."""
    owned = await _owned(tx, org=org, worker=worker, task=task)
    result = json.text({"output": told.output, "metrics": told.metrics}, what="result")
    if owned.overdue:
        await _end(tx, task, how="timed_out", error=_problem("Timeout", _OVERDUE), result=result)
    else:
        await _end(tx, task, how="completed", result=result)


async def fail(tx: Tx, *, org: uuid.UUID, worker: str, task: uuid.UUID, told: Failed) -> None:
    """It could not be run to its end, or not in its time."""
    owned = await _owned(tx, org=org, worker=worker, task=task)
    late = owned.overdue or told.timed_out
    result = json.text({"output": {}, "metrics": told.metrics}, what="result") if told.metrics else None
    error = _problem("Timeout" if late else "Failed", told.error)
    await _end(tx, task, how="timed_out" if late else "failed", error=error, result=result)


async def end_overdue(tx: Tx, *, ids: Sequence[str]) -> int:
    """Ends what runs longer than it may; its worker learns of it and stops."""
    held = [Held(*row) for row in await orphans.held(tx, ids=ids)] if ids else []
    if held:
        await settle(tx, [Outcome(one, "timed_out", error=_problem("Timeout", _OVERDUE), retryable=False) for one in held])
    return len(held)


async def _end(tx: Tx, task: uuid.UUID, *, how: How, error: str | None = None, result: str | None = None) -> None:
    [row] = await orphans.held(tx, ids=[str(task)])
    # one attempt only: nothing is tried again
    await settle(tx, [Outcome(Held(*row), how, error=error, result=result, retryable=False)])


async def _owned(tx: Tx, *, org: uuid.UUID, worker: str, task: uuid.UUID) -> Owned:
    found = await tx.row(SQL.hold_task, {"org": org, "worker_id": worker, "id": task})
    if found is not None:
        return Owned(*found)
    await workers.get(tx, org=org, id=worker)
    other = await tasks.get(tx, org=org, id=task)
    if other.status == "running":
        raise errors.Conflict(f"task {task} is not {worker}'s", status=other.status)
    raise errors.Conflict(f"task {task} does not run: it is {other.status}", status=other.status)


def _problem(type: str, message: str) -> str:
    return json.text({"type": type, "message": message}, what="error")
