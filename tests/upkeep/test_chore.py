"""The skeleton of a chore."""

import asyncio
import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.base import errors
from weft.cluster import leaders, nodes
from weft.db.database import Database
from weft.db.tx import Tx
from weft.upkeep import chore
from weft.upkeep.chore import Chore
from weft.upkeep.sight import Sight

ROLE = "scheduler"
OFTEN = dt.timedelta(milliseconds=1)


async def new_term(database: Database) -> int:
    async with database.tx() as tx:
        term = await leaders.take(tx, role=ROLE, node_id=nodes.here(version="test").id)
    assert term is not None
    return term


async def note(tx: Tx) -> int:
    return await tx.run("insert into weft.change_inbox (table_name, op, ids) values ('noted', 'INSERT', '{}')")


async def noted(database: Database) -> int:
    async with database.once() as tx:
        count: int = await tx.value("select count(*) from weft.change_inbox")
        return count


async def test_a_chore_of_an_old_term_changes_nothing(database: Database) -> None:
    old = await new_term(database)
    await new_term(database)
    with pytest.raises(errors.Conflict):
        await chore.once(Chore(name="n", every=OFTEN, once=note), database=database, role=ROLE, term=old)
    assert await noted(database) == 0


async def test_a_chore_with_nothing_to_do_opens_no_transaction(database: Database) -> None:
    async def nothing(tx: Tx) -> bool:
        return False

    idle = Chore(name="n", every=OFTEN, once=note, peek=nothing)
    # the term is unknown, so a transaction would be refused
    assert await chore.once(idle, database=database, role=ROLE, term=99) == 0


async def test_a_chore_that_fails_is_done_again(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    term = await new_term(database)
    again = asyncio.Event()
    runs = 0

    async def fail_once(tx: Tx) -> int:
        nonlocal runs
        runs += 1
        if runs == 1:
            await note(tx)
            raise RuntimeError("planted")
        again.set()
        return 0

    failing = Chore(name="failing", every=OFTEN, once=fail_once)
    task = asyncio.create_task(chore.run(failing, database=database, role=ROLE, term=term, sight=Sight()))
    await asyncio.wait_for(again.wait(), 5)
    task.cancel()
    assert "chore failing failed" in caplog.text
    assert await noted(database) == 0


@given(
    done=st.integers(0, 2000),
    pause=st.floats(0, 100),
    interval=st.floats(0.01, 3600),
    batch=st.none() | st.integers(1, 1000),
    steady=st.booleans(),
)
def test_the_pause_is_within_the_interval_and_nothing_after_a_full_batch(
    done: int, pause: float, interval: float, batch: int | None, steady: bool
) -> None:
    rest = chore.rest(done, pause=pause, interval=interval, batch=batch, steady=steady)
    assert 0 <= rest <= interval
    assert (rest == 0) == (batch is not None and done >= batch)
    assert rest in (0, interval) or not steady


def test_pauses_grow_to_the_interval_while_there_is_nothing_to_do() -> None:
    pauses = [chore.rest(1, pause=0, interval=0.8, batch=10)]
    for _ in range(4):
        pauses.append(chore.rest(0, pause=pauses[-1], interval=0.8, batch=10))
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8, 0.8])


def test_a_failing_chore_is_tried_ever_more_rarely() -> None:
    pauses = [chore.failed(0.0)]
    for _ in range(6):
        pauses.append(chore.failed(pauses[-1]))
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


async def test_what_follows_a_chore_comes_after_its_commit_and_only_if_something_was_done(database: Database) -> None:
    term = await new_term(database)
    seen: list[int] = []

    async def look(others: Database) -> None:
        seen.append(await noted(others))

    async def nothing(_tx: Tx) -> int:
        return 0

    await chore.once(Chore(name="n", every=OFTEN, once=note, then=look), database=database, role=ROLE, term=term)
    await chore.once(Chore(name="n", every=OFTEN, once=nothing, then=look), database=database, role=ROLE, term=term)
    assert seen == [1]
