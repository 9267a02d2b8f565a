"""What a page about many jobs shows besides the jobs: how they went lately, and when they are to fire."""

import datetime as dt
import uuid
from typing import Annotated, Any

import msgspec

from weft.api.operation import Call, Operation
from weft.jobs import executions
from weft.jobs.executions import Filter, Place
from weft.jobs.model import ExecutionStatus
from weft.queue import minutes

_JOBS = 500
"""Jobs that are looked at for the times to come: those that are due first."""


class ResultsQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Of which jobs, and how many results of each."""

    id: Annotated[
        tuple[uuid.UUID, ...],
        msgspec.Meta(max_length=executions.RESULTS, description="May be given several times; the 100 newest if left out."),
    ] = ()  # fmt: skip
    n: Annotated[int, msgspec.Meta(ge=1, le=50)] = 20


class Results(msgspec.Struct):
    """By job: how its last executions went, oldest first. A job without any is not there."""

    items: dict[str, list[ExecutionStatus]]


class UpcomingQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How far to look."""

    hours: Annotated[float, msgspec.Meta(gt=0, le=168)] = 24
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 500


class Upcoming(msgspec.Struct):
    """One time of a job."""

    job_id: uuid.UUID
    name: str
    at: dt.datetime


class Calendar(msgspec.Struct):
    """What is to come, earliest first; `truncated`: there is more than is shown."""

    items: list[Upcoming]
    truncated: bool


async def results(call: Call[None, ResultsQuery]) -> Results:
    async with call.tx() as tx:
        found = await executions.results(tx, org=call.principal.org, jobs=call.query.id, take=call.query.n)
    return Results({str(job): statuses for job, statuses in found.items()})


async def upcoming(call: Call[None, UpcomingQuery]) -> Calendar:
    query = call.query
    async with call.tx() as tx:
        now = await minutes.now(tx)
        jobs = await executions.jobs(
            tx, org=call.principal.org, filter=Filter(status="ACTIVE"), sort="next_run_time", place=Place(), take=_JOBS + 1
        )
    end = now + dt.timedelta(hours=query.hours)
    found: list[Upcoming] = []
    cut = len(jobs) > _JOBS
    for job in jobs[:_JOBS]:
        if job.due_at is None or job.due_at > end:
            break
        times = [at for at in executions.preview(job, now=now, count=query.limit + 1) if at <= end]
        cut = cut or len(times) > query.limit
        found += [Upcoming(job.id, job.name, at) for at in times]
    found.sort(key=lambda one: (one.at, one.name))
    return Calendar(found[: query.limit], cut or len(found) > query.limit)


_ID = "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f"
_UPCOMING: dict[str, Any] = {"job_id": _ID, "name": "nightly report", "at": "2026-01-05T02:00:00Z"}

OPERATIONS = (
    Operation(
        "GET", "/v1/jobs/results", action="execution.read", handler=results, summary="How jobs went lately",
        query=ResultsQuery, answer=Results, example={"n": 2}, answer_example={"items": {_ID: ["FAILED", "COMPLETED"]}},
    ),
    Operation(
        "GET", "/v1/jobs/upcoming", action="job.read", handler=upcoming, summary="What the clock is to start",
        description="The times of the jobs that are due first, at most 500 of them.", query=UpcomingQuery, answer=Calendar,
        example={"hours": 12}, answer_example={"items": [_UPCOMING], "truncated": False},
    ),
)  # fmt: skip
