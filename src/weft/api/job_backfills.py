"""Backfills: past times of a CRON job, made little by little."""

import datetime as dt
import uuid
from typing import Annotated

import msgspec

from weft.api import fields, pages
from weft.api.operation import Answer, Call, Operation
from weft.jobs import backfill as kernel
from weft.jobs import manage
from weft.jobs.model import Backfill as KernelBackfill
from weft.jobs.model import BackfillState


class NewBackfill(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """From when to when, both within, and how many of its executions may be unfinished at a time."""

    start: fields.Instant
    end: fields.Instant
    max_active: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1


class Backfill(msgspec.Struct, kw_only=True):
    """How far a backfill is."""

    backfill_id: uuid.UUID
    job_id: uuid.UUID
    start: dt.datetime
    end: dt.datetime
    max_active: int
    status: BackfillState
    """COMPLETED: all its executions are made; they may still run."""
    next_time: dt.datetime | None
    executions: int
    """Made so far."""
    created_at: dt.datetime
    updated_at: dt.datetime


class BackfillPlace(msgspec.Struct, frozen=True):
    """Where a page of backfills ended."""

    id: uuid.UUID


async def create(call: Call[NewBackfill, None]) -> Answer:
    async with call.tx() as tx:
        made = await kernel.create(
            tx, job_id=call.id, org=call.principal.org, start=call.body.start, end=call.body.end,
            max_active=call.body.max_active, actor=call.principal.actor,
        )  # fmt: skip
    return Answer(body=_shown(made))


async def page(call: Call[None, pages.Paging]) -> pages.Page[Backfill]:
    place = call.query.place(BackfillPlace)
    org = call.principal.org
    async with call.tx() as tx:
        await manage.get(tx, id=call.id, org=org)
        found = await kernel.page(
            tx, job_id=call.id, org=org, before=place.id if place else None, take=call.query.limit + 1
        )
    return pages.page(found, limit=call.query.limit, show=_shown, place=lambda one: BackfillPlace(one.id))


async def cancel(call: Call[None, None]) -> Backfill:
    async with call.tx() as tx:
        return _shown(await kernel.cancel(tx, id=call.id, org=call.principal.org, actor=call.principal.actor))


def _shown(one: KernelBackfill) -> Backfill:
    return Backfill(
        backfill_id=one.id, job_id=one.job_id, start=one.start_time, end=one.end_time, max_active=one.max_active,
        status=one.state, next_time=one.next_time, executions=one.made, created_at=one.created_at,
        updated_at=one.updated_at,
    )  # fmt: skip


_EXAMPLE = {
    "backfill_id": "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f", "job_id": "550e8400-e29b-41d4-a716-446655440000",
    "start": "2024-01-01T00:00:00Z", "end": "2024-01-07T00:00:00Z", "max_active": 2, "status": "RUNNING",
    "next_time": "2024-01-01T14:00:00Z", "executions": 0, "created_at": "2024-01-15T10:30:00Z",
    "updated_at": "2024-01-15T10:30:00Z",
}  # fmt: skip

OPERATIONS = (
    Operation(
        "POST", "/v1/jobs/{id:uuid}/backfills", action="job.trigger", handler=create,
        summary="Make executions for past times",
        description="An execution for each time of a CRON job from `start` to `end`, whether there was one or not, never "
        "more than `max_active` of them unfinished.",
        body=NewBackfill, answer=Backfill, status=201, errors=("JOB_NOT_FOUND",), idempotent=True,
        example={"start": "2024-01-01T00:00:00Z", "end": "2024-01-07T00:00:00Z", "max_active": 2}, answer_example=_EXAMPLE,
    ),
    Operation(
        "GET", "/v1/jobs/{id:uuid}/backfills", action="job.read", handler=page, summary="A job's backfills, newest first",
        query=pages.Paging, answer=pages.Page[Backfill], errors=("JOB_NOT_FOUND",),
        answer_example={"items": [_EXAMPLE], "next_cursor": None},
    ),
    Operation(
        "POST", "/v1/backfills/{id:uuid}/cancel", action="job.trigger", handler=cancel, summary="Make no more of a backfill",
        description="What was made goes on. One that is over stays as it is.", answer=Backfill, errors=("NOT_FOUND",),
        answer_example={**_EXAMPLE, "status": "CANCELLED", "next_time": None},
    ),
)  # fmt: skip
