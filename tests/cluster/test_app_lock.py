"""`app.lock`: one at a time, for as long as the block runs, and no longer than it says after a death."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator

import pytest

from weft.app import App
from weft.base import errors, ids
from weft.cluster import locks


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        yield made


async def test_a_lock_is_held_while_the_block_runs_and_free_afterwards(app: App) -> None:
    async with app.lock("report", owner="me", metadata={"why": "test"}) as lock:
        assert (lock.name, lock.owner, lock.metadata) == ("report", "me", {"why": "test"})
        with pytest.raises(errors.Conflict, match="report"):
            async with app.lock("report", wait=0):
                pass
    async with app.lock("report", wait=0):
        pass


async def test_who_waits_gets_it_when_it_is_free(app: App) -> None:
    order: list[str] = []

    async def second() -> None:
        async with app.lock("report"):
            order.append("second")

    async with app.lock("report"):
        waiting = asyncio.create_task(second())
        await asyncio.sleep(0)
        order.append("first")
    await asyncio.wait_for(waiting, 30)
    assert order == ["first", "second"]


async def test_it_is_extended_while_the_block_runs(app: App) -> None:
    async with app.lock("report", expires=0.3) as lock:
        while True:
            async with app.tx() as tx:
                now = await locks.check(tx, org_id=ids.DEFAULT_ORG, name="report")
            assert now is not None and now.token == lock.token
            if now.expires_at > lock.expires_at + dt.timedelta(seconds=0.3):
                break
            await asyncio.sleep(0.01)


async def test_that_it_was_taken_away_is_heard_of_unless_something_worse_is(app: App) -> None:
    async def take_away() -> None:
        async with app.tx() as tx:
            await locks.force(tx, org_id=ids.DEFAULT_ORG, name="report", actor="test")

    with pytest.raises(errors.LockLost):
        async with app.lock("report"):
            await take_away()
    with pytest.raises(ZeroDivisionError):
        async with app.lock("report"):
            await take_away()
            raise ZeroDivisionError


async def test_a_block_that_raises_gives_it_back(app: App) -> None:
    with pytest.raises(ZeroDivisionError):
        async with app.lock("report"):
            raise ZeroDivisionError
    async with app.lock("report", wait=0):
        pass
