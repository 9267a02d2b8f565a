"""Named locks: one holder, by the database's clock."""

import asyncio
import datetime as dt

import pytest

from weft.base import errors, ids
from weft.cluster import locks
from weft.cluster.model import Lock
from weft.db.database import Database
from weft.db.tx import Tx

ORG = ids.DEFAULT_ORG
MINUTE = dt.timedelta(minutes=1)


async def acquire(tx: Tx, *, name: str = "deploy", owner: str = "me", duration: dt.timedelta = MINUTE) -> Lock | None:
    return await locks.acquire(tx, org_id=ORG, name=name, duration=duration, owner=owner, metadata={"why": "test"})


async def expire(tx: Tx) -> None:
    await tx.run("update weft.locks set expires_at = weft.now() - interval '1 second'")


async def test_a_held_lock_is_refused_to_others_until_released(tx: Tx) -> None:
    lock = await acquire(tx)
    assert lock is not None and lock.metadata == {"why": "test"}
    assert lock.expires_at - lock.acquired_at == MINUTE
    assert await acquire(tx, owner="other") is None
    await locks.release(tx, org_id=ORG, name="deploy", token=lock.token)
    assert await acquire(tx, owner="other") is not None


async def test_of_many_at_once_one_gets_it(database: Database) -> None:
    async def attempt() -> Lock | None:
        async with database.tx() as tx:
            return await acquire(tx)

    assert sum(lock is not None for lock in await asyncio.gather(*(attempt() for _ in range(20)))) == 1


async def test_of_many_at_once_one_takes_over_an_expired_lock(database: Database) -> None:
    async with database.tx() as tx:
        first = await acquire(tx)
        await expire(tx)

    async def attempt() -> Lock | None:
        async with database.tx() as tx:
            return await acquire(tx)

    won = [lock for lock in await asyncio.gather(*(attempt() for _ in range(20))) if lock is not None]
    assert len(won) == 1 and first is not None and won[0].token != first.token


async def test_a_lock_whose_time_is_over_is_lost_even_if_nobody_took_it(tx: Tx) -> None:
    lock = await acquire(tx)
    assert lock is not None
    await expire(tx)
    with pytest.raises(errors.LockLost):
        await locks.extend(tx, org_id=ORG, name="deploy", token=lock.token, duration=MINUTE)
    with pytest.raises(errors.LockLost):
        await locks.release(tx, org_id=ORG, name="deploy", token=lock.token)
    assert await locks.check(tx, org_id=ORG, name="deploy") is None


async def test_extending_counts_from_now(tx: Tx) -> None:
    lock = await acquire(tx, duration=dt.timedelta(seconds=5))
    assert lock is not None
    longer = await locks.extend(tx, org_id=ORG, name="deploy", token=lock.token, duration=MINUTE)
    assert longer.expires_at > lock.expires_at and longer.token == lock.token
    assert await locks.check(tx, org_id=ORG, name="deploy") == longer


async def test_a_wrong_token_changes_nothing(tx: Tx) -> None:
    lock = await acquire(tx)
    with pytest.raises(errors.LockLost):
        await locks.release(tx, org_id=ORG, name="deploy", token=ids.token())
    assert await locks.check(tx, org_id=ORG, name="deploy") == lock


async def test_a_lock_must_last(tx: Tx) -> None:
    with pytest.raises(errors.InvalidInput):
        await acquire(tx, duration=dt.timedelta())


async def test_locks_are_listed_by_name_in_pages(tx: Tx) -> None:
    for name in ("b", "a", "c"):
        await acquire(tx, name=name)
    page = await locks.held(tx, org_id=ORG, take=2)
    assert [lock.name for lock in page] == ["a", "b"]
    assert [lock.name for lock in await locks.held(tx, org_id=ORG, after="b")] == ["c"]


async def test_another_org_has_its_own_locks(database: Database) -> None:
    async with database.tx() as tx:
        other = await tx.value("insert into weft.orgs (name, slug) values ('Other', 'other') returning id")
        await acquire(tx)
    async with database.tx(org=other) as tx:
        assert await locks.held(tx, org_id=ORG) == []
        assert await locks.acquire(tx, org_id=other, name="deploy", duration=MINUTE, owner="me") is not None


async def test_locks_long_over_are_swept(tx: Tx) -> None:
    await acquire(tx)
    assert await locks.sweep(tx) == 0
    await tx.run("update weft.locks set expires_at = weft.now() - interval '2 hours'")
    assert await locks.sweep(tx) == 1
