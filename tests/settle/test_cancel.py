"""Cancelling: the queued at once, the running are told and then forced, from Python and from SQL."""

import datetime as dt
import uuid

import hands
from hands import ORG
from weft.db.tx import Tx
from weft.queue import claim, lease, promote
from weft.settle import rescue

GRACE = dt.timedelta(seconds=30)


async def cancel(tx: Tx, id: str) -> str:
    return await rescue.cancel_one(tx, id=uuid.UUID(id), org=ORG)


async def sql_cancel(tx: Tx, id: str) -> str:
    return str(await tx.value("select weft.cancel(%(id)s::uuid)", {"id": id}))


async def test_a_queued_task_is_cancelled_at_once(tx: Tx) -> None:
    ready, scheduled = await hands.put(tx), await hands.put(tx, delay=60)
    assert [await cancel(tx, ready), await cancel(tx, scheduled)] == ["cancelled", "cancelled"]
    for id in (ready, scheduled):
        seen = await hands.look(tx, id)
        assert (seen.state, seen.reason, seen.attempt, seen.dead) == ("cancelled", "requested", 0, False)
    assert await claim.lanes(tx) == []


async def test_a_running_task_is_told_by_its_nodes_next_beat_and_once(tx: Tx) -> None:
    id = await hands.put(tx)
    held = await hands.claim_one(tx)
    assert [await cancel(tx, id), await sql_cancel(tx, id)] == ["cancelling", "cancelling"]
    assert await lease.cancelled_on(tx, node_id=hands.NODE, grace=GRACE) == [(id, False)]
    assert await lease.cancelled_on(tx, node_id=str(uuid.uuid4()), grace=GRACE) == []
    await hands.end(tx, [held], "cancelled")
    assert ((await hands.look(tx, id)).state, await cancel(tx, id)) == ("cancelled", "finished")


async def test_a_running_task_that_does_not_listen_is_ended_after_the_grace_time(tx: Tx) -> None:
    id = await hands.put(tx)
    held = await hands.claim_one(tx)
    await cancel(tx, id)
    assert await rescue.cancelled(tx) == 0
    await tx.run("update weft.tasks set cancel_requested_at = cancel_requested_at - interval '31 seconds'")
    assert await lease.cancelled_on(tx, node_id=hands.NODE, grace=GRACE) == [(id, True)]
    assert await rescue.cancelled(tx) == 1
    seen = await hands.look(tx, id)
    assert (seen.state, seen.reason) == ("cancelled", "requested")
    # with the token it held when it was ended, a late finish gets the answer of the ending
    assert (await hands.end(tx, [held])).lost == []
    assert (await hands.look(tx, id)).state == "cancelled"


async def test_what_completed_although_it_was_asked_to_end_completed(tx: Tx) -> None:
    id = await hands.put(tx)
    held = await hands.claim_one(tx)
    await cancel(tx, id)
    await hands.end(tx, [held], result="1")
    assert (await hands.look(tx, id)).state == "completed"


async def test_a_finished_and_an_unknown_task_say_so(tx: Tx) -> None:
    id = await hands.put(tx)
    await hands.end(tx, [await hands.claim_one(tx)])
    for ask in (cancel, sql_cancel):
        assert await ask(tx, id) == "finished"
        assert await ask(tx, str(uuid.uuid4())) == "unknown"


async def test_another_orgs_task_is_unknown(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    id = await hands.put(tx, org=other)
    assert [await cancel(tx, id), await sql_cancel(tx, id)] == ["unknown", "unknown"]
    assert (await hands.look(tx, id, org=other)).state == "ready"


async def test_sql_takes_a_queued_task_out_of_the_claim_order_and_the_chore_ends_it(tx: Tx) -> None:
    ids = [await hands.put(tx), await hands.put(tx, delay=60), await hands.put(tx, concurrency_key="k")]
    assert [await sql_cancel(tx, id) for id in ids] == ["cancelled"] * 3
    assert await hands.claim_plain(tx) == [] and await hands.claim_special(tx) == []
    await hands.make_due(tx, *ids)
    assert await promote.once(tx) == 0 and await promote.unblock(tx) == 0
    assert await rescue.cancelled(tx) == 3
    assert await hands.states(tx, ids) == ["cancelled"] * 3
    assert await rescue.cancelled(tx) == 0


async def test_a_task_that_fails_before_it_heard_is_not_run_again(tx: Tx) -> None:
    for how in ("failed", "snoozed", "released"):
        id = await hands.put(tx)
        held = await hands.claim_one(tx)
        await sql_cancel(tx, id)
        await hands.end(tx, [held], how, delay=0.0)
        assert await hands.claim_plain(tx) == []
        assert await rescue.cancelled(tx) == 1
        assert (await hands.look(tx, id)).state == "cancelled"


async def test_a_cancelled_task_lets_the_next_of_its_key_in(tx: Tx) -> None:
    first, second, third = [await hands.put(tx, concurrency_key="k", concurrency="strict") for _ in range(3)]
    assert await cancel(tx, second) == "cancelled"
    assert await cancel(tx, first) == "cancelled"
    assert [task.id for task in await hands.claim_special(tx)] == [third]


async def test_a_cancelled_task_frees_its_dedupe_key(tx: Tx) -> None:
    first = await hands.put(tx, dedupe_key="k")
    await cancel(tx, first)
    assert await hands.put(tx, dedupe_key="k") != first


async def test_a_rolled_back_cancel_changes_nothing(tx: Tx) -> None:
    id = await hands.put(tx)
    await tx.run("savepoint before")
    await cancel(tx, id)
    await tx.run("rollback to savepoint before")
    assert (await hands.look(tx, id)).state == "ready"


async def test_a_cancel_is_in_the_change_feed(tx: Tx) -> None:
    id = await hands.put(tx)
    await tx.run("delete from weft.change_inbox")
    await sql_cancel(tx, id)
    assert await tx.rows("select op, ids::text[] from weft.change_inbox") == [("UPDATE", [id])]
