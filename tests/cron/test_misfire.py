"""What fires: against a plain list of all times, for every policy, lateness, window and clock."""

import datetime as dt
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.base import errors
from weft.cron import misfire, zones
from weft.cron import schedule as cron
from weft.cron.misfire import GRACE, Cron, Firing, Once, When

NOON = dt.datetime(2026, 3, 8, 12, tzinfo=dt.UTC)
HOURLY = Cron(cron.parse("0 * * * *"), zones.zone("UTC"))


def at(hour: float) -> dt.datetime:
    return NOON + dt.timedelta(hours=hour)


SECOND = 1 / 3600


@pytest.mark.parametrize(("policy", "now", "found"), [
    ("fire_once", at(1), Firing((at(1),), at(2))),
    ("fire_once", at(1.5), Firing((at(1),), at(2))),
    ("fire_once", at(5.5), Firing((at(5),), at(6), at(1))),
    ("skip", at(1) + GRACE, Firing((at(1),), at(2))),
    ("skip", at(1.5), Firing((), at(2), at(1))),
    ("skip", at(5.5), Firing((), at(6), at(1))),
    ("skip", at(5) + GRACE, Firing((at(5),), at(6), at(1))),
    ("catch_up", at(1.5), Firing((at(1),), at(2))),
    ("catch_up", at(3.5), Firing((at(1), at(2), at(3)), at(4))),
    ("catch_up", at(9.5), Firing((at(7), at(8), at(9)), at(10), at(1))),
])  # fmt: skip
def test_a_policy_says_what_becomes_of_missed_times(policy: misfire.Misfire, now: dt.datetime, found: Firing) -> None:
    assert misfire.due(When(times=HOURLY, misfire=policy, catch_up_limit=3), at(1), now) == found


def test_what_is_not_due_waits_and_a_clock_set_back_fires_nothing() -> None:
    when = When(times=HOURLY)
    assert misfire.due(when, at(1), at(1 - SECOND)) == Firing((), at(1))
    assert misfire.due(when, at(1), at(-100)) == Firing((), at(1))


def test_nothing_fires_outside_its_window() -> None:
    when = When(times=HOURLY, start=at(2), end=at(4), misfire="catch_up")
    assert misfire.first(when, at(-10)) == at(2)
    assert misfire.first(when, at(2)) == at(3)
    assert misfire.first(when, at(4)) is None
    assert misfire.due(when, at(3), at(9)) == Firing((at(3), at(4)), None)
    assert misfire.due(When(times=HOURLY, end=at(4)), at(5), at(9)) == Firing((), None)


def test_one_time_fires_late_too_but_for_skip() -> None:
    assert misfire.first(When(times=Once(at(1))), at(5)) == at(1)
    assert misfire.due(When(times=Once(at(1))), at(1), at(5)) == Firing((at(1),), None)
    assert misfire.due(When(times=Once(at(1)), misfire="catch_up"), at(1), at(5)) == Firing((at(1),), None)
    assert misfire.due(When(times=Once(at(1)), misfire="skip"), at(1), at(5)) == Firing((), None, at(1))


def test_jitter_moves_all_times_of_a_job_alike() -> None:
    names = [str(uuid.UUID(int=number)) for number in range(1000)]
    delays = [misfire.jitter(name, dt.timedelta(seconds=300)) for name in names]
    assert delays == [misfire.jitter(name, dt.timedelta(seconds=300)) for name in names]
    assert len(set(delays)) > 250 and min(delays) >= dt.timedelta(0) and max(delays) < dt.timedelta(seconds=300)
    when = When(times=HOURLY, delay=dt.timedelta(seconds=90))
    assert misfire.due(when, at(1), at(1 + 89 * SECOND)) == Firing((), at(1))
    assert misfire.due(when, at(1), at(1 + 90 * SECOND)) == Firing((at(1),), at(2))


@pytest.mark.parametrize("wrong", [{"catch_up_limit": 0}, {"catch_up_limit": 9999}, {"start": at(2), "end": at(1)}])
def test_what_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(errors.InvalidInput):
        When(times=HOURLY, **wrong)  # type: ignore[arg-type]


EXPRESSIONS = st.sampled_from(["*/7 * * * *", "0 * * * *", "30 2 * * *", "30 1 * * *", "*/30 2 * * *", "0 0 * * 0"])


@settings(deadline=None)
@given(
    text=EXPRESSIONS,
    policy=st.sampled_from(["fire_once", "skip", "catch_up"]),
    looks=st.lists(st.integers(-300, 4000), min_size=1, max_size=12),
    window=st.tuples(st.integers(0, 3000), st.integers(0, 5000)) | st.none(),
    delay=st.integers(0, 600),
)
def test_whenever_it_is_looked_no_time_fires_twice_and_none_is_forgotten(
    text: str, policy: misfire.Misfire, looks: list[int], window: tuple[int, int] | None, delay: int
) -> None:
    """A scheduler that looks at any times, its clock going back now and then, over a change of New York's clock."""
    times = Cron(cron.parse(text), zones.zone("America/New_York"))
    start = None if window is None else NOON + dt.timedelta(minutes=window[0])
    end = None if window is None else NOON + dt.timedelta(minutes=sum(window))
    begin = NOON - dt.timedelta(days=1)
    when = When(times=times, start=start, end=end, misfire=policy, catch_up_limit=1000, delay=dt.timedelta(seconds=delay))
    every = [one for one in cron.between(times.schedule, times.zone, begin, NOON + dt.timedelta(days=34))
             if (start is None or one >= start) and (end is None or one <= end)]  # fmt: skip
    now, furthest, fired, excused = begin, begin, [], set[dt.datetime]()
    waiting = misfire.first(when, begin)
    assert waiting == next((one for one in every if one > begin), None)
    for minutes in looks:
        now += dt.timedelta(minutes=minutes)
        furthest = max(furthest, now)
        if waiting is None:
            break
        before, firing = waiting, misfire.due(when, waiting, now)
        assert firing.missed_since is None or firing.missed_since == before
        due = [one for one in every if before <= one <= now - when.delay]
        assert set(firing.times) <= set(due)
        fired += firing.times
        excused |= set(due) - set(firing.times)
        assert policy != "catch_up" or list(firing.times) == due
        assert policy != "fire_once" or list(firing.times) == due[-1:]
        assert firing.waiting == next((one for one in every if one > max([*due, now - when.delay])), None) if due else True
        waiting = firing.waiting
    assert len(fired) == len(set(fired)) and fired == sorted(fired)
    if waiting is not None:
        assert {one for one in every if one < waiting} == {*fired} | excused
