"""What may be said of a job: checked, and turned into the columns of its row. Pure."""

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any, get_args

from weft.base import durations, errors, json, names, references
from weft.cron import misfire as misfires
from weft.cron import schedule, zones
from weft.cron.misfire import Cron, Misfire, Once, When
from weft.dagfile import payload as payloads
from weft.jobs.model import Job, JobType, Overlap

LONGEST_DELAY = dt.timedelta(days=3660)
LONGEST_JITTER = dt.timedelta(days=1)
MOST_TAGS = 50

_RETRY: dict[str, Any] = {"max_attempts": 3, "backoff_seconds": 60, "backoff_multiplier": 2}
_DAY = 86_400
_WORDS = frozenset({
    "name", "job_type", "cron_expression", "timezone", "run_at", "delay_seconds", "payload", "retry_config",
    "timeout_seconds", "queue", "priority", "tags", "misfire", "catch_up_limit", "overlap", "jitter_seconds", "start_at",
    "end_at",
})  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True)
class Definition:
    """A job as it is to be stored, all checked but for what time it is."""

    name: str
    job_type: JobType
    cron_expression: str | None
    timezone: str
    run_at: dt.datetime | None
    delay: dt.timedelta | None
    payload: str
    kind: str
    args: str
    secrets: list[str] | None
    retry_config: str
    retry: str
    max_attempts: int
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

    def columns(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def read(given: Mapping[str, Any]) -> Definition:
    """A definition from the words of REST and Python; InvalidInput, InvalidCron or InvalidTimezone say what is wrong."""
    if unknown := sorted(given.keys() - _WORDS):
        raise errors.InvalidInput(f"a job has no {unknown[0]!r}{names.closest(unknown[0], sorted(_WORDS))}")
    said = {name: value for name, value in given.items() if value is not None}
    asked = what(said.get("payload"))
    times = _times(said)
    retry_config, retry = _retry(said.get("retry_config", {}))
    start, end = _moment(said, "start_at"), _moment(said, "end_at")
    if start is not None and end is not None and end < start:
        raise errors.InvalidInput("end_at must not be before start_at")
    limit = said.get("catch_up_limit", 100)
    if not _whole(limit) or not 1 <= limit <= misfires.MAX_CATCH_UP:
        raise errors.InvalidInput(f"catch_up_limit {limit!r} must be 1 to {misfires.MAX_CATCH_UP}")
    return Definition(
        name=names.check(said.get("name", ""), what="job name"),
        **times,
        **asked,
        retry_config=json.text(retry_config, what="retry_config"),
        retry=json.text(retry, what="retry_config"),
        max_attempts=retry_config["max_attempts"],
        timeout=_span(said, "timeout_seconds", least=0.001, most=LONGEST_DELAY),
        queue=names.check(said.get("queue", "default"), what="queue"),
        priority=_priority(said.get("priority", 5)),
        tags=_tags(said.get("tags", ())),
        misfire=_one_of(said.get("misfire", "fire_once"), Misfire, "misfire"),
        catch_up_limit=limit,
        overlap=_one_of(said.get("overlap", "allow"), Overlap, "overlap"),
        jitter=_span(said, "jitter_seconds", least=0, most=LONGEST_JITTER) or dt.timedelta(0),
        start_at=start,
        end_at=end,
    )


def what(payload: Any) -> dict[str, Any]:
    """What a payload asks for, as columns; InvalidInput if it asks for nothing or does not fit."""
    if payload is None:
        raise errors.InvalidInput('a job needs a payload: what to do, such as {"task": "name", "args": {}}')
    asked = payloads.read(payload)
    text = json.text(payload)
    args = json.text(asked.args)
    return {"payload": text, "kind": asked.kind, "args": args, "secrets": sorted(references.names(args)) or None}


def said(job: Job) -> dict[str, Any]:
    """A job in the words that `read` takes."""
    return {
        "name": job.name, "job_type": job.job_type, "cron_expression": job.cron_expression, "timezone": job.timezone,
        "run_at": job.run_at if job.job_type == "ONE_TIME" else None,
        "delay_seconds": None if job.delay is None else job.delay.total_seconds(), "payload": job.payload,
        "retry_config": job.retry_config, "timeout_seconds": None if job.timeout is None else job.timeout.total_seconds(),
        "queue": job.queue, "priority": job.priority, "tags": job.tags, "misfire": job.misfire,
        "catch_up_limit": job.catch_up_limit, "overlap": job.overlap, "jitter_seconds": job.jitter.total_seconds(),
        "start_at": job.start_at, "end_at": job.end_at,
    }  # fmt: skip


def timing(one: Definition | Job) -> tuple[object, ...]:
    """What decides when it fires: if this changes, its next time is found anew."""
    run_at = one.run_at if one.job_type == "ONE_TIME" else None
    return one.job_type, one.cron_expression, one.timezone, run_at, one.delay, one.jitter, one.start_at, one.end_at


def retry(config: Mapping[str, Any] | None = None) -> tuple[str, str]:
    """A job's policy, or that of one that says none: as people say it, and as a task has it."""
    config, retry = _retry(config or {})
    return json.text(config, what="retry_config"), json.text(retry, what="retry_config")


def changed(job: Job, changes: Mapping[str, Any]) -> dict[str, Any]:
    """What a job would be with these changes, in the words that `read` takes. Another type drops the times of the old."""
    merged = {**said(job), **changes}
    if changes.get("job_type", job.job_type) != job.job_type:
        for name in ("cron_expression", "run_at", "delay_seconds"):
            merged[name] = changes.get(name)
    return merged


def when(definition: Definition, *, id: str, now: dt.datetime) -> When:
    """All that decides when it fires. The delay of a DELAYED job counts from now."""
    if definition.cron_expression is not None:
        times: Cron | Once = Cron(schedule.parse(definition.cron_expression), zones.zone(definition.timezone))
    else:
        times = Once(definition.run_at if definition.delay is None or definition.run_at else now + definition.delay)  # type: ignore[arg-type]
    return When(
        times=times, start=definition.start_at, end=definition.end_at, misfire=definition.misfire,
        catch_up_limit=definition.catch_up_limit, delay=misfires.jitter(id, definition.jitter),
    )  # fmt: skip


def _times(said: Mapping[str, Any]) -> dict[str, Any]:
    cron, run_at, delay = said.get("cron_expression"), _moment(said, "run_at"), said.get("delay_seconds")
    kind = said.get("job_type")
    if kind is None:
        kind = "CRON" if cron is not None else "DELAYED" if delay is not None else "ONE_TIME"
    _one_of(kind, JobType, "job_type")
    needs = {"CRON": "cron_expression", "ONE_TIME": "run_at", "DELAYED": "delay_seconds"}
    for type, name in needs.items():
        if (said.get(name) is not None) != (type == kind):
            raise errors.InvalidInput(
                f"a {kind} job needs {needs[kind]}" if type == kind else f"{name} is for {type} jobs; this one is {kind}"
            )
    zone = said.get("timezone", "UTC")
    if not isinstance(zone, str):
        raise errors.InvalidTimezone("timezone must be the IANA name of a zone, such as Europe/Berlin")
    if cron is not None:
        if not isinstance(cron, str):
            raise errors.InvalidCron("cron_expression must be text, such as '0 9 * * *'")
        schedule.parse(cron)
    zones.zone(zone)
    wait = None if delay is None else _span(said, "delay_seconds", least=0, most=LONGEST_DELAY)
    return {"job_type": kind, "cron_expression": cron, "timezone": zone, "run_at": run_at, "delay": wait}


def _retry(given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The policy as it was said, with what was left out; and as a task has it."""
    if not isinstance(given, Mapping):
        raise errors.InvalidInput("retry_config is an object with max_attempts, backoff_seconds and backoff_multiplier")
    if unknown := sorted(given.keys() - _RETRY.keys()):
        raise errors.InvalidInput(f"retry_config has no {unknown[0]!r}{names.closest(unknown[0], sorted(_RETRY))}")
    full = {**_RETRY, **{name: value for name, value in given.items() if value is not None}}
    attempts, base, multiplier = full["max_attempts"], full["backoff_seconds"], full["backoff_multiplier"]
    if not _whole(attempts) or not 1 <= attempts <= 1000:
        raise errors.InvalidInput(f"retry_config.max_attempts {attempts!r} must be a whole number from 1 to 1000")
    if not _number(base) or not 0 <= base <= _DAY:
        raise errors.InvalidInput(f"retry_config.backoff_seconds {base!r} must be 0 to {_DAY}")
    if not _number(multiplier) or not 1 <= multiplier <= 100:
        raise errors.InvalidInput(f"retry_config.backoff_multiplier {multiplier!r} must be 1 to 100")
    cap = min(base * multiplier ** min(attempts, 60), _DAY)
    return full, {"backoff": "exponential", "base": base, "multiplier": multiplier, "cap": cap}


def _moment(said: Mapping[str, Any], name: str) -> dt.datetime | None:
    value = said.get(name)
    if value is None:
        return None
    if not isinstance(value, dt.datetime) or value.tzinfo is None:
        raise errors.InvalidInput(f"{name} must be a time with its zone, such as 2026-01-31T09:30:00Z")
    if not 1970 <= value.astimezone(dt.UTC).year < 2190:
        raise errors.InvalidInput(f"{name} must be between 1970 and 2189")
    return value.astimezone(dt.UTC)


def _span(said: Mapping[str, Any], name: str, *, least: float, most: dt.timedelta) -> dt.timedelta | None:
    if said.get(name) is None:
        return None
    span = durations.parse(said[name], name=name)
    if not dt.timedelta(seconds=least) <= span <= most:
        raise errors.InvalidInput(f"{name} must be {least:g} to {most.total_seconds():,.0f} seconds")
    return span


def _tags(tags: Any) -> list[str]:
    if isinstance(tags, str) or len(tags) > MOST_TAGS:
        raise errors.InvalidInput(f"tags is a list of at most {MOST_TAGS} names")
    return [names.check(tag, what="tag") for tag in dict.fromkeys(tags)]


def _priority(value: Any) -> int:
    if not _whole(value) or not 0 <= value <= 9:
        raise errors.InvalidInput(f"priority {value!r} must be a whole number from 0 (last) to 9 (first)")
    return int(value)


def _one_of(value: Any, literal: Any, name: str) -> Any:
    if value not in get_args(literal):
        raise errors.InvalidInput(f"{name} {value!r} must be one of {', '.join(get_args(literal))}")
    return value


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
