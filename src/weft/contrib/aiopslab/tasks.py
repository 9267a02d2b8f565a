"""Problems as their submitters see them: made, looked at, cancelled, counted."""

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from weft.base import errors, json
from weft.contrib.aiopslab.model import (
    KIND,
    OFFLINE,
    QUEUE,
    Callback,
    Log,
    LogQuery,
    Message,
    NewTask,
    Parameters,
    Place,
    Result,
    Statistics,
    Task,
    TaskDetails,
    TaskQuery,
)  # fmt: skip
from weft.db import statements
from weft.db.tx import Tx
from weft.journal import outbox, record
from weft.net import url as urls
from weft.queue import enqueue, new, orphans
from weft.sdk.retry import Retry
from weft.settle import rescue
from weft.settle.outcome import Held, Outcome
from weft.settle.settle import settle

SQL = statements.load("weft.contrib.aiopslab")

MOST_LINES = 10_000
_DAY = dt.timedelta(hours=24)
_ONCE = Retry(lost=False)
_NULLABLE = ("worker_id", "started_at", "completed_at", "error_details")


async def create(tx: Tx, *, org: uuid.UUID, wanted: NewTask, actor: str) -> uuid.UUID:
    """A pending task; InvalidInput, and nothing stored, if something is wrong with it."""
    if wanted.callback_url is not None:
        try:
            urls.parse(wanted.callback_url)
        except errors.Refused as refused:
            raise errors.InvalidInput(f"callback_url is not usable: {refused.message}") from None
    payload = {name: value for name, value in msgspec.to_builtins(wanted).items() if value is not None}
    arguments = new.arguments(
        KIND, payload, declared=None,
        options={
            "queue": QUEUE, "priority": wanted.priority * 10, "max_attempts": 1, "retry": _ONCE, "org": org,
            "timeout": dt.timedelta(minutes=wanted.timeout_minutes), "heartbeat_timeout": OFFLINE,
        },
    )  # fmt: skip
    made = await enqueue.one(tx, arguments)
    backend = wanted.metadata.get("backend_type")
    if backend is not None and not isinstance(backend, str):
        raise errors.InvalidInput("metadata.backend_type must be text: the backend whose workers may have the task")
    row = {"id": made.id, "org": org, "problem_id": wanted.problem_id, "backend_type": backend}
    await tx.run(SQL.add_problem, row)
    await record.record(
        tx, org_id=org, actor=actor, action="task.create", object_type="task", object_id=str(made.id),
        after={"kinds": [KIND], "count": 1, "last": str(made.id)},
    )  # fmt: skip
    return made.id


async def get(tx: Tx, *, org: uuid.UUID, id: uuid.UUID, include_logs: bool = False) -> TaskDetails:
    """A task with everything but, unless wanted, its log."""
    found = await tx.row(SQL.get_problem, {"org": org, "id": id})
    if found is None:
        raise errors.NotFound(f"there is no task {id}")
    logs = await read_logs(tx, org=org, id=id) if include_logs else []
    sent = await outbox.about(tx, org=org, subject=id)
    return _details(found, logs=logs, callbacks=[_callback(one) for one in sent])


async def page(tx: Tx, *, org: uuid.UUID, query: TaskQuery, after: Place | None) -> tuple[list[Task], int, Place | None]:
    """Some of the tasks that match, how many do, and where the page ends if there are more."""
    first, _, second = query.sort.replace("+", "").replace(" ", "").partition(",")
    arguments = {"org": org, "status": query.status, "problem_id": query.problem_id, "worker_id": query.worker_id}
    total = int(await tx.value(SQL.count_problems, arguments))
    place = {
        "limit": query.limit + 1, "offset": query.offset, "first": first, "second": second or None,
        "newest_first": "-created_at" in (first, second), "after": after and after.id,
        "after_first": after and after.first, "after_second": after and after.second,
    }  # fmt: skip
    rows = await tx.rows(SQL.list_problems, {**arguments, **place})
    shown, more = rows[: query.limit], len(rows) > query.limit
    return [_task(row[:-2]) for row in shown], total, Place(shown[-1][-2], shown[-1][-1], shown[-1][0]) if more else None


