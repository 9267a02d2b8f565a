"""What HTTP workers say and are told. Everything that may come in a batch is an item with its own proof."""

import datetime as dt
import uuid
from typing import Annotated, Any, Literal

import msgspec

from weft.api import fields
from weft.queue.model import LogLevel

MOST = 500
"""Tasks per claim, and items per batch."""

LONGEST_WAIT = 60
MAX_LINES = 1000

Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
ClaimName = Annotated[
    str, msgspec.Meta(min_length=1, max_length=64, pattern=r"^[\w.:-]+$", description="Never used before, e.g. a UUID.")
]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=315_360_000)]
Text = Annotated[str, msgspec.Meta(max_length=8192)]
Long = Annotated[str, msgspec.Meta(max_length=65_536)]


class Claim(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Who asks for work, what they can do, and how much they can take."""

    worker: fields.Name
    """Its name, unlike any other's of the org: host and process id, or a container's id."""
    kinds: Annotated[list[fields.Name], msgspec.Meta(min_length=1, max_length=1000)]
    shorts: Annotated[list[fields.Name], msgspec.Meta(max_length=1000)] = []
    """Kinds by their last part: `Geocode` is every facet of that name that a flow of the org asks for."""
    queues: Annotated[list[fields.Name], msgspec.Meta(max_length=1000)] = []
    """None: all."""
    capabilities: Annotated[list[fields.Name], msgspec.Meta(max_length=100)] = []
    limit: Count = 1
    """0: claims nothing, only says what is `unanswered`."""
    idle: Count | None = None
    """How many it could start at once; work under a limit is never handed out to wait. None: `limit`."""
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None
    """How many it runs at a time, for others to see. None: `limit`."""
    wait: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_WAIT)] = 0.0
    """Seconds to wait for work if there is none."""
    claim_id: ClaimName | None = None
    """A name for this claim. If no answer arrives, say it in `unanswered` of the next one."""
    unanswered: Annotated[list[ClaimName], msgspec.Meta(max_length=50)] = []
    """Claims whose answer never arrived: what they took is given back, as if it had not been."""


class ClaimedTask(msgspec.Struct, omit_defaults=True, kw_only=True):
    """A task in your hands until its lease ends."""

    task_id: str
    attempt: int
    lease_token: str
    token: str
    """Proves that the attempt is yours: send it with everything you say about it."""
    kind: str
    queue: str
    lease_seconds: float
    """Say heartbeat well within this time, again and again."""
    payload: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """Left out if the answer would become too large: then GET /v1/task/fetch has it."""
    timeout: float | None = None
    """Seconds after which to end it, and to fail it with `"outcome": "timed_out"`."""
    heartbeat_timeout: float | None = None
    losses: int = 0
    """How many workers died of it. Run it alone if there were some."""
    max_attempts: int | None = None
    concurrency_key: str | None = None
    correlation_id: str | None = None
    trace_parent: str | None = None
    tags: list[str] | None = None
    cancelled: bool = False
    run_id: str | None = None
    step_id: str | None = None
    """The step of the run that it is a task of."""


class ClaimedTasks(msgspec.Struct):
    """What was claimed: nothing, if there was nothing to do in time."""

    tasks: list[ClaimedTask]
    lease_seconds: float
    heartbeat_seconds: float
    org: str


class Attempt(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which attempt is meant: by its token, here or in the header, or with a worker key by these three ids."""

    token: Annotated[str, msgspec.Meta(max_length=4096)] | None = None
    task_id: uuid.UUID | None = None
    attempt: Annotated[int, msgspec.Meta(ge=1)] | None = None
    lease_token: uuid.UUID | None = None


class Which(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """With a worker key: which attempt is meant. A token says so itself."""

    task_id: uuid.UUID | None = None
    attempt: Annotated[int, msgspec.Meta(ge=1)] | None = None
    lease_token: uuid.UUID | None = None


class Completion(Attempt, forbid_unknown_fields=True, kw_only=True):
    """It went well."""

    result: Any = None
    started: Seconds | None = None
    """Seconds from claim to start."""


class Complete(Completion, forbid_unknown_fields=True, kw_only=True):
    """One attempt, or many as `items`."""

    items: Annotated[list[Completion], msgspec.Meta(min_length=1, max_length=MOST)] | None = None


class Problem(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What went wrong."""

    message: Long
    type: Annotated[str, msgspec.Meta(max_length=255)] = "Error"
    traceback: Long | None = None


class Backoff(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A retry policy."""

    backoff: Literal["fixed", "linear", "exponential"] = "exponential"
    base: Seconds = 30.0
    multiplier: Annotated[float, msgspec.Meta(ge=1, le=100)] = 2.0
    cap: Seconds = 600.0
    jitter: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1


Outcome = Literal["failed", "timed_out", "discarded", "snoozed", "released", "cancelled", "lost"]


class Failure(Attempt, forbid_unknown_fields=True, kw_only=True):
    """It did not go well, or not to the end."""

    outcome: Outcome = "failed"
    """`discarded`: over, without retry. `snoozed`: again after `retry_after`, not counted. `released`: again at once, not
    counted. `cancelled`: ended because it was asked to."""
    error: Problem | None = None
    retryable: bool = True
    retry_after: Seconds | None = None
    """Seconds, instead of what the policy says."""
    retry: Backoff | None = None
    """The policy, if the task has none of its own."""
    max_attempts: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None
    """The same for the number of attempts."""
    started: Seconds | None = None


class Fail(Failure, forbid_unknown_fields=True, kw_only=True):
    """One attempt, or many as `items`."""

    items: Annotated[list[Failure], msgspec.Meta(min_length=1, max_length=MOST)] | None = None


class Beat(Attempt, forbid_unknown_fields=True, kw_only=True):
    """It is still being worked on."""

    progress: Annotated[int, msgspec.Meta(ge=0, le=100)] | None = None
    message: Text | None = None
    started: Seconds | None = None


class Heartbeat(Beat, forbid_unknown_fields=True, kw_only=True):
    """One attempt, or many as `items`, or none: a worker may say how it is itself."""

    items: Annotated[list[Beat], msgspec.Meta(max_length=MOST)] | None = None
    worker: fields.Name | None = None
    """The name it claims with: then `stop` lists all that it holds and should end. Needs a worker key."""
    status: Literal["active", "draining", "gone"] = "active"


class LogEntry(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Something to remember with the task."""

    message: Text
    level: LogLevel = "info"
    at: Annotated[dt.datetime, msgspec.Meta(tz=True)] | None = None
    fields: dict[str, Any] | None = None


class LogEntries(Attempt, forbid_unknown_fields=True, kw_only=True):
    """Log lines of one attempt."""

    lines: Annotated[list[LogEntry], msgspec.Meta(max_length=MAX_LINES)] = []


class NewLog(LogEntries, forbid_unknown_fields=True, kw_only=True):
    """Of one attempt, or of many as `items`."""

    items: Annotated[list[LogEntries], msgspec.Meta(min_length=1, max_length=MOST)] | None = None


State = Literal["completed", "failed", "timed_out", "cancelled", "queued"]


class Verdict(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What became of an attempt. In a batch each has the status that it would have had alone."""

    task_id: str | None = None
    attempt: int | None = None
    status: int = 200
    state: State | None = None
    retry_in: float | None = None
    """Seconds until it is tried again."""
    cancelled: bool = False
    """Stop working on it; then fail it with `"outcome"` as in `reason`."""
    reason: Literal["cancelled", "timed_out"] | None = None
    lease_seconds: float | None = None
    token: str | None = None
    """Use this token from now on."""
    kept: int | None = None
    """Log lines stored."""
    code: str | None = None
    message: str | None = None


class Report(Verdict, omit_defaults=True, kw_only=True):
    """For a single attempt its verdict; for many `items`, one for each in their order."""

    items: list[Verdict] | None = None
    stop: list[str] | None = None
    """Every task the worker holds that was asked to end."""
