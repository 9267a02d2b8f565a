"""Rescue: what was lost is counted apart, suspects are claimed with care, three losses are the end."""

import asyncio
import uuid

import hands
from hands import ORG
from weft.db.database import Database
from weft.db.tx import Tx
from weft.queue import claim, tasks
from weft.settle import rescue

OTHER_NODE = "22222222-2222-4222-8222-222222222222"


async def known(tx: Tx, node: str = hands.NODE, *, status: str = "active") -> None:
    await tx.run(
        "insert into weft.nodes (id, hostname, ip_address, pid, version, lease, status) "
        "values (%(id)s, 'h', 'i', 1, 'v', '10 s', %(status)s)",
        {"id": node, "status": status},
    )


async def age(tx: Tx) -> None:
    await tx.run("update weft.tasks set claimed_at = claimed_at - interval '1 minute' where claimed_at is not null")


async def test_the_tasks_of_a_dead_node_are_ready_again_at_once(tx: Tx) -> None:
    made = await hands.put_many(tx, 3)
    await hands.claim_plain(tx, 2)
    [elsewhere] = await hands.claim_plain(tx, node=OTHER_NODE)
    assert await rescue.nodes(tx, [hands.NODE]) == 2
    assert await hands.states(tx, made) == ["ready", "ready", "running"]
    assert elsewhere.id == made[2]
    assert await rescue.nodes(tx, [hands.NODE]) == 0 and await rescue.nodes(tx, []) == 0


async def test_a_loss_uses_up_no_attempt_and_is_kept_in_the_past(tx: Tx) -> None:
    id = await hands.put(tx, max_attempts=1)
    await hands.claim_one(tx)
    await rescue.nodes(tx, [hands.NODE])
    seen = await hands.look(tx, id)
    assert (seen.attempt, seen.uncounted, seen.losses) == (1, 1, 1)
    [past] = seen.attempts or []
    assert (past["outcome"], past["error"]["type"], past["node_id"]) == ("lost", "Lost", hands.NODE)


async def test_three_losses_are_the_end(tx: Tx) -> None:
    id = await hands.put(tx)
    for _ in range(3):
        assert (await hands.look(tx, id)).state == "ready"
        await hands.claim_one(tx)
        await rescue.nodes(tx, [hands.NODE])
    [dead] = await tasks.dead(tx, org=ORG)
    assert (str(dead.id), dead.state, dead.reason, dead.losses) == (id, "failed", "lost", 3)
    assert dead.error is not None and dead.error["message"] == "its worker died"
    assert dead.started_at is None and dead.finished_at is not None


async def test_a_suspect_is_not_plain_and_suspects_come_one_at_a_time(tx: Tx) -> None:
    await hands.put_many(tx, 3)
    await hands.claim_plain(tx)
    await rescue.nodes(tx, [hands.NODE])
    assert {lane.plain for lane in await claim.lanes(tx)} == {False}
    assert await hands.claim_plain(tx) == []
    assert [len(await hands.claim_special(tx)) for _ in range(4)] == [1, 1, 1, 0]


async def test_a_worker_that_can_run_them_apart_gets_all_the_suspects_of_one_loss_and_one_of_two(tx: Tx) -> None:
    await hands.put_many(tx, 3)
    await hands.claim_plain(tx)
    await rescue.nodes(tx, [hands.NODE])
    assert [len(await hands.claim_special(tx, suspects=10)) for _ in range(2)] == [3, 0]
    await rescue.nodes(tx, [hands.NODE])
    assert [len(await hands.claim_special(tx, suspects=10)) for _ in range(4)] == [1, 1, 1, 0]


async def test_a_suspect_that_fails_stays_a_suspect(tx: Tx) -> None:
    id = await hands.put(tx)
    await hands.claim_one(tx)
    await rescue.nodes(tx, [hands.NODE])
    await hands.end(tx, await hands.claim_special(tx), "failed", delay=0.0)
    assert await hands.claim_plain(tx) == []
    [held] = await hands.claim_special(tx)
    assert (held.id, held.losses, held.attempt) == (id, 1, 3)


