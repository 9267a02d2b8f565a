"""What may be said of a job, and what the scheduler decides: pure."""

import datetime as dt
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.base import errors
from weft.cron import misfire, schedule, zones
from weft.jobs import definition, firing
from weft.jobs.firing import Fire, SetAside
from weft.jobs.model import Due
from weft.jobs.trigger import laid_over

NOW = dt.datetime(2026, 5, 4, 12, 30, 30, tzinfo=dt.UTC)
PLAIN: dict[str, Any] = {"name": "a", "cron_expression": "0 9 * * *", "payload": {"task": "t"}}


def due(**facts: Any) -> Due:
    known: dict[str, Any] = {
        "id": str(uuid.uuid4()), "org_id": str(uuid.uuid4()), "cron_expression": "* * * * *", "timezone": "UTC",
        "run_at": None, "misfire": "fire_once", "catch_up_limit": 100, "jitter": None, "start_at": None, "end_at": None,
        "overlap": "allow", "next_run_time": NOW.replace(second=0),
    }  # fmt: skip
    return Due(**{**known, **facts})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"colour": 1}, "a job has no 'colour'"),
        ({"payload": None}, "needs a payload"),
        ({"payload": {"task": "t", "command": "x"}}, "task and command"),
        ({"run_at": NOW}, "run_at is for ONE_TIME jobs"),
        ({"run_at": NOW.replace(tzinfo=None), "cron_expression": None}, "with its zone"),
        ({"jitter_seconds": -1}, "jitter_seconds"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"tags": "a"}, "tags is a list"),
        ({"tags": ["a\n"]}, "tag"),
        ({"priority": True}, "priority"),
        ({"retry_config": {"tries": 3}}, "retry_config has no 'tries'"),
        ({"retry_config": {"backoff_multiplier": 0}}, "backoff_multiplier"),
        ({"catch_up_limit": 1001}, "catch_up_limit"),
        ({"name": ""}, "job name"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(change: dict[str, Any], said: str) -> None:
    with pytest.raises(errors.InvalidInput, match=said):
        definition.read({**PLAIN, **change})


def test_the_retry_policy_of_a_job_is_the_tasks() -> None:
    read = definition.read({**PLAIN, "retry_config": {"max_attempts": 3, "backoff_seconds": 300, "backoff_multiplier": 2}})
    assert read.max_attempts == 3 and '"base":300' in read.retry and '"cap":2400' in read.retry


def test_a_payload_is_laid_over_another_name_by_name() -> None:
    assert laid_over({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 9}, "e": [1]}) == {"a": {"b": 9, "c": 2}, "d": 3, "e": [1]}


def test_what_nobody_has_read_is_read_and_fires_later() -> None:
    found = firing.decide(due(unread='{"task": "t", "args": {"x": "${secrets.A}"}}', next_run_time=None), NOW)
    assert isinstance(found, Fire) and found.read is not None
    assert (found.times, found.read.kind, found.read.secrets) == ((), "t", ["A"])
    assert found.waiting == NOW.replace(second=0) + dt.timedelta(minutes=1)


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"cron_expression": "x"}, "INVALID_CRON"), ({"timezone": "Mars/Base"}, "INVALID_TIMEZONE"),
        ({"cron_expression": None}, "INVALID_INPUT"), ({"unread": "{}"}, "INVALID_INPUT"),
        ({"catch_up_limit": 0}, "INVALID_INPUT"),
    ],
)  # fmt: skip
def test_what_cannot_be_dispatched_is_set_aside_with_its_reason(facts: dict[str, Any], code: str) -> None:
    found = firing.decide(due(**facts), NOW)
    assert isinstance(found, SetAside) and found.code == code and found.message


EXPRESSIONS = ("* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "0 9 * * MON-FRI", "0 0 1 * *", "@weekly")


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(EXPRESSIONS), st.sampled_from(("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")),
    st.integers(0, 3 * 365 * 1440), st.integers(0, 3 * 1440), st.sampled_from(("fire_once", "skip", "catch_up")),
    st.integers(0, 3600),
)  # fmt: skip
def test_what_fires_is_of_the_schedule_and_what_is_waited_for_is_yet_to_come(
    text: str, zone: str, start: int, late: int, policy: misfire.Misfire, jitter: int
) -> None:
    began = dt.datetime(2025, 1, 1, tzinfo=dt.UTC) + dt.timedelta(minutes=start)
    waiting = schedule.after(schedule.parse(text), zones.zone(zone), began)
    assert waiting is not None
    spread = dt.timedelta(seconds=jitter)
    job = due(cron_expression=text, timezone=zone, misfire=policy, catch_up_limit=1000, next_run_time=waiting, jitter=spread)
    delay = misfire.jitter(job.id, spread)
    now = waiting + delay + dt.timedelta(minutes=late)
    found = firing.decide(job, now)
    assert isinstance(found, Fire) and found.waiting is not None and found.due_at == found.waiting + delay
    assert found.waiting + delay > now or found.waiting > now - delay
    all_missed = list(schedule.between(schedule.parse(text), zones.zone(zone), began, now - delay))
    assert set(found.times) <= set(all_missed) and list(found.times) == sorted(found.times)
    if policy == "catch_up" and len(all_missed) <= 1000:
        assert list(found.times) == all_missed
    if policy == "fire_once":
        assert list(found.times) == all_missed[-1:]
