"""What webhooks are signed with: one for each org, sealed where there is a ring, and sealed anew with the secrets."""

import pytest

import hands
from weft.access import keyring, secrets, webhook_keys
from weft.access.keyring import Keyring
from weft.base import errors, ids
from weft.base.config import Settings
from weft.db.tx import Tx

ORG = ids.DEFAULT_ORG
OLD, NEW = keyring.generate(), keyring.generate()


def ring(*texts: str) -> Keyring:
    return keyring.load(Settings(database_url="x", secret_key=",".join(texts)))


async def stored(tx: Tx) -> bytes:
    return bytes(await tx.value("select secret from weft.webhook_keys where org_id = %(org)s", {"org": ORG}))


async def test_each_org_has_its_own_until_it_is_forgotten(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    mine, theirs = await webhook_keys.get(tx, ring(OLD), org=ORG), await webhook_keys.get(tx, ring(OLD), org=other)
    assert mine != theirs and await webhook_keys.get(tx, ring(OLD), org=other) == theirs and len(mine) >= 32
    await webhook_keys.forget(tx, org=ORG)
    assert await webhook_keys.get(tx, ring(OLD), org=ORG) != mine


async def test_the_database_does_not_know_it(tx: Tx) -> None:
    key = await webhook_keys.get(tx, ring(OLD), org=ORG)
    assert key not in await stored(tx) and key.hex().encode() not in await stored(tx)
    for wrong in (None, ring(NEW)):
        with pytest.raises(errors.NoSecretKey):
            await webhook_keys.get(tx, wrong, org=ORG)


async def test_a_box_that_is_moved_to_another_org_does_not_open(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    await webhook_keys.get(tx, ring(OLD), org=ORG)
    await tx.run("update weft.webhook_keys set org_id = %(other)s", {"other": other})
    with pytest.raises(errors.DatabaseError, match="does not open"):
        await webhook_keys.get(tx, ring(OLD), org=other)


async def test_what_was_made_without_a_ring_is_sealed_when_there_is_one(tx: Tx) -> None:
    key = await webhook_keys.get(tx, None, org=ORG)
    assert await stored(tx) == key and await webhook_keys.get(tx, ring(OLD), org=ORG) == key
    assert await webhook_keys.rotate(tx, ring(OLD)) == 1
    assert await stored(tx) != key and await webhook_keys.get(tx, ring(OLD), org=ORG) == key
    assert await secrets.by_key(tx) == {ring(OLD).current: 1}, "whoever throws a key away is told of it"
    assert await webhook_keys.rotate(tx, ring(NEW, OLD)) == 1 and await webhook_keys.rotate(tx, ring(NEW, OLD)) == 0
    assert await webhook_keys.get(tx, ring(NEW), org=ORG) == key
