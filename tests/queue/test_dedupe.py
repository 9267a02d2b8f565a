"""Dedupe: one task per (org, kind, key) among the unfinished, for ever, or for a while."""

import asyncio

import psycopg
import pytest

import hands
from weft.app import App
from weft.base import errors
from weft.db.database import Database
from weft.db.tx import Tx
from weft.queue import enqueue, new, prune
from weft.queue.model import Enqueued


async def put(tx: Tx, key: str = "k", kind: str = "mail", **options: object) -> Enqueued:
    arguments = new.arguments(kind, {}, declared=None, options={"dedupe_key": key, **options})  # type: ignore[typeddict-item]
    return await enqueue.one(tx, arguments)


async def finish_everything(tx: Tx) -> None:
    await hands.end(tx, await hands.claim_plain(tx))


async def expire(tx: Tx) -> None:
    await tx.run("update weft.dedupe_keys set expires_at = weft.now() - interval '1 second' where expires_at is not null")


async def test_a_hit_answers_the_task_that_is_there_and_says_so(tx: Tx) -> None:
    first, second = await put(tx), await put(tx)
    assert (first.created, second) == (True, Enqueued(first.id, False))
    assert await hands.count(tx) == 1


async def test_keys_are_apart_per_org_and_per_kind(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    made = [await put(tx), await put(tx, kind="sms"), await put(tx, org=other), await put(tx, key="l")]
    assert all(one.created for one in made)


async def test_among_the_unfinished_a_key_is_free_again_when_its_task_has_ended(tx: Tx) -> None:
    first = await put(tx)
    [held] = await hands.claim_plain(tx)
    assert not (await put(tx)).created
    await hands.end(tx, [held])
    again = await put(tx)
    assert again.created and again.id != first.id


async def test_a_task_that_waits_for_its_retry_keeps_its_key(tx: Tx) -> None:
    first = await put(tx)
    await hands.end(tx, await hands.claim_plain(tx), "failed", delay=60.0)
    assert await put(tx) == Enqueued(first.id, False)


async def test_for_ever_means_also_after_the_task_has_ended(tx: Tx) -> None:
    first = await put(tx, dedupe="forever")
    await finish_everything(tx)
    await expire(tx)
    await prune.dedupe_keys(tx)
    assert await put(tx, dedupe="forever") == Enqueued(first.id, False)


async def test_a_window_ends(tx: Tx) -> None:
    first = await put(tx, dedupe="1h")
    await finish_everything(tx)
    assert await put(tx, dedupe="1h") == Enqueued(first.id, False)
    await expire(tx)
    second = await put(tx, dedupe="1h")
    assert second.created and second.id != first.id
    assert await put(tx, dedupe="1h") == Enqueued(second.id, False)


async def test_only_expired_keys_are_pruned(tx: Tx) -> None:
    await put(tx, "a", dedupe="forever")
    await put(tx, "b", dedupe="1h")
    assert await prune.dedupe_keys(tx) == 0
    await expire(tx)
    assert await prune.dedupe_keys(tx) == 1
    assert await tx.rows("select dedupe_key from weft.dedupe_keys") == [("a",)]


@pytest.mark.parametrize("scope", ["unfinished", "forever", "1 hour"])
async def test_eight_connections_at_once_make_one(database: Database, scope: str) -> None:
    async def one() -> Enqueued:
        async with database.tx() as tx:
            return await put(tx, dedupe=scope.replace(" hour", "h"))

    made = await asyncio.gather(*(one() for _ in range(8)))
    assert len({enqueued.id for enqueued in made}) == 1
    assert [enqueued.created for enqueued in made].count(True) == 1
    async with database.tx() as tx:
        assert await hands.count(tx) == 1


async def test_a_rolled_back_enqueue_leaves_no_key(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        for dedupe in ("unfinished", "forever"):
            connection.execute("select weft.enqueue('mail', dedupe_key => 'k', dedupe => %s)", (dedupe,))
            connection.rollback()
        found = connection.execute("select created from weft.try_enqueue('mail', dedupe_key => 'k', dedupe => 'forever')")
        assert found.fetchone() == (True,)


async def test_many_with_keys_say_of_each_whether_it_is_new(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        app.task(name="mail")(lambda: None)
        first = await app.enqueue_many("mail", [{}, {}], dedupe_keys=["b", "a"])
        second = await app.enqueue_many("mail", [{}, {}, {}], dedupe_keys=["c", "a", "a"])
        assert [one.created for one in first] == [True, True]
        assert [one.created for one in second] == [True, False, False]
        assert second[1].id == second[2].id == first[1].id
        with pytest.raises(errors.InvalidInput, match="2 payloads need as many dedupe_keys, not 1"):
            await app.enqueue_many("mail", [{}, {}], dedupe_keys=["x"])


async def test_many_with_the_same_keys_in_another_order_do_not_deadlock(database: Database) -> None:
    common = new.common("mail", declared=None, options={})

    async def many(keys: list[str]) -> None:
        async with database.tx() as tx:
            await enqueue.many(tx, common, pieces=enqueue.chunks([{} for _ in keys], dedupe_keys=keys))

    keys = [f"{n:03}" for n in range(200)]
    await asyncio.gather(*(many(order) for order in (keys, keys[::-1]) * 4))
    async with database.tx() as tx:
        assert await hands.count(tx) == 200


async def test_sql_many_answers_the_id_that_was_there(tx: Tx) -> None:
    first = await put(tx)
    rows = await tx.rows("""select weft.enqueue_many('mail', '[{}, {}]', dedupe_keys => '{z,k}')""")
    assert [id for (id,) in rows][1] == first.id and await hands.count(tx) == 2


async def test_in_sql_a_key_without_a_scope_is_unique_among_the_unfinished(tx: Tx) -> None:
    say = "select created from weft.try_enqueue('mail', dedupe_key => 'k', dedupe => null)"
    assert [await tx.value(say), await tx.value(say)] == [True, False]


@pytest.mark.parametrize("window", ["-1 hour", "0 seconds"])
async def test_in_sql_a_window_that_is_over_before_it_begins_is_refused(database: Database, window: str) -> None:
    with pytest.raises(errors.InvalidInput, match="positive interval"):
        async with database.tx() as tx:
            await tx.run("select weft.enqueue('mail', dedupe_key => 'k', dedupe => %(window)s)", {"window": window})


async def test_a_key_that_is_in_the_way_cannot_be_forgotten_before_its_task_is_answered(database: Database) -> None:
    async with database.tx() as tx:
        first = await put(tx, dedupe="1h")
    async with database.tx() as tx:
        assert await put(tx, dedupe="1h") == Enqueued(first.id, False)
        async with database.tx() as other:
            locked = "select from weft.dedupe_keys for update skip locked"
            assert await other.rows(locked) == []
