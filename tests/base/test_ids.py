"""Ids: uuid7 carries its time, and the bounds made from times order with it."""

import datetime as dt
import pickle
import uuid

import hypothesis
from hypothesis import strategies as st

from weft.base import ids

times = st.datetimes(dt.datetime(1970, 1, 2), dt.datetime(5000, 1, 1), timezones=st.just(dt.UTC))


@hypothesis.given(times)
def test_a_floor_is_a_uuid7_of_its_millisecond(at: dt.datetime) -> None:
    low = ids.floor(at)
    assert (low.version, low.variant) == (7, uuid.RFC_4122)
    assert abs(ids.made_at(low) - at) <= dt.timedelta(milliseconds=1)


@hypothesis.given(times, times)
def test_floors_order_as_their_times_do(one: dt.datetime, other: dt.datetime) -> None:
    if one <= other:
        assert ids.floor(one) <= ids.floor(other)


def test_tokens_do_not_repeat() -> None:
    assert len({ids.token() for _ in range(1000)}) == 1000


@hypothesis.given(st.uuids(), st.integers(0, 40))
def test_ids_that_follow_are_like_any_others(first: uuid.UUID, count: int) -> None:
    made = list(ids.following(first, min(count, ids.NEWEST.int - first.int)))
    usual = [uuid.UUID(int=first.int + n) for n in range(len(made))]
    assert made == usual and [pickle.dumps(one) for one in made] == [pickle.dumps(one) for one in usual]
    assert [(str(one), hash(one), one.is_safe, one.version) for one in made] == [
        (str(one), hash(one), one.is_safe, one.version) for one in usual]  # fmt: skip
