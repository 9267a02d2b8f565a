"""The one tree of errors.

    WeftError
    ├── ConfigError             a setting is missing or wrong
    │   └── NoSecretKey         there is no key to seal or open secrets with
    ├── InvalidInput            bad input; nothing was changed
    │   ├── InvalidName
    │   ├── InvalidPayload
    │   ├── UnknownKind
    │   ├── InvalidCron
    │   ├── InvalidTimezone
    │   ├── InvalidPlan
    │   ├── InvalidDag
    │   ├── InvalidFlow         an AFL program with errors; `problems` lists them
    │   ├── TooLarge            a request over HTTP, larger than allowed
    │   └── UnsupportedMedia    a request over HTTP that is not JSON
    ├── Unauthenticated         no credential, or none that is known and valid
    ├── Forbidden               the credential's role does not allow this
    ├── NotFound                no such thing here (or not yours)
    │   └── JobNotFound
    ├── Conflict                the thing is in a state that forbids it
    │   ├── LeaseLost           the attempt is no longer yours; nothing was changed
    │   ├── LockLost
    │   ├── JobExists           a job with this name is there
    │   ├── VersionConflict     it was changed since you read it
    │   ├── QuotaExceeded       the org has all it may have
    │   ├── KeyReused           an Idempotency-Key came with another request before
    │   ├── HistoryMismatch     a workflow's code does not fit the history of its run
    │   └── ForeignAwait        a workflow awaited what cannot be replayed
    ├── MethodNotAllowed        HTTP: the path is there, but not for this verb
    ├── RateLimited             too much in too short a time; try again later
    ├── TaskFailed              raised to whoever awaits the result of a task that failed
    │   ├── TaskCancelled
    │   ├── TaskTimedOut
    │   └── StepFailed          raised in a workflow by a step or a child that failed for good
    ├── QueryFailed             a live query of the app broke
    ├── ExpressionFailed        an expression of a plan has no value
    ├── SchedulerUnavailable    nobody leads, so nothing would be fired
    ├── ResultTimeout           the task has not ended within the time you gave
    ├── OutcomeUnknown          the connection broke while committing; ask again by key
    ├── DatabaseError
    │   ├── Unavailable         the database cannot be reached
    │   ├── EmbeddedServerError
    │   └── MigrationError
    └── Refused                 a guard said no (SSRF, shell not allowed)

    Signals raised by handlers, not errors: Discard, Snooze, RetryLater (below WeftSignal).

`code` is stable and machine-readable. The docstring is the default message. Facts travel as `details`.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any


class WeftError(Exception):
    """Something went wrong in Weft."""

    code = "WEFT_ERROR"

    def __init__(self, message: str | None = None, /, **details: Any) -> None:
        super().__init__(message or (self.__doc__ or "").strip().splitlines()[0])
        self.details = details

    @property
    def message(self) -> str:
        return str(self.args[0])


class ConfigError(WeftError):
    """A setting is missing or wrong."""

    code = "CONFIG_ERROR"


class NoSecretKey(ConfigError):
    """There is no key to seal or open secrets with."""

    code = "NO_SECRET_KEY"


class InvalidInput(WeftError):
    """The input is not valid; nothing was changed."""

    code = "INVALID_INPUT"


class InvalidName(InvalidInput):
    """The name is not valid."""

    code = "INVALID_NAME"


class InvalidPayload(InvalidInput):
    """The payload cannot be stored as JSON within the limits."""

    code = "INVALID_PAYLOAD"


class UnknownKind(InvalidInput):
    """No task of this kind is registered."""

    code = "UNKNOWN_KIND"


class InvalidCron(InvalidInput):
    """The cron expression is not valid."""

    code = "INVALID_CRON"


class InvalidTimezone(InvalidInput):
    """The time zone is not known."""

    code = "INVALID_TIMEZONE"


class InvalidPlan(InvalidInput):
    """The plan is not valid."""

    code = "INVALID_PLAN"


class InvalidDag(InvalidInput):
    """The DAG is not valid."""

    code = "INVALID_DAG"


class InvalidFlow(InvalidInput):
    """The AFL program is not valid."""

    code = "INVALID_FLOW"


class TooLarge(InvalidInput):
    """The request is larger than allowed; nothing was changed."""

    code = "TOO_LARGE"


class UnsupportedMedia(InvalidInput):
    """The request's body is not application/json."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class Unauthenticated(WeftError):
    """No valid credential was given."""

    code = "UNAUTHENTICATED"


