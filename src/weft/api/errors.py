"""Errors as HTTP says them: code → status in one table, and the envelope they travel in."""

import uuid
from typing import Any

import msgspec

from weft.base import errors, json

STATUS: dict[str, int] = {
    "INVALID_INPUT": 400,
    "INVALID_NAME": 400,
    "INVALID_PAYLOAD": 400,
    "INVALID_CRON": 400,
    "INVALID_TIMEZONE": 400,
    "INVALID_PLAN": 400,
    "INVALID_DAG": 400,
    "INVALID_FLOW": 400,
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "REFUSED": 403,
    "NOT_FOUND": 404,
    "JOB_NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "CONFLICT": 409,
    "JOB_ALREADY_EXISTS": 409,
    "VERSION_CONFLICT": 409,
    "QUOTA_EXCEEDED": 409,
    "UNKNOWN_KIND": 409,
    "LEASE_LOST": 409,
    "LOCK_LOST": 409,
    "TASK_FAILED": 409,
    "EXPRESSION_FAILED": 409,
    "HISTORY_MISMATCH": 409,
    "FOREIGN_AWAIT": 409,
    "STEP_FAILED": 409,
    "QUERY_FAILED": 500,
    "TASK_CANCELLED": 409,
    "TASK_TIMED_OUT": 409,
    "IDEMPOTENCY_KEY_REUSED": 409,
    "TOO_LARGE": 413,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "RATE_LIMITED": 429,
    "WEFT_ERROR": 500,
    "INTERNAL": 500,
    "CONFIG_ERROR": 500,
    "DATABASE_ERROR": 500,
    "EMBEDDED_SERVER": 503,
    "MIGRATION": 503,
    "OUTCOME_UNKNOWN": 503,
    "UNAVAILABLE": 503,
    "SCHEDULER_UNAVAILABLE": 503,
    "NO_SECRET_KEY": 503,
    "RESULT_TIMEOUT": 504,
}

_INTERNAL = "something went wrong on the server; its log has the request id"


class Error(msgspec.Struct, omit_defaults=True):
    """What went wrong: `code` for programs, `message` for people, `request_id` to find it in the server's log."""

    code: str
    message: str
    request_id: str
    details: dict[str, Any] | None = None


class ErrorEnvelope(msgspec.Struct):
    """Every answer that is not a success."""

    error: Error


def status(error: errors.WeftError) -> int:
    return STATUS.get(error.code, 500)


def envelope(error: errors.WeftError, *, request_id: str) -> bytes:
    """The body of a refusal. What is our own fault is logged, not told: 500s keep their internals."""
    if status(error) == 500:
        return internal(request_id=request_id)
    details = {name: _plain(value) for name, value in error.details.items() if name != "sqlstate"}
    told = Error(code=error.code, message=error.message, request_id=request_id, details=details or None)
    return json.dumps(ErrorEnvelope(told))


def internal(*, request_id: str) -> bytes:
    """The body of every 500."""
    return json.dumps(ErrorEnvelope(Error(code="INTERNAL", message=_INTERNAL, request_id=request_id)))


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None | list | dict) else _text(value)


def _text(value: object) -> str:
    return str(value) if isinstance(value, uuid.UUID) else repr(value)
