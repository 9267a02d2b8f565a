"""The journal: what was done is written with it, or not at all."""

import pytest

from weft.base import errors, ids
from weft.db.database import Database
from weft.db.tx import Tx
from weft.journal.record import record


async def entries(tx: Tx) -> list[tuple[object, ...]]:
    return list(await tx.rows("select id, actor, action, object_type, object_id, before, after from weft.journal"))


async def test_an_entry_says_who_did_what_to_what(tx: Tx) -> None:
    id = await record(
        tx,
        org_id=ids.DEFAULT_ORG,
        actor="user:ann",
        action="queue.paused",
        object_type="queue",
        object_id="mail",
        before={"paused": False},
        after={"paused": True},
    )
    assert await entries(tx) == [(id, "user:ann", "queue.paused", "queue", "mail", {"paused": False}, {"paused": True})]


async def test_what_was_rolled_back_was_not_done(database: Database) -> None:
    with pytest.raises(errors.Conflict):
        async with database.tx() as tx:
            await record(tx, org_id=ids.DEFAULT_ORG, actor="a", action="b", object_type="c", object_id="d")
            raise errors.Conflict("planted")
    async with database.tx() as tx:
        assert await entries(tx) == []


async def test_nobody_changes_what_was_written(tx: Tx) -> None:
    await record(tx, org_id=ids.DEFAULT_ORG, actor="a", action="b", object_type="c", object_id="d")
    with pytest.raises(errors.DatabaseError):
        await tx.run("update weft.journal set actor = 'another'")
