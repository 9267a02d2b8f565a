"""The notify hub: many listeners on one connection, re-made when it drops, and everybody woken then."""

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from weft.base import errors
from weft.db.database import Database
from weft.db.notify import Hub


class Heard:
    """What a listener was told; `soon` waits for the next word."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str | None] = asyncio.Queue()

    def __call__(self, payload: str | None) -> None:
        self.words.put_nowait(payload)

    async def soon(self) -> str | None:
        async with asyncio.timeout(10):
            return await self.words.get()


@pytest.fixture
async def hub(database: Database) -> AsyncIterator[Hub]:
    made = Hub(database)
    running = asyncio.create_task(made.run())
    yield made
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.fixture
async def heard(hub: Hub) -> Heard:
    listener = Heard()
    hub.add("weft_wake", listener)
    # the first word: whatever was said before could not be heard
    assert await listener.soon() is None
    return listener


async def say(database: Database, payload: str, channel: str = "weft_wake") -> None:
    async with database.once() as tx:
        await tx.run("select pg_notify(%(channel)s, %(payload)s)", {"channel": channel, "payload": payload})


async def test_listeners_hear_their_own_channel(database: Database, hub: Hub, heard: Heard) -> None:
    second, changes = Heard(), Heard()
    hub.add("weft_wake", second)
    hub.add("weft_changes", changes)
    await say(database, "7", "weft_changes")
    await say(database, "post")
    assert [await heard.soon(), await second.soon(), await changes.soon()] == ["post", "post", "7"]
    assert hub.healthy


async def test_one_that_left_hears_no_more(database: Database, hub: Hub, heard: Heard) -> None:
    leaving = Heard()
    leave = hub.add("weft_wake", leaving)
    leave()
    leave()
    await say(database, "post")
    assert await heard.soon() == "post" and leaving.words.empty()


async def test_a_dropped_connection_is_made_again_and_everybody_is_woken(
    database: Database, hub: Hub, heard: Heard, database_url: str
) -> None:
    with psycopg.connect(database_url, autocommit=True) as owner:
        dropped = owner.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and application_name = 'weft reserved'"
        ).fetchall()
    assert dropped == [(True,)]
    assert await heard.soon() is None
    await say(database, "again")
    assert await heard.soon() == "again" and hub.healthy


async def test_a_channel_nobody_speaks_on_is_refused(hub: Hub) -> None:
    with pytest.raises(errors.InvalidInput, match="channels: weft_wake, weft_changes"):
        hub.add("gossip", lambda _: None)
