"""Reading the feed: pages, trimming, gaps."""

import datetime as dt
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.db.database import Database
from weft.db.tx import Tx
from weft.journal import feed

HOUR = dt.timedelta(hours=1)


@pytest.fixture
async def tx(database: Database) -> AsyncIterator[Tx]:
    """On a database of its own: positions count from one, and what is undone does not set the counter back."""
    async with database.tx() as opened:
        yield opened


async def changes(tx: Tx, count: int, *, age: dt.timedelta = dt.timedelta()) -> None:
    await tx.run(
        "insert into weft.changes (table_name, op, ids, at)"
        " select 'tasks', 'UPDATE', array[weft.uuid7()], weft.now() - %(age)s from generate_series(1, %(count)s)",
        {"age": age, "count": count},
    )


async def test_pages_follow_each_other(tx: Tx) -> None:
    await changes(tx, 5)
    first = await feed.read(tx, after=0, take=3)
    second = await feed.read(tx, after=first.next, take=3)
    last = await feed.read(tx, after=second.next, take=3)
    assert [one.position for one in first.changes + second.changes] == [1, 2, 3, 4, 5]
    assert last.changes == [] and last.next == last.newest == 5
    assert not (first.gap or second.gap or last.gap)


async def test_an_empty_feed_has_no_gap(tx: Tx) -> None:
    assert await feed.read(tx, after=0) == feed.Page(changes=[], next=0, newest=0, gap=False)


async def test_only_old_changes_are_trimmed_and_a_mark_stays(tx: Tx) -> None:
    await changes(tx, 4, age=2 * HOUR)
    await changes(tx, 2)
    assert await feed.trim(tx, older=HOUR) == 3
    assert await feed.trim(tx, older=HOUR) == 0
    assert [one.position for one in (await feed.read(tx, after=3)).changes] == [4, 5, 6]


async def test_a_reader_behind_what_was_trimmed_is_told_of_the_gap(tx: Tx) -> None:
    await changes(tx, 4, age=2 * HOUR)
    await feed.trim(tx, older=HOUR)
    assert (await feed.read(tx, after=1)).gap
    assert not (await feed.read(tx, after=3)).gap
    assert not (await feed.read(tx, after=4)).gap


async def test_a_reader_ahead_of_a_restored_feed_is_told_of_the_gap(tx: Tx) -> None:
    assert await feed.read(tx, after=10) == feed.Page(changes=[], next=0, newest=0, gap=True)
    await changes(tx, 2)
    page = await feed.read(tx, after=10)
    assert page.gap and page.next == 2


async def test_trimming_goes_in_batches(tx: Tx) -> None:
    await changes(tx, 10, age=2 * HOUR)
    assert await feed.trim(tx, older=HOUR, take=4) == 3


@given(trimmed=st.integers(0, 20), kept=st.integers(1, 20), after=st.integers(0, 50))
def test_a_gap_is_told_exactly_when_something_after_the_position_is_gone(trimmed: int, kept: int, after: int) -> None:
    oldest, newest = trimmed + 1, trimmed + kept
    gone = after < trimmed
    never_there = after > newest
    assert feed.has_gap(after=after, oldest=oldest, newest=newest) == (gone or never_there)
