"""Which times a job fires, given what was due and what time it is. Pure: no clock, no database.

    first(when, now)          the time a new or resumed job waits for
    due(when, waiting, now)   what to fire of what is due, and the time to wait for then

A time counts as *missed* if it is found due later than GRACE. What becomes of those is the job's misfire policy:

    fire_once   one execution for all of them, for the latest (default)
    skip        none; a time that is not late fires as ever
    catch_up    one for each, oldest first, but only the latest `catch_up_limit`

Jitter moves all firings of a job by the same part of it, found from the job's id: what is written for the same minute
spreads out, and the spacing stays.
"""

import datetime as dt
import hashlib
from typing import Literal, assert_never

import msgspec

from weft.base import errors
from weft.cron import schedule as cron
from weft.cron.schedule import Schedule
from weft.cron.zones import Zone

Misfire = Literal["fire_once", "skip", "catch_up"]

GRACE = dt.timedelta(seconds=60)
MAX_CATCH_UP = 1000
_LITTLE = dt.timedelta(microseconds=1)


class Once(msgspec.Struct, frozen=True):
    """The one time of a ONE_TIME or DELAYED job."""

    at: dt.datetime


class Cron(msgspec.Struct, frozen=True):
    """The times of a CRON job."""

    schedule: Schedule
    zone: Zone


class When(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides when a job fires. `start` and `end` are both within."""

    times: Cron | Once
    start: dt.datetime | None = None
    end: dt.datetime | None = None
    misfire: Misfire = "fire_once"
    catch_up_limit: int = 100
    delay: dt.timedelta = dt.timedelta(0)
    """From `jitter`: how much later than its time everything fires."""

    def __post_init__(self) -> None:
        if not 1 <= self.catch_up_limit <= MAX_CATCH_UP:
            raise errors.InvalidInput(f"catch_up_limit {self.catch_up_limit} must be 1 to {MAX_CATCH_UP}")
        if self.start is not None and self.end is not None and self.end < self.start:
            raise errors.InvalidInput("the end must not be before the start")


class Firing(msgspec.Struct, frozen=True):
    """What to do with a job that was looked at."""

    times: tuple[dt.datetime, ...]
    """An execution each, oldest first."""
    waiting: dt.datetime | None
    """The time to wait for now; None if there is none any more."""
    missed_since: dt.datetime | None = None
    """The oldest time that got no execution of its own."""


def jitter(name: str, within: dt.timedelta) -> dt.timedelta:
    """A part of `within`, always the same for the same name."""
    share = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") / 2**64
    return dt.timedelta(seconds=int(within.total_seconds() * share))


def first(when: When, now: dt.datetime) -> dt.datetime | None:
    """The first time a job waits for, seen from `now`. The one time of a job that is over is not lost."""
    if isinstance(when.times, Once):
        return _within(when, when.times.at)
    return _after(when, now)


def due(when: When, waiting: dt.datetime, now: dt.datetime) -> Firing:
    """What fires of a job that waits for `waiting`. A clock that was set back fires nothing twice."""
    clock = now - when.delay
    if when.end is not None and waiting > when.end:
        return Firing((), None)
    if waiting > clock:
        return Firing((), waiting)
    following = _after(when, waiting)
    if following is not None and following > clock and (when.start is None or when.start <= waiting):
        latest = waiting  # as good as always: nothing was missed
    else:
        latest = _latest(when, waiting, clock)
        following = _after(when, max(clock, latest))
    match when.misfire:
        case "fire_once":
            return Firing((latest,), following, None if latest == waiting else waiting)
        case "skip":
            if clock - latest <= GRACE:
                return Firing((latest,), following, None if latest == waiting else waiting)
            return Firing((), following, waiting)
        case "catch_up":
            times = _back(when, latest, waiting)
            return Firing(times, following, None if times[0] == waiting else waiting)
        case _:
            assert_never(when.misfire)


def _after(when: When, moment: dt.datetime) -> dt.datetime | None:
    if isinstance(when.times, Once):
        return None if when.times.at <= moment else _within(when, when.times.at)
    if when.start is not None:
        moment = max(moment, when.start - _LITTLE)
    found = cron.after(when.times.schedule, when.times.zone, moment)
    return None if found is None else _within(when, found)


def _within(when: When, moment: dt.datetime) -> dt.datetime | None:
    too_early = when.start is not None and moment < when.start
    too_late = when.end is not None and moment > when.end
    return None if too_early or too_late else moment


def _latest(when: When, waiting: dt.datetime, clock: dt.datetime) -> dt.datetime:
    """The last time up to now. `waiting` itself, if the expression was changed and no longer says it."""
    if isinstance(when.times, Once):
        return waiting
    limit = clock if when.end is None else min(clock, when.end)
    found = cron.before(when.times.schedule, when.times.zone, limit)
    return waiting if found is None else max(found, waiting)


def _back(when: When, latest: dt.datetime, waiting: dt.datetime) -> tuple[dt.datetime, ...]:
    """The latest times, no more than the limit, none before `waiting`; oldest first."""
    found = [latest]
    if isinstance(when.times, Cron):
        while len(found) < when.catch_up_limit and found[-1] > waiting:
            before = cron.before(when.times.schedule, when.times.zone, found[-1] - _LITTLE)
            found.append(waiting if before is None else max(before, waiting))
    return tuple(reversed(found))
