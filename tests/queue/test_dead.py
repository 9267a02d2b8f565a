"""The dead letter list: look, redrive, discard. And what else can be seen of tasks."""

import uuid

import pytest

import hands
from hands import ORG
from weft.base import errors
from weft.db.tx import Tx
from weft.queue import tasks

ERROR = '{"type": "ValueError", "message": "no"}'


async def die(tx: Tx, count: int = 1, **options: object) -> list[str]:
    made = [await hands.put(tx, max_attempts=1, **options) for _ in range(count)]
    held = await hands.claim_plain(tx) + await hands.claim_special(tx)
    await hands.end(tx, held, "failed", error=ERROR)
    return made


def identifiers(made: list[str]) -> list[uuid.UUID]:
    return [uuid.UUID(id) for id in made]


async def dead(tx: Tx, **filters: object) -> list[str]:
    return [str(task.id) for task in await tasks.dead(tx, org=ORG, **filters)]  # type: ignore[arg-type]


async def redrive(tx: Tx, made: list[str]) -> list[str]:
    return [str(id) for id in await tasks.redrive(tx, org=ORG, ids=identifiers(made), actor="ann")]


async def test_the_list_is_newest_first_in_pages_and_filtered(tx: Tx) -> None:
    made = await die(tx, 5)
    [sms] = [await hands.put(tx, "sms", queue="slow", max_attempts=1)]
    await hands.end(tx, await hands.claim_plain(tx, kinds=["sms"]), "timed_out")
    assert await dead(tx) == [sms, *made[::-1]]
    assert await dead(tx, take=2, before=uuid.UUID(made[4])) == [made[3], made[2]]
    assert await dead(tx, kind="sms") == [sms] == await dead(tx, queue="slow")


async def test_only_the_dead_are_on_the_list(tx: Tx) -> None:
    await hands.put_many(tx, 4)
    for task, how in zip(await hands.claim_plain(tx), ("completed", "discarded", "cancelled", "failed"), strict=True):
        await hands.end(tx, [task], how, retryable=False)  # type: ignore[arg-type]
    assert await dead(tx) == []


async def test_a_redriven_task_is_the_same_task_with_attempts_counted_anew(tx: Tx) -> None:
    [id] = await die(tx, tags=["t"], payload={"a": 1}, priority=80)
    assert await redrive(tx, [id]) == [id]
    assert await dead(tx) == [] and await hands.count(tx, "task_history") == 0
    task = await hands.look(tx, id)
    assert (task.state, task.attempt, task.uncounted, task.priority, task.tags) == ("ready", 1, 1, 80, ["t"])
    assert [past["outcome"] for past in task.attempts or []] == ["failed"]
    held = await hands.claim_one(tx)
    assert (held.attempt, held.payload) == (2, '{"a": 1}')
    await hands.end(tx, [held], "failed", error=ERROR)
    assert await dead(tx) == [id]
    assert len((await hands.look(tx, id)).attempts or []) == 1


async def test_a_task_lost_too_often_is_redriven_without_its_losses(tx: Tx) -> None:
    id = await hands.put(tx)
    for _ in range(3):
        await hands.end(tx, [await hands.claim_one(tx)], "lost")
    assert await dead(tx) == [id]
    await redrive(tx, [id])
    assert (await hands.look(tx, id)).losses == 0 and len(await hands.claim_plain(tx)) == 1


async def test_redriving_takes_what_did_not_succeed_and_leaves_the_rest(tx: Tx) -> None:
    done, live = await hands.put(tx), await hands.put(tx, delay=60)
    await hands.end(tx, await hands.claim_plain(tx))
    dead_ones = await die(tx, 2)
    asked = [done, live, *dead_ones, str(uuid.uuid4())]
    assert sorted(await redrive(tx, asked)) == dead_ones
    assert await hands.states(tx, [done, live]) == ["completed", "scheduled"]
    assert await redrive(tx, asked) == []


