"""The sequencer: no reader passes a late commit."""

import asyncio

from weft.db.database import Database
from weft.db.tx import Tx
from weft.journal import feed, sequence


async def change(tx: Tx, table: str) -> None:
    await tx.run(
        "insert into weft.change_inbox (table_name, op, ids) values (%(table)s, 'INSERT', array[weft.uuid7()])",
        {"table": table},
    )


async def moved(database: Database, *, take: int = 1000) -> int:
    async with database.tx() as tx:
        return await sequence.once(tx, take=take)


async def read(database: Database, *, after: int) -> feed.Page:
    async with database.tx() as tx:
        return await feed.read(tx, after=after)


async def test_a_change_that_commits_late_comes_after_what_a_reader_has_seen(database: Database) -> None:
    async with database.tx() as late:
        await change(late, "late")
        async with database.tx() as early:
            await change(early, "early")
        assert await moved(database) == 1
        seen = await read(database, after=0)
        assert [one.table_name for one in seen.changes] == ["early"]
    assert await moved(database) == 1
    missed = await read(database, after=seen.next)
    assert [one.table_name for one in missed.changes] == ["late"]
    assert not missed.gap


async def test_changes_keep_the_order_they_came_in(tx: Tx) -> None:
    for number in range(20):
        await change(tx, str(number))
    assert await sequence.waiting(tx)
    assert await sequence.once(tx, take=15) == 15
    assert await sequence.once(tx, take=15) == 5
    assert not await sequence.waiting(tx)
    page = await feed.read(tx, after=0)
    assert [one.table_name for one in page.changes] == [str(number) for number in range(20)]


async def test_two_sequencers_do_not_work_at_once(database: Database) -> None:
    async with database.tx() as tx:
        await change(tx, "one")
    async with database.tx() as first:
        assert await sequence.once(first) == 1
        assert await moved(database) == 0
    assert await moved(database) == 0
    assert len((await read(database, after=0)).changes) == 1


async def test_readers_are_told_once_per_batch(database: Database) -> None:
    listener = await database.reserve()
    await listener.execute("listen weft_changes")
    async with database.tx() as tx:
        for number in range(5):
            await change(tx, str(number))
    await moved(database)
    notes = [note async for note in listener.notifies(timeout=5, stop_after=1)]
    assert [note.payload for note in notes] == ["5"]
    await listener.close()


async def test_readers_at_every_moment_miss_nothing(database: Database) -> None:
    writers = 8
    each = 25
    stop = asyncio.Event()
    seen: list[str] = []

    async def write(writer: int) -> None:
        for number in range(each):
            async with database.tx() as tx:
                await change(tx, f"{writer}.{number}")

    async def follow() -> None:
        position = 0
        while not stop.is_set() or (await moved(database)) > 0:
            await moved(database, take=7)
            page = await read(database, after=position)
            assert not page.gap
            seen.extend(one.table_name for one in page.changes)
            position = page.next
        seen.extend(one.table_name for one in (await read(database, after=position)).changes)

    following = asyncio.create_task(follow())
    await asyncio.gather(*(write(writer) for writer in range(writers)))
    stop.set()
    await asyncio.wait_for(following, 30)
    assert sorted(seen) == sorted(f"{writer}.{number}" for writer in range(writers) for number in range(each))