async def cancel(tx: Tx, *, org: uuid.UUID, id: uuid.UUID, actor: str) -> TaskDetails:
    """Ends a task at once, whatever it is doing; its worker learns of it and stops. Conflict if it had ended."""
    task = await get(tx, org=org, id=id)
    done = task.status in ("pending", "running") and await _end(tx, str(id))
    ended = await get(tx, org=org, id=id)
    if not done:
        raise errors.Conflict(f"task {id} has ended ({ended.status}); what has ended stays as it is", status=ended.status)
    await record.record(tx, org_id=org, actor=actor, action="task.cancel", object_type="task", object_id=str(id))
    return ended


async def _end(tx: Tx, id: str) -> bool:
    """Ends what waits, or else what runs; whether there was something to end."""
    if await rescue.cancel(tx, ids=[id]):
        return True
    held = [Held(*row) for row in await orphans.held(tx, ids=[id])]
    error = json.text({"type": "Cancelled", "message": "cancelled by request"}, what="error")
    if held:
        await settle(tx, [Outcome(one, "cancelled", error=error) for one in held])
    return bool(held)


async def read_logs(tx: Tx, *, org: uuid.UUID, id: uuid.UUID, query: LogQuery | None = None) -> list[Log]:
    arguments = {
        "org": org, "task_id": id, "level": query and query.level, "since": query and query.since, "take": MOST_LINES,
    }  # fmt: skip
    return [
        Log(id=row[0], task_id=row[1], timestamp=row[2], level=row[3], message=row[4], context=row[5])
        for row in await tx.rows(SQL.list_logs, arguments)
    ]


async def read_messages(tx: Tx, *, org: uuid.UUID, id: uuid.UUID) -> list[Message]:
    rows = await tx.rows(SQL.list_messages, {"org": org, "task_id": id})
    return [Message(timestamp=at, role=role, content=content) for at, role, content in rows]


async def statistics(tx: Tx, *, org: uuid.UUID) -> Statistics:
    row = await tx.row(SQL.statistics, {"org": org, "window": _DAY})
    assert row is not None  # an aggregate always answers
    total, pending, running, completed, failed, timeout, average = row
    ended = completed + failed + timeout
    return Statistics(
        total=total, pending=pending, running=running, completed=completed, failed=failed, timeout=timeout,
        success_rate=completed / ended if ended else 0.0, avg_duration=UNSET if average is None else average,
    )  # fmt: skip


def _fields(row: Sequence[Any]) -> dict[str, Any]:
    (id, problem, status, payload, worker, _result, error, created, updated, started, completed) = row
    told = {name: payload[name] for name in Parameters.__struct_fields__ if name in payload}
    found = {
        "id": id, "problem_id": problem, "status": status, "parameters": Parameters(**told), "worker_id": worker,
        "created_at": created, "updated_at": updated, "started_at": started, "completed_at": completed,
        "error_details": error,
    }  # fmt: skip
    return {name: value for name, value in found.items() if not (value is None and name in _NULLABLE)}


def _task(row: Sequence[Any]) -> Task:
    found = _fields(row)
    found.pop("error_details", None)
    return Task(**found)


def _details(row: Sequence[Any], *, logs: list[Log], callbacks: list[Callback]) -> TaskDetails:
    result: Any = UNSET
    if row[5] is not None:
        result = Result(logs=logs, metrics=row[5].get("metrics", {}), output=row[5].get("output", {}))
    return TaskDetails(**_fields(row), result=result, logs=logs, callbacks=callbacks)


def _callback(sent: outbox.Sent) -> Callback:
    return Callback(
        id=sent.id, state=sent.state, attempts=sent.attempts, status=UNSET if sent.status is None else sent.status,
        problem=sent.problem or UNSET, delivered_at=sent.delivered_at or UNSET,
        next_attempt_at=sent.next_at if sent.state == "waiting" else UNSET,
    )  # fmt: skip