async def test_another_orgs_dead_are_not_ours_to_touch(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    [id] = await die(tx, org=other)
    assert await redrive(tx, [id]) == []
    assert await tasks.discard(tx, org=ORG, ids=identifiers([id]), actor="ann") == []
    assert await dead(tx) == []
    assert (await hands.look(tx, id, org=other)).dead


async def test_a_dead_task_that_was_replaced_under_its_key_stays_dead(tx: Tx) -> None:
    [old] = await die(tx, dedupe_key="k")
    await hands.put(tx, dedupe_key="k")
    assert await redrive(tx, [old]) == []
    assert await dead(tx) == [old]


async def test_of_several_dead_with_one_key_the_newest_is_redriven(tx: Tx) -> None:
    [old], [new] = await die(tx, dedupe_key="k"), await die(tx, dedupe_key="k")
    assert await redrive(tx, [old, new]) == [new]
    assert await dead(tx) == [old]


async def test_a_redriven_task_is_held_to_its_key(tx: Tx) -> None:
    [id] = await die(tx, concurrency_key="k")
    await hands.put(tx, concurrency_key="k")
    [held] = await hands.claim_special(tx)
    await redrive(tx, [id])
    assert await hands.claim_special(tx) == []
    await hands.end(tx, [held])
    assert [task.id for task in await hands.claim_special(tx)] == [id]


async def test_a_discarded_task_leaves_the_list_for_good_and_stays_in_history(tx: Tx) -> None:
    made = await die(tx, 2)
    assert await tasks.discard(tx, org=ORG, ids=identifiers(made[:1]), actor="ann") == identifiers(made[:1])
    assert await dead(tx) == made[1:]
    seen = await hands.look(tx, made[0])
    assert (seen.state, seen.reason, seen.dead) == ("cancelled", "discarded", False)
    assert await tasks.discard(tx, org=ORG, ids=identifiers(made[:1]), actor="ann") == []


async def test_what_people_do_to_the_dead_is_journaled_and_in_the_feed(tx: Tx) -> None:
    made = await die(tx, 2)
    await tx.run("delete from weft.change_inbox")
    await redrive(tx, made[:1])
    await tasks.discard(tx, org=ORG, ids=identifiers(made[1:]), actor="ann")
    assert await tx.rows("select actor, action, object_id from weft.journal order by id") == [
        ("ann", "task.redrive", made[0]), ("ann", "task.discard", made[1])]  # fmt: skip
    assert await tx.rows("select ids::text[] from weft.change_inbox order by id") == [([made[0]],), ([made[1]],)]


async def test_a_task_is_found_by_its_own_org_only(tx: Tx) -> None:
    id = await hands.put(tx)
    with pytest.raises(errors.NotFound):
        await hands.look(tx, id, org=uuid.uuid4())
    with pytest.raises(errors.NotFound):
        await hands.look(tx, str(uuid.uuid4()))


async def test_an_ending_is_none_until_there_is_one(tx: Tx) -> None:
    id = await hands.put(tx)
    assert await tasks.ending(tx, id=uuid.UUID(id), org=ORG) is None
    await hands.end(tx, [await hands.claim_one(tx)], result="[1]")
    ending = await tasks.ending(tx, id=uuid.UUID(id), org=ORG)
    assert ending is not None and (ending.state, ending.result) == ("completed", [1])


async def test_stats_count_what_waits_and_runs(tx: Tx) -> None:
    await hands.put_many(tx, 3)
    await hands.put(tx, delay=60)
    for _ in range(2):
        await hands.put(tx, queue="other", concurrency_key="k")
    await hands.claim_plain(tx, 1)
    await tx.run("update weft.tasks set run_at = run_at - interval '60 seconds' where state = 'ready'")
    first, second = await tasks.stats(tx, org=ORG)
    assert (first.queue, first.ready, first.scheduled, first.blocked, first.running) == ("default", 2, 1, 0, 1)
    assert (second.queue, second.ready, second.blocked) == ("other", 1, 1)
    assert 59 < first.oldest_seconds < 90
    assert await tasks.stats(tx, org=uuid.uuid4()) == []
