"""What a job, an execution and a backfill look like in Python. A row becomes one of these here and nowhere else."""

import dataclasses
import datetime as dt
import uuid
from typing import Any, Literal

import msgspec

from weft.cron.misfire import Misfire

JobType = Literal["CRON", "ONE_TIME", "DELAYED"]
Status = Literal["ACTIVE", "PAUSED", "COMPLETED", "DELETED"]
Overlap = Literal["allow", "skip", "queue", "cancel_previous"]
Trigger = Literal["schedule", "manual", "backfill"]
BackfillState = Literal["RUNNING", "COMPLETED", "CANCELLED"]
ExecutionStatus = Literal["PENDING", "QUEUED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """A job, in the order the piece `job` selects it."""

    id: uuid.UUID
    org_id: uuid.UUID
    name: str
    job_type: JobType
    cron_expression: str | None
    timezone: str
    run_at: dt.datetime | None
    delay: dt.timedelta | None
    payload: dict[str, Any]
    retry_config: dict[str, Any]
    timeout: dt.timedelta | None
    queue: str
    priority: int
    tags: list[str]
    misfire: Misfire
    catch_up_limit: int
    overlap: Overlap
    jitter: dt.timedelta
    start_at: dt.datetime | None
    end_at: dt.datetime | None
    status: Status
    next_run_time: dt.datetime | None
    due_at: dt.datetime | None
    last_run_time: dt.datetime | None
    error: dict[str, Any] | None
    owner: str | None
    version: int
    created_at: dt.datetime
    updated_at: dt.datetime


_FIELDS = tuple(field.name for field in dataclasses.fields(Job))


def job(row: tuple[Any, ...]) -> Job:
    return Job(**dict(zip(_FIELDS, row, strict=True)))


class Due(msgspec.Struct, frozen=True):
    """What the scheduler must know of a job that is due, in the order `due_jobs` selects it: thousands at a time."""

    id: str
    org_id: str
    cron_expression: str | None
    timezone: str
    run_at: str | None
    misfire: Misfire
    catch_up_limit: int
    jitter: dt.timedelta | None
    start_at: dt.datetime | None
    end_at: dt.datetime | None
    overlap: Overlap
    next_run_time: dt.datetime | None
    secrets: list[str] | None = None
    unread: str | None = None
    """The payload as JSON, if nobody has read it yet."""
    suspended: bool | None = False
    """Whether its org is."""


@dataclasses.dataclass(frozen=True)
class Execution:
    """One time of a job, in the order the piece `execution` selects it."""

    id: uuid.UUID
    job_id: uuid.UUID
    job_name: str
    worker_id: uuid.UUID | None
    attempt_number: int
    status: ExecutionStatus
    trigger: Trigger
    scheduled_time: dt.datetime
    queued_at: dt.datetime
    started_at: dt.datetime | None
    completed_at: dt.datetime | None
    missed_since: dt.datetime | None
    backfill_id: uuid.UUID | None
    result: Any
    error_message: str | None
    attempts: list[dict[str, Any]] | None
    cancel_requested_at: dt.datetime | None
    key: str
    skipped: bool
    """It never became a task; `error_message` says why."""

    @property
    def duration_ms(self) -> int | None:
        if self.started_at is None or self.completed_at is None:
            return None
        return max(round((self.completed_at - self.started_at).total_seconds() * 1000), 0)

    @property
    def ended(self) -> bool:
        return self.status in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")


@dataclasses.dataclass(frozen=True)
class Backfill:
    """Past times of a job, in the order the piece `backfill` selects it."""

    id: uuid.UUID
    org_id: uuid.UUID
    job_id: uuid.UUID
    start_time: dt.datetime
    end_time: dt.datetime
    max_active: int
    state: BackfillState
    next_time: dt.datetime | None
    made: int
    actor: str
    created_at: dt.datetime
    updated_at: dt.datetime
