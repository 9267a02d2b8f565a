"""The proxy itself: what it lets through is what was sent, and each of its faults happens where it was asked for."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pgwire
import psycopg
import pytest
from cutter import PLACES, Cut, Cutter, Place, Side
from hypothesis import given
from hypothesis import strategies as st

KINDS = st.sampled_from([b"Q", b"P", b"B", b"E", b"S", b"C", b"Z", b"D"])


def typed(kind: bytes, body: bytes) -> bytes:
    return kind + (len(body) + 4).to_bytes(4, "big") + body


@given(
    messages=st.lists(st.tuples(KINDS, st.binary(max_size=50)), max_size=20), cuts=st.lists(st.integers(1, 40), min_size=1)
)
def test_however_a_stream_arrives_its_messages_are_the_same(
    messages: Sequence[tuple[bytes, bytes]], cuts: Sequence[int]
) -> None:
    stream = b"".join(typed(*one) for one in messages)
    splitter = pgwire.Splitter(typed=True)
    found, place, turn = [], 0, 0
    while place < len(stream):
        step = cuts[turn % len(cuts)]
        found += splitter.feed(stream[place : place + step])
        place, turn = place + step, turn + 1
    assert [(one.kind, one.body) for one in found] == list(messages)
    assert splitter.rest == b""


@pytest.fixture
async def cutter(database_url: str) -> AsyncIterator[Cutter]:
    with tempfile.TemporaryDirectory(prefix="weft-cutter-") as folder:
        async with Cutter(database_url, folder=Path(folder)) as made:
            yield made


async def insert(cutter: Cutter) -> None:
    """One row by a prepared statement."""
    async with await psycopg.AsyncConnection.connect(cutter.url, autocommit=True, connect_timeout=10) as connection:
        await connection.execute("insert into told values (%s)", (1,), prepare=True)


@pytest.fixture
def bystander(database_url: str) -> psycopg.Connection:
    connection = psycopg.connect(database_url, autocommit=True, connect_timeout=10)
    connection.execute("create table told (n int)")
    return connection


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("side", ["request", "answer"])
async def test_a_cut_happens_where_it_was_asked_for(
    cutter: Cutter, bystander: psycopg.Connection, side: Side, place: Place
) -> None:
    await insert(cutter)
    cut = cutter.arm(Cut(statement="insert into told", side=side, place=place))
    async with asyncio.timeout(20):
        with pytest.raises(psycopg.OperationalError):
            await insert(cutter)
    assert cut.fired.is_set() and cutter.count == 1
    # a request that came through whole lacks its sync, so nothing is committed before it; an answer means it was
    happened = 2 if side == "answer" else 1
    row = bystander.execute("select count(*) from told").fetchone()
    assert row == (happened,)
    await insert(cutter)  # once
    bystander.close()


async def test_only_the_nth_execution_is_hit(cutter: Cutter, bystander: psycopg.Connection) -> None:
    cut = cutter.arm(Cut(statement="insert into told", nth=3))
    await insert(cutter)
    await insert(cutter)
    with pytest.raises(psycopg.OperationalError):
        await insert(cutter)
    assert cut.fired.is_set()
    bystander.close()


async def test_a_stall_holds_back_and_lets_go(cutter: Cutter, bystander: psycopg.Connection) -> None:
    held = asyncio.Event()
    cut = cutter.arm(Cut(statement="insert into told", stall=held))
    going = asyncio.create_task(insert(cutter))
    await cut.happened()
    assert bystander.execute("select count(*) from told").fetchone() == (0,) and not going.done()
    held.set()
    async with asyncio.timeout(20):
        await going
    assert bystander.execute("select count(*) from told").fetchone() == (1,)
    bystander.close()


async def test_a_slow_line_is_slow_and_loses_nothing(cutter: Cutter, bystander: psycopg.Connection) -> None:
    cutter.bytes_per_second = 100_000
    text = "x" * 50_000
    async with await psycopg.AsyncConnection.connect(cutter.url, autocommit=True, connect_timeout=10) as connection:
        row = await (await connection.execute("select %s::text", (text,))).fetchone()
    assert row == (text,)
    assert cutter.slept > 0, "nothing was held back"
    bystander.close()


async def test_nothing_passes_while_the_network_is_away(cutter: Cutter, bystander: psycopg.Connection) -> None:
    cutter.passing.clear()
    going = asyncio.create_task(insert(cutter))
    done, _ = await asyncio.wait([going], timeout=0.3)
    assert not done
    cutter.passing.set()
    async with asyncio.timeout(20):
        await going
    bystander.close()


async def test_notifications_are_lost_and_nothing_else(cutter: Cutter, database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(cutter.url, autocommit=True, connect_timeout=10) as connection:
        await connection.execute("listen here")
        for dropped, expected in ((True, []), (False, ["here"])):
            cutter.drop_notifications = dropped
            with psycopg.connect(database_url, autocommit=True, connect_timeout=10) as other:
                other.execute("notify here")
            await connection.execute("select 1")  # whatever was told before has come by now
            assert [one.channel async for one in connection.notifies(timeout=0.2)] == expected
