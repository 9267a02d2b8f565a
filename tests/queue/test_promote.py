"""Letting due work into the claim index, and knowing when the next is due."""

import asyncio

import psycopg

import hands
from weft.db.database import Database
from weft.db.tx import Tx
from weft.queue import promote


async def test_only_what_is_due_becomes_ready(tx: Tx) -> None:
    due, later = await hands.put(tx, delay=60), await hands.put(tx, delay=60)
    assert await promote.once(tx) == 0
    await hands.make_due(tx, due)
    assert await promote.once(tx) == 1
    assert await hands.states(tx, [due, later]) == ["ready", "scheduled"]
    assert [task.id for task in await hands.claim_plain(tx)] == [due]


async def test_a_batch_is_bounded_and_takes_the_oldest_first(tx: Tx) -> None:
    made = await hands.put_many(tx, promote.BATCH + 5, delay=60)
    await hands.make_due(tx, *made)
    await tx.run("update weft.tasks set run_at = run_at - interval '1 hour' where id = %(id)s", {"id": made[-1]})
    assert await promote.once(tx) == promote.BATCH
    assert (await hands.look(tx, made[-1])).state == "ready"
    assert await promote.once(tx) == 5


async def test_the_next_due_task_is_known(tx: Tx) -> None:
    assert "promoter" not in await hands.stirs(tx)
    await hands.put(tx, delay=120)
    soon = await hands.put(tx, delay=60)
    assert 50 < (await hands.stirs(tx))["promoter"] <= 60
    await hands.make_due(tx, soon)
    assert (await hands.stirs(tx))["promoter"] < 0


async def test_promoting_wakes_the_queues_that_have_work_now(database: Database, database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as listening:
        await listening.execute("listen weft_wake")
        async with database.tx() as tx:
            made = [await hands.put(tx, queue=queue, delay=60) for queue in ("a", "b", "b")]
            await hands.make_due(tx, *made)
            assert await promote.once(tx) == 3
        heard = {note.payload async for note in listening.notifies(timeout=5, stop_after=2)}
    assert heard == {"* a", "* b"}


async def test_two_promoters_at_once_promote_each_task_once(database: Database) -> None:
    async with database.tx() as tx:
        await hands.make_due(tx, *await hands.put_many(tx, 300, delay=60))

    async def promoter() -> int:
        async with database.tx() as tx:
            return await promote.once(tx)

    assert sum(await asyncio.gather(*(promoter() for _ in range(4)))) == 300


async def test_a_failed_attempt_comes_back_when_its_delay_is_over(tx: Tx) -> None:
    id = await hands.put(tx)
    await hands.end(tx, [await hands.claim_one(tx)], "failed", delay=30.0)
    await promote.once(tx)
    assert await hands.claim_plain(tx) == []
    await hands.make_due(tx, id)
    await promote.once(tx)
    assert (await hands.claim_one(tx)).attempt == 2
