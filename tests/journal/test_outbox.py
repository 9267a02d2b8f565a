"""The outbox: a letter commits with its reason, is taken by one sender at a time, and is given up after the last try."""

import datetime as dt
import uuid

import hands
from weft.base import ids
from weft.db.database import Database
from weft.db.tx import Tx
from weft.journal import outbox


async def post(tx: Tx, subject: uuid.UUID | None = None) -> uuid.UUID:
    return await outbox.post(
        tx, org=ids.DEFAULT_ORG, topic="test", subject=subject or uuid.uuid4(), url="https://example.com/", body="{}"
    )


async def due_now(tx: Tx) -> None:
    await tx.run("update weft.outbox set next_at = weft.now()")


def test_pauses_grow_and_end() -> None:
    pauses = [outbox.pause(attempt) for attempt in range(1, outbox.TRIES + 1)]
    assert pauses[-1] is None and None not in pauses[:-1]
    known = [pause for pause in pauses if pause is not None]
    assert known == sorted(known) and sum(known, dt.timedelta()) > dt.timedelta(hours=6)


async def test_two_senders_take_each_letter_once(database: Database) -> None:
    async with database.tx() as tx:
        made = {await post(tx) for _ in range(10)}
        assert (await hands.stirs(tx))["outbox"] <= 0
    async with database.tx() as one, database.tx() as two:
        first, second = await outbox.take(one, take=6), await outbox.take(two, take=6)
    assert {letter.id for letter in [*first, *second]} == made and len(first) + len(second) == 10
    async with database.tx() as tx:
        assert (await hands.stirs(tx))["outbox"] > 50 and await outbox.take(tx) == []


async def test_a_sender_that_took_too_long_has_no_say(tx: Tx) -> None:
    await post(tx)
    [slow] = await outbox.take(tx)
    await due_now(tx)
    [quick] = await outbox.take(tx)
    assert (slow.id, slow.attempt, quick.attempt) == (quick.id, 1, 2)
    await outbox.delivered(tx, quick, status=204)
    await outbox.failed(tx, slow, problem="late", status=None)
    [seen] = await tx.rows("select state, attempts, status, problem from weft.outbox")
    assert tuple(seen) == ("delivered", 2, 204, None)


async def test_it_is_dead_after_the_last_try_and_then_stays(tx: Tx) -> None:
    subject = uuid.uuid4()
    await post(tx, subject)
    for _ in range(outbox.TRIES):
        [letter] = await outbox.take(tx)
        await outbox.failed(tx, letter, problem="no" * 1000, status=500)
        await due_now(tx)
    assert await outbox.take(tx) == []
    [seen] = await outbox.about(tx, org=ids.DEFAULT_ORG, subject=subject)
    assert (seen.state, seen.attempts, seen.status) == ("dead", outbox.TRIES, 500) and len(seen.problem or "") == 500


async def test_an_org_sees_its_own_letters(database: Database) -> None:
    subject = uuid.uuid4()
    async with database.tx() as tx:
        other = await hands.new_org(tx, "other")
        await post(tx, subject)
    async with database.tx(org=other) as tx:
        assert await outbox.about(tx, org=ids.DEFAULT_ORG, subject=subject) == []
        assert await tx.value("select count(*) from weft.outbox") == 0
    async with database.tx(org=ids.DEFAULT_ORG) as tx:
        assert len(await outbox.about(tx, org=ids.DEFAULT_ORG, subject=subject)) == 1
