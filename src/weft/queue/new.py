"""A task to be: every option checked and turned into the arguments of `weft.try_enqueue`. Pure."""

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from weft.base import durations, errors, json, names
from weft.sdk import retry as retries
from weft.sdk import task as tasks

Dedupe = Literal["unfinished", "forever"] | dt.timedelta | str
"""Among what a dedupe key is unique: unfinished tasks, all tasks ever, or those of the last while ('1h')."""


class Options(TypedDict, total=False):
    """What `enqueue` takes besides kind and payload; what is left out comes from the task's declaration."""

    queue: str
    priority: int
    run_at: dt.datetime
    delay: dt.timedelta | float | str
    max_attempts: int
    retry: retries.Retry | dict[str, Any]
    timeout: dt.timedelta | float | str
    heartbeat_timeout: dt.timedelta | float | str
    capabilities: Sequence[str]
    dedupe_key: str
    dedupe: Dedupe
    concurrency_key: str
    concurrency: int | Literal["strict"]
    tags: Sequence[str]
    org: uuid.UUID | str
    correlation_id: str
    trace_parent: str
    parent_id: uuid.UUID | str
    job_id: uuid.UUID
    run_id: uuid.UUID
    step_id: uuid.UUID
    scheduled_for: dt.datetime


_KNOWN = frozenset(Options.__annotations__)
_LONGEST = dt.timedelta(days=3660)


def arguments(kind: str, payload: Any, *, declared: tasks.Options | None, options: Options) -> dict[str, Any]:
    """The arguments of `weft.try_enqueue`, checked; InvalidInput (and nothing stored) if one is not valid."""
    checked = common(kind, declared=declared, options=options)
    if not isinstance(payload, dict):
        raise errors.InvalidPayload(f"the payload must be a dict of arguments, not {type(payload).__name__}")
    checked["payload"] = json.text(payload)
    checked |= _uniqueness(options)
    for name in ("job_id", "run_id", "step_id", "scheduled_for"):
        checked[name] = options.get(name)
    return checked


def common(kind: str, *, declared: tasks.Options | None, options: Options) -> dict[str, Any]:
    """What one task and many tasks of a kind have in common."""
    if not options.keys() <= _KNOWN:
        unknown = sorted(options.keys() - _KNOWN)[0]
        raise errors.InvalidInput(f"unknown option {unknown!r}; known: {', '.join(sorted(_KNOWN))}")
    queue = options.get("queue")
    if queue is None:
        queue = declared.queue if declared else "default"
    capabilities = _names(options.get("capabilities") or (declared.capabilities if declared else ()), "capability")
    return {
        "kind": names.check(kind, what="task kind"),
        "queue": names.check(queue, what="queue"),
        "priority": tasks.check_priority(options.get("priority", declared.priority if declared else 50)),
        **_timing(options),
        "max_attempts": _max_attempts(options.get("max_attempts")),
        "retry": _retry(options),
        "timeout": _span(options, "timeout"),
        "heartbeat_timeout": _span(options, "heartbeat_timeout"),
        "capabilities": _short_enough(queue, capabilities),
        "tags": _names(options.get("tags") or (), "tag"),
        "org": _id(options.get("org"), "org"),
        "correlation_id": _key(options, "correlation_id"),
        "trace_parent": _key(options, "trace_parent"),
        "parent_id": _id(options.get("parent_id"), "parent_id"),
    }


def _timing(options: Options) -> dict[str, Any]:
    run_at, delay = options.get("run_at"), options.get("delay")
    if run_at is not None and delay is not None:
        raise errors.InvalidInput("give run_at or delay, not both")
    if run_at is not None and (not isinstance(run_at, dt.datetime) or run_at.tzinfo is None):
        raise errors.InvalidInput("run_at must be a datetime with a timezone, e.g. datetime.now(timezone.utc)")
    if run_at is not None and not 1970 <= run_at.year < 3000:
        raise errors.InvalidInput("run_at must be between 1970 and 2999")
    wait = None if delay is None else durations.parse(delay, name="delay")
    if wait is not None and abs(wait) > _LONGEST:
        raise errors.InvalidInput("delay must be at most ten years")
    return {"run_at": run_at, "delay": wait}


def _uniqueness(options: Options) -> dict[str, Any]:
    concurrency = options.get("concurrency", 1)
    if concurrency == "strict":
        concurrency = 0
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or not 0 <= concurrency <= 10_000:
        raise errors.InvalidInput(f"concurrency {concurrency!r} must be 1 to 10000, or 'strict' for first in, first out")
    if "concurrency" in options and "concurrency_key" not in options:
        raise errors.InvalidInput("concurrency needs a concurrency_key: the name of what must not run at once")
    dedupe = options.get("dedupe", "unfinished")
    if dedupe not in ("unfinished", "forever"):
        window = durations.parse(dedupe, name="dedupe")
        if window <= dt.timedelta(0):
            raise errors.InvalidInput("dedupe must be 'unfinished', 'forever' or a positive duration")
        dedupe = f"{window.total_seconds()} seconds"
    return {
        "dedupe_key": _key(options, "dedupe_key"),
        "dedupe": dedupe,
        "concurrency_key": _key(options, "concurrency_key"),
        "concurrency": concurrency,
    }


def _max_attempts(value: int | None) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1000):
        raise errors.InvalidInput(f"max_attempts {value!r} must be a whole number from 1 to 1000")
    return value


def _retry(options: Options) -> str | None:
    policy = retries.of(options.get("retry"))
    return None if policy is None else json.text(policy.to_json(), what="retry")


def _span(options: Options, name: Literal["timeout", "heartbeat_timeout"]) -> dt.timedelta | None:
    value = options.get(name)
    if value is None:
        return None
    span = durations.parse(value, name=name)
    if span <= dt.timedelta(0):
        raise errors.InvalidInput(f"{name} must be longer than nothing")
    if span > _LONGEST:
        raise errors.InvalidInput(f"{name} must be at most ten years")
    return span


def _names(values: Sequence[str], what: str) -> list[str] | None:
    if isinstance(values, str):
        raise errors.InvalidInput(f"{what} must be given as a list, not as one text")
    return [names.check(value, what=what) for value in values] or None


def _short_enough(queue: str, capabilities: list[str] | None) -> list[str] | None:
    """Together they are the name of a lane, which an index must hold."""
    if capabilities and len("+".join([queue, *capabilities]).encode()) > 1024:
        raise errors.InvalidInput(
            "the queue and its capabilities are longer than 1024 bytes together; use shorter or fewer names"
        )
    return capabilities


def _key(options: Options, name: str) -> str | None:
    value = options.get(name)
    return None if value is None else names.check_key(value, what=name)


def _id(value: uuid.UUID | str | None, what: str) -> uuid.UUID | None:
    if value is None or isinstance(value, uuid.UUID):
        return value
    try:
        return uuid.UUID(value)
    except (ValueError, TypeError, AttributeError):
        raise errors.InvalidInput(f"{what} {value!r} is not a UUID") from None
