"""`/v1/jobs`: create, look, change, pause, resume, trigger, delete; the next times. As seed 002 has them."""

import datetime as dt
import time
import uuid
from typing import Annotated, Any, Literal

import msgspec

from weft.api import fields, job_shape, pages
from weft.api.job_shape import Execution, Job, RetryConfig
from weft.api.operation import Answer, Call, Operation
from weft.api.shown import given
from weft.base import errors
from weft.cluster import leaders
from weft.cron import misfire, schedule, words
from weft.cron.misfire import Misfire
from weft.jobs import executions, manage
from weft.jobs import trigger as triggers
from weft.jobs.executions import Filter, Place
from weft.jobs.model import Job as KernelJob
from weft.jobs.model import JobType, Overlap, Status

UNSEEN = dt.timedelta(seconds=30)
"""How long nobody may have led before nothing more is taken on."""

Cron = Annotated[str, msgspec.Meta(min_length=1, max_length=schedule.MAX_LENGTH, description="Five fields, or @daily etc.")]
Zone = Annotated[str, msgspec.Meta(min_length=1, max_length=50, description="An IANA name.")]
Tags = Annotated[list[fields.Name], msgspec.Meta(max_length=50)]
Payload = Annotated[
    dict[str, Any],
    msgspec.Meta(
        min_length=1,
        description="What to do: `endpoint` (an HTTP call), `task` and `args`, `command`, `dag`, `workflow` or `flow`.",
    ),
]
Priority = Annotated[int, msgspec.Meta(ge=0, le=9, description="0 (last) to 9 (first).")]
CatchUp = Annotated[int, msgspec.Meta(ge=1, le=misfire.MAX_CATCH_UP)]
Jitter = Annotated[float, msgspec.Meta(ge=0, le=86_400)]
Delay = Annotated[float, msgspec.Meta(ge=0, le=315_360_000, description="Seconds from now.")]


class NewJob(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A job to create. CRON needs `cron_expression`, ONE_TIME `run_at`, DELAYED `delay_seconds`."""

    name: fields.Name
    job_type: JobType
    payload: Payload
    cron_expression: Cron | None = None
    timezone: Zone = "UTC"
    run_at: fields.Instant | None = None
    delay_seconds: Delay | None = None
    retry_config: RetryConfig | None = None
    timeout_seconds: fields.Span | None = None
    tags: Tags = []
    priority: Priority = 5
    queue: fields.Name = "default"
    misfire: Misfire = "fire_once"
    catch_up_limit: CatchUp = 100
    overlap: Overlap = "allow"
    jitter_seconds: Jitter = 0.0
    start_at: fields.Instant | None = None
    end_at: fields.Instant | None = None


class JobChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to change; what is left out stays. `version` is the one you read, here or in If-Match."""

    version: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] | msgspec.UnsetType = msgspec.UNSET
    name: fields.Name | msgspec.UnsetType = msgspec.UNSET
    job_type: JobType | msgspec.UnsetType = msgspec.UNSET
    payload: Payload | msgspec.UnsetType = msgspec.UNSET
    cron_expression: Cron | msgspec.UnsetType | None = msgspec.UNSET
    timezone: Zone | msgspec.UnsetType = msgspec.UNSET
    run_at: fields.Instant | msgspec.UnsetType | None = msgspec.UNSET
    delay_seconds: Delay | msgspec.UnsetType | None = msgspec.UNSET
    retry_config: RetryConfig | msgspec.UnsetType = msgspec.UNSET
    timeout_seconds: fields.Span | msgspec.UnsetType | None = msgspec.UNSET
    tags: Tags | msgspec.UnsetType = msgspec.UNSET
    priority: Priority | msgspec.UnsetType = msgspec.UNSET
    queue: fields.Name | msgspec.UnsetType = msgspec.UNSET
    misfire: Misfire | msgspec.UnsetType = msgspec.UNSET
    catch_up_limit: CatchUp | msgspec.UnsetType = msgspec.UNSET
    overlap: Overlap | msgspec.UnsetType = msgspec.UNSET
    jitter_seconds: Jitter | msgspec.UnsetType = msgspec.UNSET
    start_at: fields.Instant | msgspec.UnsetType | None = msgspec.UNSET
    end_at: fields.Instant | msgspec.UnsetType | None = msgspec.UNSET


class JobQuery(pages.Paging, forbid_unknown_fields=True, kw_only=True):
    """Which jobs; without a status those that are not deleted. `name` is the beginning of one."""

    status: Status | None = None
    type: JobType | None = None
    tag: fields.Name | None = None
    name: fields.Key | None = None
    sort: Annotated[
        Literal["-created_at", "created_at", "name", "next_run_time"],
        msgspec.Meta(description="`next_run_time`: only jobs that wait for one."),
    ] = "-created_at"


