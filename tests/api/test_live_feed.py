"""Following the feed: what a server does when it is told that there is news."""

import asyncio
import uuid
from collections.abc import Sequence

import pytest

from weft.api import live_feed
from weft.api.live_feed import Feed
from weft.db.database import Database
from weft.db.notify import Hub
from weft.journal import sequence
from weft.journal.feed import Change

PATIENCE = 60


async def test_news_is_read_at_once_and_does_not_make_it_sequence_more_often(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it sequences it notifies, itself included: it would go round as fast as it can, and every commit would wait."""
    monkeypatch.setattr(live_feed, "EVERY", 3600.0)
    heard: asyncio.Queue[Sequence[Change] | None] = asyncio.Queue()
    hub = Hub(database)
    listening = asyncio.create_task(hub.run())

    async def change(count: int) -> list[uuid.UUID]:
        made = [uuid.uuid4() for _ in range(count)]
        async with database.tx() as tx:
            for id in made:
                await tx.run(
                    "insert into weft.change_inbox (table_name, op, ids) values ('tasks', 'UPDATE', array[%(id)s::uuid])",
                    {"id": id},
                )
        return made

    async def sequenced() -> None:
        async with database.tx() as tx:
            await sequence.once(tx, take=1)

    try:
        async with asyncio.timeout(PATIENCE):
            while not hub.healthy:
                await asyncio.sleep(0.01)
            async with Feed(database, hub=hub, tell=heard.put_nowait).held():
                # it looks into the inbox when it begins; that is over when the first is heard
                await change(1)
                await sequenced()
                await heard.get()
                first, _second = await change(2)
                await sequenced()
                told = await heard.get()
                assert told is not None and [one.ids for one in told] == [[first]]
                async with database.tx() as tx:
                    assert await sequence.waiting(tx)
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
