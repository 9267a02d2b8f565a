"""Looking at jobs and executions in lists, and at times to come."""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Literal

from weft.base import errors, ids
from weft.cron import misfire
from weft.db import statements
from weft.db.tx import Tx
from weft.jobs import definition
from weft.jobs.model import Execution, ExecutionStatus, Job, JobType, Status, Trigger, job

SQL = statements.load("weft.jobs")

WALK = 5000
"""Executions that one page looks at."""

LATEST = dt.datetime(9999, 1, 1, tzinfo=dt.UTC)
EARLIEST = dt.datetime(1, 1, 1, tzinfo=dt.UTC)
_MOST_TIMES = 1000
RESULTS = 100
"""Jobs whose last results are told at once."""

Sort = Literal["-created_at", "created_at", "name", "next_run_time"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Filter:
    """Which jobs; None: any that is not deleted."""

    status: Status | None = None
    job_type: JobType | None = None
    tag: str | None = None
    prefix: str | None = None


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a page of jobs ended."""

    id: uuid.UUID | None = None
    name: str = ""
    time: dt.datetime = EARLIEST


async def jobs(tx: Tx, *, org: uuid.UUID, filter: Filter, sort: Sort, place: Place, take: int) -> list[Job]:
    """A page of jobs."""
    if sort == "name" and filter.status == "DELETED":
        raise errors.InvalidInput("deleted jobs have no name to sort by: it is free for others; sort by created_at")
    arguments = {
        "org_id": org, "take": take, "before": place.id or ids.NEWEST, "after": place.id or uuid.UUID(int=0),
        "after_name": place.name, "after_time": place.time, **dataclasses.asdict(filter),
    }  # fmt: skip
    statement = {
        "-created_at": SQL.newest_jobs, "created_at": SQL.oldest_jobs, "name": SQL.jobs_by_name,
        "next_run_time": SQL.jobs_by_time,
    }[sort]  # fmt: skip
    return [job(tuple(row)) for row in await tx.rows(statement, arguments)]


async def get(tx: Tx, *, id: uuid.UUID, org: uuid.UUID) -> Execution:
    row = await tx.row(SQL.get_execution, {"id": id, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no execution {id}")
    return Execution(*row)


async def origin(tx: Tx, id: uuid.UUID) -> Trigger | None:
    """What made an execution: its schedule, somebody, a backfill. None: it is no execution."""
    found: Trigger | None = await tx.value(SQL.origin, {"id": id})
    return found


async def page(
    tx: Tx, *, job_id: uuid.UUID, org: uuid.UUID, status: ExecutionStatus | None, before: tuple[dt.datetime, str] | None,
    limit: int,
) -> tuple[list[Execution], tuple[dt.datetime, str] | None]:  # fmt: skip
    """Executions of a job, latest time first, and where the next page begins (None: there is none)."""
    at, key = before or (LATEST, "")
    arguments = {
        "job_id": job_id, "org_id": org, "before": at, "before_key": key, "walk": WALK, "status": status, "take": limit + 1,
    }  # fmt: skip
    found = [Execution(*row) for row in await tx.rows(SQL.list_executions, arguments)]
    if len(found) > limit:
        last = found[limit - 1]
        return found[:limit], (last.scheduled_time, last.key)
    end = await tx.row(SQL.walked, {**arguments})
    return found, None if end is None else (end[0], end[1])


async def search(
    tx: Tx, *, org: uuid.UUID, text: str, low: uuid.UUID, high: uuid.UUID, take: int
) -> list[tuple[uuid.UUID, str, Status]]:
    """Id, name and status of jobs whose name holds a text or whose id lies in a range."""
    rows = await tx.rows(SQL.search_jobs, {"org_id": org, "text": text, "low": low, "high": high, "take": take})
    return [(row[0], row[1], row[2]) for row in rows]


async def results(
    tx: Tx, *, org: uuid.UUID, jobs: Sequence[uuid.UUID], take: int
) -> dict[uuid.UUID, list[ExecutionStatus]]:
    """How the last executions of jobs went, oldest first; of the newest jobs if none are named."""
    wanted = list(jobs) or [row[0] for row in await tx.rows(SQL.newest_job_ids, {"org_id": org, "take": RESULTS})]
    found: dict[uuid.UUID, list[ExecutionStatus]] = {}
    for job_id, status in await tx.rows(SQL.last_results, {"ids": wanted, "org_id": org, "take": take}):
        found.setdefault(job_id, []).append(status)
    return found


async def sign(tx: Tx, *, org: uuid.UUID) -> list[str]:
    """Something that is different when the list of jobs, or how they went, may look different."""
    row = await tx.row(SQL.sign_of_jobs, {"org_id": org, "most": WALK})
    assert row is not None  # it only counts
    return [str(value) for value in row]


async def now(tx: Tx) -> dt.datetime:
    found: dt.datetime = await tx.value(SQL.present)
    return found


def preview(one: Job, *, now: dt.datetime, count: int) -> list[dt.datetime]:
    """The next times of a job, as if it were active."""
    wanted = definition.read(definition.said(one))
    if one.run_at is not None:
        wanted = dataclasses.replace(wanted, run_at=one.run_at)
    when = definition.when(wanted, id=str(one.id), now=now)
    if one.job_type != "CRON" and one.status in ("COMPLETED", "DELETED"):
        return []
    return times(when, now=now, count=count)


def times(when: misfire.When, *, now: dt.datetime, count: int) -> list[dt.datetime]:
    """The first times from now on."""
    found: list[dt.datetime] = []
    following = misfire.first(when, now)
    while following is not None and len(found) < min(count, _MOST_TIMES):
        found.append(following)
        following = None if isinstance(when.times, misfire.Once) else misfire.first(when, following)
    return found
