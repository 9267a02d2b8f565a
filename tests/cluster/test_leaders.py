"""Terms and fences, with two real connections."""

import pytest

from weft.base import errors
from weft.cluster import leaders, nodes
from weft.cluster.model import Vitals
from weft.db.database import Database

ROLE = "scheduler"


async def take(database: Database, node_id: str) -> int | None:
    async with database.tx() as tx:
        return await leaders.take(tx, role=ROLE, node_id=node_id)


async def test_each_taking_grows_the_term(database: Database) -> None:
    one, other = nodes.here(version="test"), nodes.here(version="test")
    assert [await take(database, node.id) for node in (one, other, one)] == [1, 2, 3]
    async with database.tx() as tx:
        current = await leaders.current(tx, role=ROLE)
    assert current is not None and (current.node_id, current.term) == (one.id, 3)


async def test_a_write_with_an_old_term_is_refused(database: Database) -> None:
    node = nodes.here(version="test")
    await take(database, node.id)
    await take(database, node.id)
    with pytest.raises(errors.Conflict):
        async with database.tx() as tx:
            await leaders.fence(tx, role=ROLE, term=1)
    async with database.tx() as tx:
        await leaders.fence(tx, role=ROLE, term=2)


async def test_no_new_term_begins_while_a_fenced_transaction_is_open(database: Database) -> None:
    node = nodes.here(version="test")
    assert await take(database, node.id) == 1
    async with database.tx() as tx:
        await leaders.fence(tx, role=ROLE, term=1)
        assert await take(database, "00000000-0000-4000-8000-000000000001") is None
    assert await take(database, "00000000-0000-4000-8000-000000000001") == 2


async def test_the_leader_renews_while_its_chores_are_fenced_and_they_stay_fenced(database: Database) -> None:
    node = nodes.here(version="test")
    async with database.tx() as tx:
        await nodes.register(tx, node=node, liveness=None)
    await take(database, node.id)
    async with database.tx() as chore:
        await leaders.fence(chore, role=ROLE, term=1)
        async with database.tx() as tx:
            answer = await nodes.beat(tx, node_id=node.id, vitals=Vitals(), role=ROLE, term=1)
        assert answer.renewed
        assert await take(database, node.id) is None


async def test_nobody_led_a_role_that_was_never_taken(database: Database) -> None:
    async with database.tx() as tx:
        assert await leaders.current(tx, role=ROLE) is None