async def test_tasks_of_a_node_nobody_knows_are_rescued_when_they_are_old(tx: Tx) -> None:
    await known(tx, OTHER_NODE)
    made = await hands.put_many(tx, 2)
    await hands.claim_plain(tx, 1)
    await hands.claim_plain(tx, 1, node=OTHER_NODE)
    assert await rescue.strays(tx) == 0
    await age(tx)
    assert await rescue.strays(tx) == 1
    assert await hands.states(tx, made) == ["ready", "running"]
    await tx.run("update weft.nodes set status = 'dead'")
    assert await rescue.strays(tx) == 1


async def test_a_lease_of_its_own_that_ran_out_is_rescued_and_one_that_holds_is_not(tx: Tx) -> None:
    made = await hands.put_many(tx, 2)
    await hands.claim_plain(tx)
    await tx.run(
        "update weft.tasks set lease_until = weft.now() + case id when %(id)s then -1 else 60 end * interval '1 second'",
        {"id": made[0]},
    )
    # the node's death is not the death of a lease of its own
    assert await rescue.nodes(tx, [hands.NODE]) == 0
    assert await rescue.leases(tx) == 1
    assert await hands.states(tx, made) == ["ready", "running"]


async def test_a_rescued_attempt_can_end_nothing_any_more(tx: Tx) -> None:
    await hands.put(tx)
    held = await hands.claim_one(tx)
    await rescue.nodes(tx, [hands.NODE])
    assert len((await hands.end(tx, [held])).lost) == 1
    again = await hands.claim_one(tx)
    assert len((await hands.end(tx, [held])).lost) == 1
    assert (await hands.end(tx, [again])).lost == []


async def test_a_finish_that_is_being_committed_is_not_rescued(database: Database) -> None:
    async with database.tx() as tx:
        await hands.put(tx)
        held = await hands.claim_one(tx)
    async with database.tx() as finishing, database.tx() as rescuing:
        await hands.end(finishing, [held])
        assert await rescue.nodes(rescuing, [hands.NODE]) == 0
    async with database.tx() as tx:
        assert (await hands.look(tx, held.id)).state == "completed"


async def test_a_finish_that_waits_for_a_rescue_is_told_that_it_lost(database: Database) -> None:
    async with database.tx() as tx:
        await hands.put(tx)
        held = await hands.claim_one(tx)

    async def finish() -> int:
        async with database.tx() as tx:
            return len((await hands.end(tx, [held], result="1")).lost)

    async with database.tx() as tx:
        await rescue.nodes(tx, [hands.NODE])
        finishing = asyncio.create_task(finish())
        waiting = "select exists (select from pg_locks where not granted and transactionid is not null)"
        while not await tx.value(waiting):
            await asyncio.sleep(0)
    assert await finishing == 1
    async with database.tx() as tx:
        assert (await hands.look(tx, held.id)).state == "ready"


async def test_a_lost_task_that_was_asked_to_end_ends(tx: Tx) -> None:
    await hands.put(tx)
    held = await hands.claim_one(tx)
    assert await rescue.cancel_one(tx, id=uuid.UUID(held.id), org=ORG) == "cancelling"
    await rescue.nodes(tx, [hands.NODE])
    seen = await hands.look(tx, held.id)
    assert (seen.state, seen.reason) == ("cancelled", "requested")


async def test_a_rescue_lets_the_next_of_its_key_in_and_wakes_the_queue(database: Database) -> None:
    async with database.tx() as tx:
        first = await hands.put(tx, concurrency_key="k", queue="post")
        second = await hands.put(tx, concurrency_key="k", queue="post")
        for _ in range(3):
            await hands.claim_special(tx)
            assert await rescue.nodes(tx, [hands.NODE]) == 1
        assert await hands.states(tx, [first, second]) == ["failed", "ready"]
