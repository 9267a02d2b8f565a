"""What a task looks like in Python. A row becomes one of these here and nowhere else."""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

QueuedState = Literal["scheduled", "blocked", "ready"]
LiveState = Literal["scheduled", "blocked", "ready", "running"]
FinalState = Literal["completed", "failed", "timed_out", "cancelled"]
Reason = Literal["dead", "lost", "discarded", "refused", "requested", "skipped"]
"""Why a task ended as it did: attempts used up, worker lost too often, `Discard`, an error that forbids retry, asked for."""

LogLevel = Literal["debug", "info", "warning", "error", "critical"]

MAX_LOSSES = 3
"""A task whose worker died this often is dead: it may be what kills them."""

DEFAULT_MAX_ATTEMPTS = 3


class Rest(msgspec.Struct, frozen=True, gc=False):
    """What most tasks do not have."""

    uncounted: int = 0
    losses: int = 0
    max_attempts: int | None = None
    retry: dict[str, Any] | None = None
    concurrency_key: str | None = None
    timeout: float | None = None
    heartbeat_timeout: float | None = None
    """Seconds without a sign of life after which the attempt counts as hung."""
    correlation_id: str | None = None
    trace_parent: str | None = None
    run_id: str | None = None
    step_id: str | None = None
    tags: list[str] | None = None


NOTHING = Rest()


class Claimed(msgspec.Struct, gc=False):
    """A task a worker holds, in the order the claim statements return it."""

    id: str
    org: str
    kind: str
    payload: str
    attempt: int
    lane: str
    urgency: int
    run_at: dt.datetime
    rest: Rest = NOTHING
    token: str = ""
    claimed: float = 0.0
    """The worker's monotonic clock just before the claim was sent."""
    cancelling: bool = False

    @property
    def queue(self) -> str:
        return self.lane.partition("+")[0]

    @property
    def uncounted(self) -> int:
        return self.rest.uncounted

    @property
    def losses(self) -> int:
        return self.rest.losses

    @property
    def max_attempts(self) -> int | None:
        return self.rest.max_attempts

    @property
    def retry(self) -> dict[str, Any] | None:
        return self.rest.retry

    @property
    def concurrency_key(self) -> str | None:
        return self.rest.concurrency_key

    @property
    def correlation_id(self) -> str | None:
        return self.rest.correlation_id

    @property
    def trace_parent(self) -> str | None:
        return self.rest.trace_parent

    @property
    def run_id(self) -> str | None:
        return self.rest.run_id

    @property
    def step_id(self) -> str | None:
        return self.rest.step_id

    @property
    def tags(self) -> list[str] | None:
        return self.rest.tags


_decode_rest = msgspec.json.Decoder(Rest).decode


def claimed(rows: Sequence[Sequence[Any]], *, token: str, sent: float) -> list[Claimed]:
    """Rows of a claim statement, held with `token` since the claim was sent."""
    return [
        Claimed(id, org, kind, payload, attempt, lane, urgency, run_at, _decode_rest(rest) if rest else NOTHING, token, sent)
        for id, org, kind, payload, attempt, lane, urgency, run_at, rest in rows
    ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskView:
    """A task as people see it, unfinished or finished."""

    id: uuid.UUID
    org_id: uuid.UUID
    kind: str
    queue: str
    lane: str
    payload: dict[str, Any]
    state: LiveState | FinalState
    reason: Reason | None
    priority: int
    attempt: int
    uncounted: int
    losses: int
    max_attempts: int | None
    created_at: dt.datetime
    run_at: dt.datetime
    claimed_at: dt.datetime | None
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    node_id: uuid.UUID | None
    concurrency_key: str | None
    concurrency: int | None
    dedupe_key: str | None
    tags: list[str] | None
    timeout: dt.timedelta | None
    parent_id: uuid.UUID | None
    run_id: uuid.UUID | None
    correlation_id: str | None
    cancel_requested_at: dt.datetime | None
    progress: int | None
    progress_message: str | None
    attempts: list[dict[str, Any]] | None
    error: dict[str, Any] | None
    result: Any

    @property
    def dead(self) -> bool:
        return self.reason in ("dead", "lost")

    @property
    def public_state(self) -> str:
        """`queued` for everything that waits; the stored state says why."""
        return "queued" if self.state in ("scheduled", "blocked", "ready") else self.state


_FIELDS = tuple(field.name for field in dataclasses.fields(TaskView))


def view(row: tuple[Any, ...]) -> TaskView:
    """A row of `get_task` and its like."""
    return TaskView(**dict(zip(_FIELDS, row, strict=True)))


class Enqueued(msgspec.Struct, frozen=True, gc=False):
    """What enqueue answers: the id, and whether the task is new or was there already (dedupe)."""

    id: uuid.UUID
    created: bool = True


@dataclasses.dataclass(frozen=True)
class LogLine:
    """A line a handler wrote."""

    id: int
    attempt: int
    at: dt.datetime
    level: LogLevel
    message: str
    fields: dict[str, Any] | None
