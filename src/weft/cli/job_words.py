"""What `weft jobs create` and `weft jobs update` can both say of a job, besides what it does and when."""

import datetime as dt
from collections.abc import Callable
from typing import Any, TypeVar

import click

from weft.base import durations

F = TypeVar("F", bound=Callable[..., Any])

_MISFIRE = ("fire_once", "skip", "catch_up")
_OVERLAP = ("allow", "skip", "queue", "cancel_previous")
_OPTIONS = (
    click.option("-q", "--queue", metavar="NAME", help="The queue of its tasks."),
    click.option("--priority", type=click.IntRange(0, 9), help="0 (last) to 9 (first); 5 unless said."),
    click.option("--max-attempts", type=click.IntRange(1, 1000), metavar="N", help="How often it may be tried."),
    click.option("--backoff", metavar="DURATION", help="How long after the first try comes the second; 60s unless said."),
    click.option("--backoff-multiplier", type=click.FloatRange(1, 100), metavar="N", help="Each time so many times longer."),
    click.option("--timeout", metavar="DURATION", help="Longest time of an attempt."),
    click.option("--misfire", type=click.Choice(_MISFIRE), help="What of times that were missed; fire_once unless said."),
    click.option("--catch-up-limit", type=click.IntRange(1, 1000), metavar="N", help="With catch_up: at most so many."),
    click.option("--overlap", type=click.Choice(_OVERLAP), help="If the one before has not ended; allow unless said."),
    click.option("--jitter", metavar="DURATION", help="Fire later by a part of this, always the same for a job."),
    click.option("--start", metavar="TIME", help="Fire nothing before 2030-01-01T09:00Z."),
    click.option("--end", metavar="TIME", help="Fire nothing after 2030-12-31T09:00Z."),
    click.option("--tag", "tags", multiple=True, metavar="NAME", help="A tag to find it by. Repeatable."),
)
_SPANS = {"timeout": "timeout_seconds", "jitter": "jitter_seconds", "backoff": "backoff_seconds"}
_RETRY = ("max_attempts", "backoff_seconds", "backoff_multiplier")


def options(command: F) -> F:
    for one in reversed(_OPTIONS):
        command = one(command)
    return command


def said(given: dict[str, Any]) -> dict[str, Any]:
    """What was given, in the words of the API."""
    found: dict[str, Any] = {name: value for name, value in given.items() if value not in (None, ())}
    for name in ("start", "end"):
        if name in found:
            found[f"{name}_at"] = moment(found.pop(name), f"--{name}")
    for name, meant in _SPANS.items():
        if name in found:
            found[meant] = durations.parse(found.pop(name), name=f"--{name}").total_seconds()
    retry = {name: found.pop(name) for name in _RETRY if name in found}
    return {**found, **({"retry_config": retry} if retry else {})}


def moment(text: str, option: str) -> str:
    try:
        return dt.datetime.fromisoformat(text).astimezone(dt.UTC).isoformat()
    except (ValueError, OverflowError):
        raise click.UsageError(f"{option} {text!r} is not a time; write 2030-01-01T09:00Z") from None