class Forbidden(WeftError):
    """The credential does not allow this."""

    code = "FORBIDDEN"


class MethodNotAllowed(WeftError):
    """The path does not take this method."""

    code = "METHOD_NOT_ALLOWED"


class RateLimited(WeftError):
    """Too many requests; try again later."""

    code = "RATE_LIMITED"


class NotFound(WeftError):
    """There is no such thing."""

    code = "NOT_FOUND"


class Conflict(WeftError):
    """The present state forbids this."""

    code = "CONFLICT"


class JobNotFound(NotFound):
    """There is no such job."""

    code = "JOB_NOT_FOUND"


class JobExists(Conflict):
    """There is a job with this name already."""

    code = "JOB_ALREADY_EXISTS"


class VersionConflict(Conflict):
    """It was changed since you read it; read it again."""

    code = "VERSION_CONFLICT"


class QuotaExceeded(Conflict):
    """The org has all of these that it may have."""

    code = "QUOTA_EXCEEDED"


class SchedulerUnavailable(WeftError):
    """No scheduler was seen lately; start a server or a worker that may lead."""

    code = "SCHEDULER_UNAVAILABLE"


class LeaseLost(Conflict):
    """The lease on this attempt is lost; nothing was changed."""

    code = "LEASE_LOST"


class LockLost(Conflict):
    """The lock is not held with this token."""

    code = "LOCK_LOST"


class KeyReused(Conflict):
    """The Idempotency-Key was used for another request; use a new key for a new request."""

    code = "IDEMPOTENCY_KEY_REUSED"


class HistoryMismatch(Conflict):
    """The workflow's code does not fit the history of its run."""

    code = "HISTORY_MISMATCH"


class ForeignAwait(Conflict):
    """The workflow awaited something that cannot be replayed."""

    code = "FOREIGN_AWAIT"


class TaskFailed(WeftError):
    """The task failed."""

    code = "TASK_FAILED"


class QueryFailed(WeftError):
    """A live query failed."""

    code = "QUERY_FAILED"


class TaskCancelled(TaskFailed):
    """The task was cancelled."""

    code = "TASK_CANCELLED"


class TaskTimedOut(TaskFailed):
    """The task ran longer than its timeout."""

    code = "TASK_TIMED_OUT"


class StepFailed(TaskFailed):
    """A step of the workflow failed."""

    code = "STEP_FAILED"
    beside: Sequence[BaseException] = ()
    """What else failed in the same gather or map."""

    @property
    def error_type(self) -> str | None:
        """The name of the exception that the step raised."""
        found: str | None = self.details.get("error_type")
        return found


class ExpressionFailed(WeftError):
    """The expression has no value."""

    code = "EXPRESSION_FAILED"


class ResultTimeout(WeftError):
    """The task has not ended within the time given."""

    code = "RESULT_TIMEOUT"


class OutcomeUnknown(WeftError):
    """The connection broke while committing: the work may or may not be stored. Repeat with a dedupe_key to be sure."""

    code = "OUTCOME_UNKNOWN"


class DatabaseError(WeftError):
    """The database refused."""

    code = "DATABASE_ERROR"


class Unavailable(DatabaseError):
    """The database cannot be reached."""

    code = "UNAVAILABLE"


class EmbeddedServerError(DatabaseError):
    """The embedded PostgreSQL cannot run."""

    code = "EMBEDDED_SERVER"


class MigrationError(DatabaseError):
    """The schema and this version of Weft do not fit."""

    code = "MIGRATION"


class Refused(WeftError):
    """A guard refused this."""

    code = "REFUSED"


class WeftSignal(Exception):
    """What a handler raises to say how its attempt should end."""


class Discard(WeftSignal):
    """End the task here, without retry and without calling it a failure."""

    def __init__(self, reason: str = "discarded by its handler") -> None:
        super().__init__(reason)
        self.reason = reason


class Snooze(WeftSignal):
    """Run the task again after `delay`; this attempt does not count."""

    def __init__(self, delay: timedelta | float) -> None:
        self.delay = delay if isinstance(delay, timedelta) else timedelta(seconds=delay)
        super().__init__(f"snoozed for {self.delay}")


class RetryLater(WeftSignal):
    """Fail this attempt and retry after `delay` instead of what the policy says (like HTTP's Retry-After)."""

    def __init__(self, delay: timedelta | float, reason: str = "asked to be retried later") -> None:
        self.delay = delay if isinstance(delay, timedelta) else timedelta(seconds=delay)
        super().__init__(reason)
        self.reason = reason