class JobPlace(msgspec.Struct, frozen=True):
    """Where a page of jobs ended."""

    id: uuid.UUID
    name: str
    time: dt.datetime


class PreviewQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How many times to show."""

    n: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 10


class Preview(msgspec.Struct, kw_only=True):
    """When it fires next, and that in words."""

    times: list[dt.datetime]
    words: str | None
    timezone: str


class TriggerWish(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An execution now. `payload` is laid over the job's own; a key that was used before answers what it made."""

    payload: dict[str, Any] | None = None
    idempotency_key: fields.Key | None = None


async def create(call: Call[NewJob, None]) -> Answer:
    await must_be_led(call)
    wanted = msgspec.structs.asdict(call.body)
    if call.body.retry_config is not None:
        wanted["retry_config"] = msgspec.structs.asdict(call.body.retry_config)
    async with call.tx() as tx:
        made = await manage.create(tx, wanted, org=call.principal.org, actor=call.principal.actor)
    return _answer(made, headers={"location": f"/v1/jobs/{made.id}"})


async def page(call: Call[None, JobQuery]) -> pages.Page[Job]:
    query = call.query
    place = query.place(JobPlace)
    async with call.tx() as tx:
        found = await executions.jobs(
            tx, org=call.principal.org, sort=query.sort, take=query.limit + 1,
            filter=Filter(status=query.status, job_type=query.type, tag=query.tag, prefix=query.name),
            place=Place() if place is None else Place(place.id, place.name, place.time),
        )  # fmt: skip
    return pages.page(
        found, limit=query.limit, show=job_shape.job,
        place=lambda one: JobPlace(one.id, one.name, one.due_at or executions.EARLIEST),
    )  # fmt: skip


async def get(call: Call[None, None]) -> Answer:
    async with call.tx() as tx:
        return _answer(await manage.get(tx, id=call.id, org=call.principal.org))


async def change(call: Call[JobChange, None]) -> Answer:
    wanted = given(call.body)
    if isinstance(wanted.get("retry_config"), RetryConfig):
        wanted["retry_config"] = msgspec.structs.asdict(wanted["retry_config"])
    version = wanted.pop("version", None)
    told = _if_match(call.headers.get("if-match"))
    if version is None and told is None:
        raise errors.InvalidInput("say which version you change: `version` in the body, or If-Match")
    if version is not None and told is not None and version != told:
        raise errors.InvalidInput("`version` and If-Match name different versions; give one of them")
    async with call.tx() as tx:
        changed = await manage.change(
            tx, wanted, id=call.id, org=call.principal.org, actor=call.principal.actor, version=version or told
        )
    return _answer(changed)


async def pause(call: Call[None, None]) -> Answer:
    async with call.tx() as tx:
        return _answer(await manage.pause(tx, id=call.id, org=call.principal.org, actor=call.principal.actor))


async def resume(call: Call[None, None]) -> Answer:
    async with call.tx() as tx:
        return _answer(await manage.resume(tx, id=call.id, org=call.principal.org, actor=call.principal.actor))


async def delete(call: Call[None, None]) -> None:
    async with call.tx() as tx:
        await manage.delete(tx, id=call.id, org=call.principal.org, actor=call.principal.actor)


async def trigger(call: Call[TriggerWish, None]) -> Answer:
    await must_be_led(call)
    org = call.principal.org
    async with call.tx() as tx:
        id, new = await triggers.trigger(
            tx, id=call.id, org=org, actor=call.principal.actor, payload=call.body.payload, key=call.body.idempotency_key
        )
        made = await executions.get(tx, id=id, org=org)
    headers = {"location": f"/v1/executions/{id}"}
    return Answer(body=job_shape.execution(made), status=201 if new else 200, headers=headers)


async def preview(call: Call[None, PreviewQuery]) -> Preview:
    async with call.tx() as tx:
        job, now = await manage.look(tx, id=call.id, org=call.principal.org)
    said = None if job.cron_expression is None else words.describe(schedule.parse(job.cron_expression))
    return Preview(times=executions.preview(job, now=now, count=call.query.n), words=said, timezone=job.timezone)


async def must_be_led(call: Call[Any, Any]) -> None:
    """SchedulerUnavailable if nobody led lately: what is taken on now would only wait. An application in one process is no
    promise to anybody else, so there it may; and a server that has just begun cannot know yet."""
    if call.service.local is not None:
        return
    # who leads is the engine's business, not the tenant's
    async with call.database.once() as tx:
        silence = await leaders.silence(tx, role=leaders.SCHEDULER)
    if silence is None:
        silence = dt.timedelta(seconds=time.monotonic() - call.service.began)
    if silence > UNSEEN:
        raise errors.SchedulerUnavailable(
            f"no scheduler was seen for {UNSEEN.total_seconds():.0f} s; start a server or a worker that may lead"
        )


