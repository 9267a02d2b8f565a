"""A job and an execution as the API shows them, with the names of seed 002: from the kernel's models to JSON, only here."""

import datetime as dt
import uuid
from typing import Annotated, Any

import msgspec

from weft.api.shown import shown
from weft.cron.misfire import Misfire
from weft.jobs.model import Execution as KernelExecution
from weft.jobs.model import ExecutionStatus, JobType, Overlap, Status, Trigger
from weft.jobs.model import Job as KernelJob

_PAUSE = msgspec.Meta(ge=0, le=86_400)
_TIMES = msgspec.Meta(ge=1, le=100)


class RetryConfig(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How often it is tried, and the pauses: `backoff_seconds`, then `backoff_multiplier` times as long each time."""

    max_attempts: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 3
    backoff_seconds: Annotated[int, _PAUSE] | Annotated[float, _PAUSE] = 60
    backoff_multiplier: Annotated[int, _TIMES] | Annotated[float, _TIMES] = 2


class JobError(msgspec.Struct):
    """Why the scheduler set the job aside. Resume it when that is mended."""

    code: str
    message: str
    at: dt.datetime


class Job(msgspec.Struct, kw_only=True):
    """What is to be done, and when."""

    job_id: uuid.UUID
    tenant_id: uuid.UUID
    name: str
    job_type: JobType
    cron_expression: str | None
    timezone: str
    run_at: dt.datetime | None
    """The one time of a ONE_TIME or DELAYED job."""
    delay_seconds: float | None
    payload: dict[str, Any]
    retry_config: RetryConfig
    timeout_seconds: int | float | None
    tags: list[str]
    priority: int
    queue: str
    misfire: Misfire
    catch_up_limit: int
    overlap: Overlap
    jitter_seconds: float
    start_at: dt.datetime | None
    end_at: dt.datetime | None
    status: Status
    next_run_time: dt.datetime | None
    """The time it waits for; none while it is paused or over."""
    last_run_time: dt.datetime | None
    error: JobError | None
    owner: str | None
    """What declares it: `app:NAME` or `dag:NAME`; none: somebody made it."""
    created_at: dt.datetime
    updated_at: dt.datetime
    version: int


class Execution(msgspec.Struct, kw_only=True):
    """One time of a job. Its id is that of its task."""

    execution_id: uuid.UUID
    job_id: uuid.UUID
    job_name: str
    worker_id: uuid.UUID | None
    attempt_number: int
    """From 1: the one that runs or ran last, or the one to come."""
    status: ExecutionStatus
    trigger: Trigger
    scheduled_time: dt.datetime
    queued_at: dt.datetime
    started_at: dt.datetime | None
    completed_at: dt.datetime | None
    duration_ms: int | None
    missed_since: dt.datetime | None
    """The oldest time that it stands for, if some were missed."""
    backfill_id: uuid.UUID | None
    cancelling: bool
    result: Any
    error_message: str | None
    attempts: list[dict[str, Any]]
    """Ended attempts before this one."""
    logs_url: str


def job(one: KernelJob) -> Job:
    timeout = None if one.timeout is None else one.timeout.total_seconds()
    return shown(
        Job, one, job_id=one.id, tenant_id=one.org_id, retry_config=RetryConfig(**one.retry_config),
        delay_seconds=None if one.delay is None else one.delay.total_seconds(),
        timeout_seconds=int(timeout) if timeout is not None and timeout.is_integer() else timeout,
        jitter_seconds=one.jitter.total_seconds(),
        error=None if one.error is None else msgspec.convert(one.error, JobError),
    )  # fmt: skip


def execution(one: KernelExecution) -> Execution:
    return shown(
        Execution, one, execution_id=one.id, cancelling=one.cancel_requested_at is not None and not one.ended,
        attempts=one.attempts or [], logs_url=f"/v1/executions/{one.id}/logs",
    )  # fmt: skip


JOB: dict[str, Any] = {
    "job_id": "550e8400-e29b-41d4-a716-446655440000", "tenant_id": "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f",
    "name": "daily-report-generator", "job_type": "CRON", "cron_expression": "0 9 * * *", "timezone": "America/New_York",
    "run_at": None, "delay_seconds": None,
    "payload": {
        "endpoint": "https://api.example.com/reports/generate", "method": "POST",
        "headers": {"Authorization": "Bearer ${secrets.API_TOKEN}"}, "body": {"report_type": "daily_summary"},
    },
    "retry_config": {"max_attempts": 3, "backoff_seconds": 300, "backoff_multiplier": 2}, "timeout_seconds": 3600,
    "tags": ["reports", "daily"], "priority": 5, "queue": "default", "misfire": "fire_once", "catch_up_limit": 100,
    "overlap": "allow", "jitter_seconds": 0.0, "start_at": None, "end_at": None, "status": "ACTIVE",
    "next_run_time": "2024-01-15T14:00:00Z", "last_run_time": None, "error": None, "owner": None,
    "created_at": "2024-01-15T10:30:00Z", "updated_at": "2024-01-15T10:30:00Z", "version": 1,
}  # fmt: skip
EXECUTION: dict[str, Any] = {
    "execution_id": "660e8400-e29b-41d4-a716-446655440001", "job_id": JOB["job_id"], "job_name": JOB["name"],
    "worker_id": "0f8fad5b-d9cb-469f-a165-70867728950e", "attempt_number": 1, "status": "COMPLETED", "trigger": "schedule",
    "scheduled_time": "2024-01-15T14:00:00Z", "queued_at": "2024-01-15T14:00:00Z", "started_at": "2024-01-15T14:00:02Z",
    "completed_at": "2024-01-15T14:05:30Z", "duration_ms": 328000, "missed_since": None, "backfill_id": None,
    "cancelling": False, "result": {"report_id": "rpt-12345", "rows_processed": 50000}, "error_message": None,
    "attempts": [], "logs_url": "/v1/executions/660e8400-e29b-41d4-a716-446655440001/logs",
}  # fmt: skip
