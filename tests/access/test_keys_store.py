"""Keys: shown once, kept as a hash, found by it, and opening nothing once revoked or expired."""

import datetime as dt
import hashlib
import uuid

import pytest

import hands
from weft.access import keys, orgs
from weft.base import errors, ids
from weft.db.database import Database
from weft.db.tx import Tx

ORG = ids.DEFAULT_ORG


async def test_a_key_is_kept_only_as_a_hash_and_found_by_it(tx: Tx) -> None:
    key, text = await keys.create(tx, org=ORG, name="deploy", role="writer", actor="test")
    assert text.startswith(key.prefix) and text.startswith("weft_") and len(text) > 40
    row = await tx.row("select hash, to_jsonb(k)::text from weft.keys as k")
    assert row is not None and row[0] == hashlib.sha256(text.encode()).digest() and text not in row[1]
    found = await keys.find(tx, text)
    assert found is not None
    assert (found.principal.org, found.principal.actor, found.principal.role) == (ORG, "key:deploy", "writer")
    assert await keys.find(tx, text + "x") is None


async def test_a_worker_key_looks_like_one(tx: Tx) -> None:
    _, text = await keys.create(tx, org=ORG, name="w", role="worker", actor="test")
    assert text.startswith("weftw_")


async def test_a_revoked_or_expired_key_says_so(tx: Tx) -> None:
    revoked, first = await keys.create(tx, org=ORG, name="a", role="reader", actor="test")
    gone = await keys.revoke(tx, id=revoked.id, org=ORG, actor="test")
    again = await keys.revoke(tx, id=revoked.id, org=ORG, actor="test")
    assert gone.revoked_at is not None and again.revoked_at == gone.revoked_at
    with pytest.raises(errors.Unauthenticated, match="revoked"):
        await keys.find(tx, first)
    _, second = await keys.create(tx, org=ORG, name="b", role="reader", actor="test", lasts=dt.timedelta(hours=1))
    assert await keys.find(tx, second) is not None
    await tx.run("update weft.keys set expires_at = expires_at - interval '1 hour 1 second' where expires_at is not null")
    with pytest.raises(errors.Unauthenticated, match="expired"):
        await keys.find(tx, second)


async def test_a_key_of_another_org_is_not_there_to_revoke(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    key, text = await keys.create(tx, org=other, name="a", role="admin", actor="test")
    with pytest.raises(errors.NotFound):
        await keys.revoke(tx, id=key.id, org=ORG, actor="test")
    assert await keys.find(tx, text) is not None and await keys.page(tx, org=ORG) == []


async def test_its_last_use_is_written_at_most_once_a_minute(tx: Tx) -> None:
    key, text = await keys.create(tx, org=ORG, name="a", role="reader", actor="test")
    found = await keys.find(tx, text)
    assert found is not None and found.stale
    await keys.touch(tx, key.id)
    [used] = await keys.page(tx, org=ORG)
    found = await keys.find(tx, text)
    assert found is not None and not found.stale
    await keys.touch(tx, key.id)
    assert [used] == await keys.page(tx, org=ORG)
    await tx.run("update weft.keys set last_used_at = last_used_at - interval '61 seconds'")
    found = await keys.find(tx, text)
    assert found is not None and found.stale


async def test_making_and_revoking_keys_is_journaled_without_the_secret(tx: Tx) -> None:
    key, text = await keys.create(tx, org=ORG, name="deploy", role="writer", actor="ada")
    await keys.revoke(tx, id=key.id, org=ORG, actor="bob")
    rows = await tx.rows("select actor, action, object_id, after::text from weft.journal order by id")
    assert [row[:3] for row in rows] == [("ada", "key.create", str(key.id)), ("bob", "key.revoke", str(key.id))]
    assert not any(text in row[3] or text[5:] in row[3] for row in rows)


@pytest.mark.parametrize("name", ["", " a", "a\n", "x" * 256])
async def test_a_key_needs_a_name(tx: Tx, name: str) -> None:
    with pytest.raises(errors.InvalidName):
        await keys.create(tx, org=ORG, name=name, role="reader", actor="test")


async def test_a_tenant_cannot_read_hashes(database: Database) -> None:
    async with database.tx() as tx:
        await keys.create(tx, org=ORG, name="a", role="reader", actor="test")
    with pytest.raises(errors.DatabaseError, match="permission denied"):
        async with database.tx(org=ORG) as tx:
            await tx.rows("select hash from weft.keys")


async def test_an_org_is_found_by_its_slug(tx: Tx) -> None:
    assert await orgs.find(tx, "default") == ORG
    with pytest.raises(errors.NotFound, match="no org 'nowhere'"):
        await orgs.find(tx, "nowhere")


async def test_keys_exist_while_one_opens_something(tx: Tx) -> None:
    assert not await keys.exist(tx)
    key, _ = await keys.create(tx, org=ORG, name="a", role="reader", actor="test", lasts=dt.timedelta(days=1))
    assert await keys.exist(tx)
    await keys.revoke(tx, id=key.id, org=ORG, actor="test")
    assert not await keys.exist(tx)
    assert isinstance(key.id, uuid.UUID)
