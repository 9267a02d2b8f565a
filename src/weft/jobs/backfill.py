"""Past times of a CRON job, made little by little: never more unfinished executions at a time than was said.

A backfill is a row with the next time to make. The leader's chore makes some, and moves it on, in one transaction; the
times that were made have keys of the backfill's own, so that what crashed in between is made once.
"""

import datetime as dt
import logging
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from weft.base import errors, ids
from weft.cron import schedule, zones
from weft.db import statements
from weft.db.tx import Tx
from weft.jobs import manage, scheduler
from weft.jobs.model import Backfill
from weft.journal import record

SQL = statements.load("weft.jobs")

log = logging.getLogger("weft.jobs")

BATCH = 100
"""Backfills looked at in one go."""

LONGEST = 100_000
"""Times that one backfill may have."""

_LITTLE = dt.timedelta(microseconds=1)


async def create(
    tx: Tx, *, job_id: uuid.UUID, org: uuid.UUID, start: dt.datetime, end: dt.datetime, max_active: int, actor: str
) -> Backfill:
    """Begins one, for the times from `start` to `end`, both within."""
    job, now = await manage.lock(tx, id=job_id, org=org)
    if job.cron_expression is None:
        raise errors.InvalidInput(f"only CRON jobs have past times; this one is {job.job_type}: trigger it instead")
    if start.tzinfo is None or end.tzinfo is None or end < start:
        raise errors.InvalidInput("start and end must be times with their zones, and the end not before the start")
    if end > now:
        raise errors.InvalidInput("the end must not be in the future: what is to come fires by itself")
    if not 1 <= max_active <= 1000:
        raise errors.InvalidInput(f"max_active {max_active} must be 1 to 1000")
    times = _times(job.cron_expression, job.timezone, start.astimezone(dt.UTC), end.astimezone(dt.UTC))
    first = next(times, None)
    if first is None:
        raise errors.InvalidInput("the job has no time between start and end")
    if sum(1 for _ in zip(times, range(LONGEST), strict=False)) >= LONGEST:
        raise errors.InvalidInput(f"there are more than {LONGEST:,} times between start and end; take a part at a time")
    arguments = {
        "org_id": org, "job_id": job_id, "start_time": start, "end_time": end, "max_active": max_active,
        "state": "RUNNING", "next_time": first, "actor": actor,
    }  # fmt: skip
    row = await tx.row(SQL.insert_backfill, arguments)
    assert row is not None
    made = Backfill(*row)
    await tx.rows(SQL.tell_backfiller)
    await record.record(
        tx, org_id=org, actor=actor, action="job.backfill", object_type="job", object_id=str(job_id),
        after={"backfill_id": made.id, "start": start, "end": end, "max_active": max_active},
    )  # fmt: skip
    return made


async def page(
    tx: Tx, *, job_id: uuid.UUID, org: uuid.UUID, before: uuid.UUID | None = None, take: int = 50
) -> list[Backfill]:
    """A job's backfills, newest first."""
    arguments = {"job_id": job_id, "org_id": org, "before": before or ids.NEWEST, "take": take}
    return [Backfill(*row) for row in await tx.rows(SQL.list_backfills, arguments)]


async def get(tx: Tx, *, id: uuid.UUID, org: uuid.UUID) -> Backfill:
    row = await tx.row(SQL.get_backfill, {"id": id, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no backfill {id}")
    return Backfill(*row)


async def cancel(tx: Tx, *, id: uuid.UUID, org: uuid.UUID, actor: str) -> Backfill:
    """Makes no more of its times; what was made goes on. One that is over stays as it is."""
    row = await tx.row(SQL.cancel_backfill, {"id": id, "org_id": org})
    if row is None:
        return await get(tx, id=id, org=org)
    await record.record(
        tx, org_id=org, actor=actor, action="job.backfill_cancel", object_type="backfill", object_id=str(id)
    )
    return Backfill(*row)


class Backfiller:
    """Of one term: goes around all that run, a batch at a time."""

    def __init__(self) -> None:
        self._after = uuid.UUID(int=0)

    async def once(self, tx: Tx) -> int:
        """Makes what there is room for; answers how many executions that was."""
        rows = await tx.rows(SQL.running_backfills, {"after": self._after, "take": BATCH})
        self._after = rows[-1][0] if len(rows) == BATCH else uuid.UUID(int=0)
        return await _carefully(tx, rows)


async def _carefully(tx: Tx, rows: Sequence[Sequence[Any]]) -> int:
    """Goes on with all of them; if one cannot, with each by itself, and that one is cancelled."""
    made = 0
    try:
        async with tx.savepoint():
            for *columns, active, cron, zone, status in rows:
                made += await _go_on(tx, Backfill(*columns), active=active, cron=cron, zone=zone, status=status)
        return made
    except (errors.Unavailable, errors.MigrationError):
        raise
    except errors.WeftError as error:
        if len(rows) > 1:
            return sum([await _carefully(tx, [row]) for row in rows])
        id, org = rows[0][:2]
        log.warning("backfill %s is cancelled: %s", id, error)
        await tx.run(SQL.cancel_backfill, {"id": id, "org_id": org})
        await record.record(
            tx, org_id=org, actor="scheduler", action="job.backfill_cancel", object_type="backfill", object_id=str(id),
            after={"error": {"code": error.code, "message": error.message}},
        )  # fmt: skip
        return 0


async def _go_on(tx: Tx, one: Backfill, *, active: int, cron: str | None, zone: str, status: str) -> int:
    if status == "DELETED" or cron is None or one.next_time is None:
        await tx.run(SQL.move_backfill, {"id": one.id, "next_time": None, "made": 0, "state": "CANCELLED"})
        return 0
    room = one.max_active - active
    if room <= 0:
        return 0
    times = _times(cron, zone, one.next_time, one.end_time)
    wanted = [time for _, time in zip(range(room), times, strict=False)]
    following = next(times, None)
    made = await scheduler.insert(
        tx, [(one.job_id, time, f"backfill:{one.id}:{time.isoformat()}", None, None) for time in wanted],
        trigger="backfill", backfill=one.id,
    )  # fmt: skip
    state = "RUNNING" if following is not None else "COMPLETED"
    await tx.run(SQL.move_backfill, {"id": one.id, "next_time": following, "made": made, "state": state})
    return made


def _times(cron: str, zone: str, start: dt.datetime, end: dt.datetime) -> Iterator[dt.datetime]:
    return schedule.between(schedule.parse(cron), zones.zone(zone), start - _LITTLE, end)
