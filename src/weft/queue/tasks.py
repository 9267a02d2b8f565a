"""Looking at tasks, and what people do to them: cancel, redrive, discard, pause, limit. Changes are journaled."""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any

from weft.base import crash, errors, ids, names
from weft.db import statements
from weft.db.tx import Tx
from weft.journal import record
from weft.queue import counts, orphans
from weft.queue.model import FinalState, LogLine, Reason, TaskView, view

SQL = statements.load("weft.queue")



@dataclasses.dataclass(frozen=True)
class Ending:
    """How a task ended."""

    state: FinalState
    reason: Reason | None
    error: dict[str, Any] | None
    result: Any


@dataclasses.dataclass(frozen=True)
class QueueStats:
    """What waits and runs in a queue, and how long the oldest ready task has waited."""

    queue: str
    ready: int
    scheduled: int
    blocked: int
    running: int
    oldest_seconds: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class QueueSettings:
    """What was said about a queue: paused, at most so many at once, at most so many per period."""

    paused: bool = False
    max_running: int | None = None
    rate_limit: int | None = None
    rate_period: dt.timedelta | None = None
    rate_burst: int | None = None


async def get(tx: Tx, *, id: uuid.UUID, org: uuid.UUID) -> TaskView:
    row = await tx.row(SQL.get_task, {"id": id, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no task {id}")
    return view(row)


async def ending(tx: Tx, *, id: uuid.UUID, org: uuid.UUID) -> Ending | None:
    """How a task ended, or None while it has not."""
    row = await tx.row(SQL.get_ending, {"id": id, "org_id": org})
    return None if row is None else Ending(*row)


async def logs(tx: Tx, *, id: uuid.UUID, org: uuid.UUID, after: int = 0, take: int = 1000) -> list[LogLine]:
    rows = await tx.rows(SQL.read_logs, {"task_id": id, "org_id": org, "after": after, "take": take})
    return [LogLine(*row) for row in rows]


async def dead(
    tx: Tx, *, org: uuid.UUID, before: uuid.UUID | None = None, take: int = 100, kind: str | None = None,
    queue: str | None = None,
) -> list[TaskView]:  # fmt: skip
    """The dead letter list, newest first; `before` is the last id of the page before."""
    arguments = {"org_id": org, "before": before or ids.NEWEST, "take": take, "kind": kind, "queue": queue}
    return [view(row) for row in await tx.rows(SQL.list_dead, arguments)]


async def redrive(tx: Tx, *, org: uuid.UUID, ids: Sequence[uuid.UUID], actor: str) -> list[uuid.UUID]:
    """Queues finished, unsuccessful tasks again, attempts counted anew; answers those that were."""
    rows = await tx.rows(SQL.redrive, {"org_id": org, "ids": list(ids)})
    crash.point("redrive: before commit")
    if rows:
        done = [str(id) for id, _ in rows]
        await record.record_many(tx, org_id=org, actor=actor, action="task.redrive", object_type="task", object_ids=done)
        await orphans.wake(tx, queues=sorted({queue for _, queue in rows}))
    return [row[0] for row in rows]


async def discard(tx: Tx, *, org: uuid.UUID, ids: Sequence[uuid.UUID], actor: str) -> list[uuid.UUID]:
    """Takes tasks off the dead letter list."""
    rows = await tx.rows(SQL.discard_dead, {"org_id": org, "ids": list(ids)})
    if rows:
        done = [str(id) for (id,) in rows]
        await record.record_many(tx, org_id=org, actor=actor, action="task.discard", object_type="task", object_ids=done)
    return [row[0] for row in rows]


async def stats(tx: Tx, *, org: uuid.UUID) -> list[QueueStats]:
    """The first hundred queues of an org by name; nothing is counted further than `counts.CAP`."""
    found = await counts.queues(tx, org=org, names=await counts.names(tx, org=org, take=100))
    return [
        QueueStats(
            one.queue, one.ready.count, one.scheduled.count, one.blocked.count, one.running.count, one.oldest_ready
        )
        for one in found
        if one.ready.count or one.scheduled.count or one.blocked.count or one.running.count
    ]


async def queue_settings(tx: Tx, *, org: uuid.UUID, queue: str) -> QueueSettings:
    """What was said about a queue; the row is locked for whoever changes it next."""
    row = await tx.row(SQL.get_queue, {"org_id": org, "name": names.check(queue, what="queue")})
    if row is None:
        return QueueSettings()
    _org, _name, paused, max_running, rate_limit, rate_period, rate_burst = row
    return QueueSettings(
        paused=paused, max_running=max_running, rate_limit=rate_limit, rate_period=rate_period, rate_burst=rate_burst
    )


async def set_queue(tx: Tx, *, org: uuid.UUID, queue: str, settings: QueueSettings, actor: str) -> None:
    """Pauses, resumes or limits a queue of an org, or of every org (`ids.EVERY_ORG`)."""
    before = await queue_settings(tx, org=org, queue=queue)
    await tx.run(SQL.set_queue, {"org_id": org, "name": queue, **dataclasses.asdict(settings)})
    if settings.max_running is not None:
        await tx.run(SQL.count_running_as_limited, {"org_id": org, "queue": queue})
    await record.record(
        tx, org_id=org, actor=actor, action="queue.set", object_type="queue", object_id=queue,
        before=_plain(before), after=_plain(settings),
    )  # fmt: skip
    await orphans.wake(tx, queues=[queue])


def _plain(settings: QueueSettings) -> dict[str, Any]:
    period = settings.rate_period
    return {**dataclasses.asdict(settings), "rate_period": None if period is None else period.total_seconds()}
