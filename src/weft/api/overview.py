"""`/v1/overview`: how an org is doing, at one glance and over a range of time."""

import datetime as dt
import uuid
from typing import Annotated, Any

import msgspec

from weft.api import fields
from weft.api.operation import Call, Operation
from weft.base import errors
from weft.cluster import nodes
from weft.db.tx import Tx
from weft.jobs import lag
from weft.queue import counts, minutes

_LONGEST = dt.timedelta(days=60)
_QUEUES = 50
"""Queues whose oldest task is looked for."""

Points = Annotated[int, msgspec.Meta(ge=1, le=500, description="Steps of the range. Each is a whole number of minutes.")]


class OverviewQuery(
    msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename={"since": "from", "until": "to"}
):  # fmt: skip
    """Which range: the last hour if left out."""

    since: fields.Instant | None = None
    until: fields.Instant | None = None
    points: Points = 60
    queue: fields.Name | None = None
    """Only what ended in this queue; kept for three days."""


class Waiting(msgspec.Struct, kw_only=True):
    """What waits and runs now; nothing is counted further than 10,000."""

    ready: int
    scheduled: int
    blocked: int
    running: int
    oldest_ready: float | None
    """Seconds since the oldest became due; null if none is ready."""


class Workers(msgspec.Struct, kw_only=True):
    """The processes that work for the org."""

    active: int
    draining: int
    dead: int
    slots: int
    """Tasks that the active ones run at a time."""
    running: int


class Overview(msgspec.Struct, kw_only=True, rename={"since": "from", "until": "to"}):
    """The range as steps of `step` seconds, `points` or one more: entry i is of [from + i·step, from + (i + 1)·step)."""

    since: dt.datetime
    until: dt.datetime
    step: float
    completed: list[int]
    failed: list[int]
    """`failed` and `timed_out`."""
    cancelled: list[int]
    waiting: list[int]
    """The most that was seen waiting in the step; it is looked at once a minute."""
    running: list[int]
    oldest: list[float]
    """For how many seconds the oldest of them had waited, at most."""
    queues: Waiting
    schedule_lag: float
    """Seconds by which the job that is most overdue is late; 0 if none is."""
    late_jobs: int
    """Jobs that are more than five seconds late."""
    workers: Workers
    dead: int
    """On the dead letter list; not counted further than 10,000."""


async def overview(call: Call[None, OverviewQuery]) -> Overview:
    query = call.query
    async with call.tx() as tx:
        now = await minutes.now(tx)
        until = query.until or now
        since = query.since or until - dt.timedelta(hours=1)
        if not since < until or until - since > _LONGEST:
            raise errors.InvalidInput("`from` must be before `to`, by at most 60 days")
        return await read(
            tx, org=call.principal.org, since=since, until=until, points=query.points, queue=query.queue or "", now=now
        )


async def read(
    tx: Tx, *, org: uuid.UUID, since: dt.datetime, until: dt.datetime, points: int, now: dt.datetime, queue: str = ""
) -> Overview:
    """The numbers of a range, whose steps are made whole minutes."""
    since, step, points = steps(since, until, points=points)
    ended = await minutes.ended(tx, org=org, since=since, step=step, points=points, queue=queue)
    depths = await minutes.depths(tx, org=org, since=since, step=step, points=points, queue=queue)
    states = await counts.by_state(tx, org=org)
    queues = await counts.queues(tx, org=org, names=await counts.names(tx, org=org, take=_QUEUES))
    oldest = max((one.oldest_ready for one in queues if one.ready.count), default=None)
    if since <= now < since + step * points:
        # nobody has looked in this minute yet
        place, here = (now - since) // step, [one for one in queues if queue in ("", one.queue)]
        depths.ready[place] = max(depths.ready[place], sum(one.ready.count for one in here))
        depths.running[place] = max(depths.running[place], sum(one.running.count for one in here))
        depths.oldest[place] = round(max([depths.oldest[place], *(one.oldest_ready for one in here)]), 1)
    late = await lag.look(tx, org=org)
    workers = await nodes.workers(tx, org=org)
    return Overview(
        since=since, until=since + step * points, step=step.total_seconds(), completed=ended.completed,
        failed=ended.failed, cancelled=ended.cancelled, waiting=depths.ready, running=depths.running, oldest=depths.oldest,
        schedule_lag=late.seconds, late_jobs=late.jobs,
        dead=states["dead"].count,
        queues=Waiting(
            ready=states["ready"].count, scheduled=states["scheduled"].count, blocked=states["blocked"].count,
            running=states["running"].count, oldest_ready=oldest,
        ),
        workers=Workers(
            active=workers.active, draining=workers.draining, dead=workers.dead, slots=workers.slots,
            running=states["running"].count,
        ),
    )  # fmt: skip


def steps(since: dt.datetime, until: dt.datetime, *, points: int) -> tuple[dt.datetime, dt.timedelta, int]:
    """The range in whole minutes: where it begins, how long a step is, and how many there are; it holds all of it.

    One step more than was asked for, if the range begins within a minute.
    """
    first = since.replace(second=0, microsecond=0)
    step = max(minutes.MINUTE, -(-(until - since) // points // minutes.MINUTE) * minutes.MINUTE)
    return first, step, -(-(until - first) // step)


_EXAMPLE: dict[str, Any] = {
    "from": "2026-01-05T09:00:00Z", "to": "2026-01-05T09:03:00Z", "step": 60.0, "completed": [120, 118, 40],
    "failed": [0, 2, 0], "cancelled": [0, 0, 0], "waiting": [0, 40, 3], "running": [5, 20, 5], "oldest": [0.0, 3.2, 0.4],
    "queues": {"ready": 3, "scheduled": 12, "blocked": 0, "running": 5, "oldest_ready": 0.4}, "schedule_lag": 0.0,
    "late_jobs": 0, "workers": {"active": 2, "draining": 0, "dead": 0, "slots": 40, "running": 5}, "dead": 1,
}  # fmt: skip

OPERATIONS = (
    Operation(
        "GET", "/v1/overview", action="task.read", handler=overview, summary="How things are, now and over a range",
        description="What ended is counted per minute, by the leader, when the minute is over; the minute or two before "
        "now are counted when you ask.",
        query=OverviewQuery, answer=Overview, example={"points": 3}, answer_example=_EXAMPLE,
    ),
)  # fmt: skip
