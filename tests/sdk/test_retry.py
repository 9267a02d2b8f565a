"""Retry policies: how long to wait after which attempt."""

import datetime as dt

import hypothesis
import pytest
from hypothesis import strategies as st

from weft.base import errors
from weft.sdk import retry
from weft.sdk.retry import Retry

spans = st.timedeltas(dt.timedelta(0), dt.timedelta(days=365))
policies = st.builds(
    Retry, backoff=st.sampled_from(["fixed", "linear", "exponential"]), base=spans, multiplier=st.floats(1, 100),
    cap=spans, jitter=st.floats(0, 1),
)  # fmt: skip


def seconds(policy: Retry, attempts: int = 5) -> list[float]:
    return [policy.delay(attempt, chance=0.5).total_seconds() for attempt in range(1, attempts + 1)]


def test_fixed_linear_and_exponential_grow_as_named() -> None:
    ten = dt.timedelta(seconds=10)
    hour = dt.timedelta(hours=1)
    assert seconds(Retry(backoff="fixed", base=ten, cap=hour)) == [10] * 5
    assert seconds(Retry(backoff="linear", base=ten, cap=hour)) == [10, 20, 30, 40, 50]
    assert seconds(Retry(backoff="exponential", base=ten, multiplier=3, cap=hour)) == [10, 30, 90, 270, 810]


def test_the_kernels_default_doubles_from_half_a_minute_to_ten() -> None:
    assert seconds(retry.DEFAULT, 7) == [30, 60, 120, 240, 480, 600, 600]


@hypothesis.given(policies, st.integers(1, 10**6), st.floats(0, 1, exclude_max=True))
def test_a_delay_is_never_negative_and_never_far_above_the_cap(policy: Retry, attempt: int, chance: float) -> None:
    delay = policy.delay(attempt, chance=chance)
    assert dt.timedelta(0) <= delay <= policy.cap * (1 + policy.jitter) + dt.timedelta(microseconds=1)


@hypothesis.given(policies, st.integers(1, 50))
def test_without_jitter_a_later_attempt_never_waits_less(policy: Retry, attempt: int) -> None:
    assert policy.delay(attempt, chance=0.5) <= policy.delay(attempt + 1, chance=0.5)


@hypothesis.given(policies, st.integers(1, 50), st.floats(0, 1, exclude_max=True))
def test_jitter_moves_a_delay_by_no_more_than_its_share(policy: Retry, attempt: int, chance: float) -> None:
    middle = policy.delay(attempt, chance=0.5)
    tolerance = middle * policy.jitter + dt.timedelta(microseconds=2)
    assert abs(policy.delay(attempt, chance=chance) - middle) <= tolerance


@hypothesis.given(policies)
def test_a_policy_survives_being_stored(policy: Retry) -> None:
    assert retry.from_json(policy.to_json()) == policy


@pytest.mark.parametrize("stored", [{"backoff": "wild"}, {"base": "x"}, {"multiplier": "a"}, {"jitter": 7}, {"base": -1}])
def test_one_that_cannot_be_read_counts_as_none(stored: dict[str, object]) -> None:
    assert retry.from_json(stored) is None


def test_what_people_may_pass() -> None:
    assert retry.of(None) is None and retry.of(retry.DEFAULT) is retry.DEFAULT
    assert retry.of({"backoff": "fixed", "base": "5s"}) == Retry(backoff="fixed", base=dt.timedelta(seconds=5))
    assert retry.from_json(None) is None and retry.from_json({"later": "word"}) == Retry()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"backoff": "wild"}, "must be fixed, linear or exponential"), ({"base": -1}, "must not be negative"),
        ({"multiplier": 0.5}, "between 1 and 100"), ({"jitter": 2}, "between 0 and 1"),
        ({"cap": "later"}, "retry cap 'later'"), ({"unknown": 1}, "known: backoff, base, multiplier, cap, jitter"),
        ("often", "must be a Retry or a dict, not str"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(given: object, message: str) -> None:
    with pytest.raises(errors.InvalidInput, match=message):
        retry.of(given)  # type: ignore[arg-type]


def test_that_a_loss_is_final_is_stored_only_where_it_is_so() -> None:
    once = retry.Retry(lost=False)
    assert retry.from_json(once.to_json()) == once and once.to_json()["lost"] is False
    assert "lost" not in retry.Retry().to_json()
    with pytest.raises(errors.InvalidInput, match="lost"):
        retry.Retry(lost="no")  # type: ignore[arg-type]