def _answer(job: KernelJob, *, headers: dict[str, str] | None = None) -> Answer:
    return Answer(body=job_shape.job(job), headers={"etag": f'"{job.version}"', **(headers or {})})


def _if_match(header: str | None) -> int | None:
    if header is None:
        return None
    plain = header.strip().removeprefix("W/").strip('"')
    if not (plain.isascii() and plain.isdecimal() and 0 < len(plain) < 10):
        raise errors.InvalidInput(f"If-Match must be the version you read, such as \"3\", not {header[:40]!r}")
    return int(plain)


_NEW = {
    name: job_shape.JOB[name]
    for name in ("name", "job_type", "cron_expression", "timezone", "payload", "retry_config", "timeout_seconds", "tags")
}
_BAD = ("INVALID_CRON", "INVALID_TIMEZONE", "INVALID_NAME", "INVALID_PAYLOAD")
_ONE = ("JOB_NOT_FOUND",)

OPERATIONS = (
    Operation(
        "POST", "/v1/jobs", action="job.write", handler=create, summary="Create a job",
        description="503 SCHEDULER_UNAVAILABLE if no scheduler was seen for 30 seconds.",
        body=NewJob, answer=Job, status=201, idempotent=True, example=_NEW, answer_example=job_shape.JOB,
        errors=(*_BAD, "JOB_ALREADY_EXISTS", "QUOTA_EXCEEDED", "SCHEDULER_UNAVAILABLE"),
    ),
    Operation(
        "GET", "/v1/jobs", action="job.read", handler=page, summary="Jobs", query=JobQuery, answer=pages.Page[Job],
        example={"status": "ACTIVE", "tag": "daily"}, answer_example={"items": [job_shape.JOB], "next_cursor": None},
    ),
    Operation(
        "GET", "/v1/jobs/{id:uuid}", action="job.read", handler=get, summary="Look at a job",
        description="The ETag is its version.", answer=Job, errors=_ONE, answer_example=job_shape.JOB,
    ),
    Operation(
        "PUT", "/v1/jobs/{id:uuid}", action="job.write", handler=change, summary="Change a job",
        description="Needs the `version` that you read, in the body or in If-Match; 409 VERSION_CONFLICT if the job was "
        "changed since. A job that was set aside is tried again.",
        body=JobChange, answer=Job, errors=(*_BAD, *_ONE, "VERSION_CONFLICT", "JOB_ALREADY_EXISTS"),
        example={"version": 1, "cron_expression": "0 10 * * *"}, answer_example={**job_shape.JOB, "version": 2},
    ),
    Operation(
        "DELETE", "/v1/jobs/{id:uuid}", action="job.write", handler=delete, summary="Delete a job",
        description="Nothing of it fires any more, and its name is free. Its executions stay; what was dispatched goes on.",
        status=204, errors=_ONE,
    ),
    Operation(
        "POST", "/v1/jobs/{id:uuid}/pause", action="job.write", handler=pause, summary="Pause a job",
        description="Pausing it again changes nothing. What was dispatched goes on.",
        answer=Job, errors=(*_ONE, "CONFLICT"),
        answer_example={**job_shape.JOB, "status": "PAUSED", "next_run_time": None, "version": 2},
    ),
    Operation(
        "POST", "/v1/jobs/{id:uuid}/resume", action="job.write", handler=resume, summary="Resume a job",
        description="A CRON job fires from its next time on; another one at its time, or at once if that has passed.",
        answer=Job, errors=(*_ONE, "CONFLICT"), answer_example={**job_shape.JOB, "version": 3},
    ),
    Operation(
        "POST", "/v1/jobs/{id:uuid}/trigger", action="job.trigger", handler=trigger, summary="Execute a job now",
        description="Paused or not. 503 SCHEDULER_UNAVAILABLE if no scheduler was seen for 30 seconds.",
        body=TriggerWish, optional_body=True, answer=Execution, status=201,
        also={200: "The idempotency_key was used before: the execution it made."}, idempotent=True,
        errors=(*_ONE, "INVALID_NAME", "INVALID_PAYLOAD", "SCHEDULER_UNAVAILABLE"),
        example={"payload": {"body": {"report_type": "weekly_summary"}}, "idempotency_key": "order-17"},
        answer_example={**job_shape.EXECUTION, "status": "QUEUED", "trigger": "manual", "worker_id": None, "result": None,
                        "started_at": None, "completed_at": None, "duration_ms": None},
    ),
    Operation(
        "GET", "/v1/jobs/{id:uuid}/preview", action="job.read", handler=preview, summary="When a job fires next",
        query=PreviewQuery, answer=Preview, errors=_ONE, example={"n": 3},
        answer_example={"times": ["2024-01-15T14:00:00Z"], "words": "at 09:00", "timezone": "America/New_York"},
    ),
)  # fmt: skip
