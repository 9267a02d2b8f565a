"""Settling: fenced by the token, all that follows in one transaction, the same answer when said twice."""

import asyncio
import dataclasses
import datetime as dt
import typing
import uuid

import msgspec
import pytest

import hands
from hands import ORG
from weft.db.database import Database
from weft.db.tx import Tx
from weft.queue import lease, promote, tasks
from weft.queue.lease import Line, Progress
from weft.queue.model import Claimed
from weft.settle import settle
from weft.settle.outcome import How, Outcome

ERROR = '{"type": "ValueError", "message": "no", "traceback": ["a", "b"]}'


async def held_one(tx: Tx, **options: object) -> Claimed:
    await hands.put(tx, **options)
    return await hands.claim_one(tx)


async def stale(tx: Tx) -> Claimed:
    """An attempt that was taken away and given to somebody else."""
    old = await held_one(tx)
    await hands.end(tx, [old], "released")
    assert (await hands.claim_one(tx)).token != old.token
    return old


async def test_a_completed_task_moves_to_history_with_its_result(tx: Tx) -> None:
    task = await held_one(tx, payload={"a": 1}, tags=["t"])
    settled = await hands.end(tx, [task], result='{"ok": true}', started=0.0001)
    assert (settled.lost, settled.wake) == ([], [])
    seen = await hands.look(tx, task.id)
    assert (seen.state, seen.reason, seen.result, seen.error) == ("completed", None, {"ok": True}, None)
    assert (seen.payload, seen.tags, seen.attempt) == ({"a": 1}, ["t"], 1)
    assert seen.finished_at is not None and seen.claimed_at is not None
    assert seen.started_at == seen.claimed_at + dt.timedelta(seconds=0.0001) < seen.finished_at
    assert await hands.count(tx) == 0 and await hands.count(tx, "task_history") == 1


async def test_a_completion_said_twice_in_one_batch_counts_once(tx: Tx) -> None:
    task = await held_one(tx)
    other = await held_one(tx)
    said = [Outcome(task, "completed", "1"), Outcome(other, "completed"), Outcome(task, "completed", "2")]
    settled = await settle.settle(tx, said)
    assert settled.lost == [] and await hands.count(tx) == 0 and await hands.count(tx, "task_history") == 2
    assert (await hands.look(tx, task.id)).result == 1


async def test_a_batch_of_completions_ends_those_that_are_held_and_names_the_others(tx: Tx) -> None:
    lost, done = await stale(tx), await held_one(tx)
    again = await held_one(tx)
    await hands.end(tx, [again], result='"first"')
    said = [Outcome(lost, "completed"), Outcome(done, "completed", "[1]"), Outcome(again, "completed")]
    settled = await settle.settle(tx, said)
    assert [one.task.id for one in settled.lost] == [lost.id]
    assert [(one.task.id, state) for one, state in settled.repeated] == [(again.id, "completed")]
    assert (await hands.look(tx, done.id)).result == [1] and (await hands.look(tx, lost.id)).state == "running"


async def test_a_token_of_another_task_of_the_batch_ends_nothing(tx: Tx) -> None:
    """The fence is the pair: each of these tokens is somebody's, and none is this task's."""
    mine, other = await held_one(tx), await held_one(tx)
    forged = msgspec.structs.replace(mine, token=other.token)
    settled = await settle.settle(tx, [Outcome(forged, "completed"), Outcome(other, "completed")])
    assert [one.task.id for one in settled.lost] == [mine.id]
    assert (await hands.look(tx, mine.id)).state == "running"


async def test_a_completion_by_somebody_who_does_not_know_its_run_tells_the_run(tx: Tx) -> None:
    task = await held_one(tx)
    run = str(uuid.uuid4())
    await tx.run("update weft.tasks set run_id = %(run)s, step_id = %(run)s where id = %(id)s", {"run": run, "id": task.id})
    assert (await settle.settle(tx, [Outcome(task, "completed", "1")])).lost == []
    assert [str(id) for (id,) in await tx.rows("select run_id from weft.run_inbox")] == [run]


async def test_many_end_at_once_each_in_its_own_way(tx: Tx) -> None:
    await hands.put_many(tx, 6)
    done, failed, snoozed, discarded, refused, late = held = await hands.claim_plain(tx)
    await hands.end(tx, [late], "timed_out", retryable=False)
    settled = await settle.settle(tx, [
        Outcome(done, "completed", "1"), Outcome(failed, "failed", error=ERROR), Outcome(snoozed, "snoozed", delay=60.0),
        Outcome(discarded, "discarded"), Outcome(refused, "failed", error=ERROR, retryable=False),
    ])  # fmt: skip
    assert settled.lost == []
    seen = [await hands.look(tx, task.id) for task in held]
    assert [(one.state, one.reason) for one in seen] == [
        ("completed", None), ("scheduled", None), ("scheduled", None), ("cancelled", "discarded"), ("failed", "refused"),
        ("timed_out", "refused"),
    ]  # fmt: skip
    assert [one.uncounted for one in seen] == [0, 0, 1, 0, 0, 0]


async def test_a_retry_is_the_same_row_with_its_past_kept(tx: Tx) -> None:
    task = await held_one(tx)
    await hands.end(tx, [task], "failed", error=ERROR, delay=60.0)
    seen = await hands.look(tx, task.id)
    assert (seen.state, seen.attempt, seen.node_id, seen.claimed_at) == ("scheduled", 1, None, None)
    [past] = seen.attempts or []
    assert (past["attempt"], past["outcome"], past["node_id"]) == (1, "failed", hands.NODE)
    assert past["error"]["type"] == "ValueError"
    assert seen.error is not None and seen.run_at > dt.datetime.now(dt.UTC) + dt.timedelta(seconds=50)
    await hands.make_due(tx, task.id)
    await promote.once(tx)
    again = await hands.claim_one(tx)
    assert again.attempt == 2
    await hands.end(tx, [again])
    done = await hands.look(tx, task.id)
    assert (done.state, done.error, len(done.attempts or [])) == ("completed", None, 1)


async def test_a_task_that_used_up_its_attempts_is_dead(tx: Tx) -> None:
    await hands.put(tx, max_attempts=2)
    for _ in range(2):
        await hands.end(tx, [await hands.claim_one(tx)], "failed", error=ERROR, delay=0.0)
    [dead] = await tasks.dead(tx, org=ORG)
    assert (dead.state, dead.reason, dead.dead, dead.attempt) == ("failed", "dead", True, 2)
    assert dead.error is not None and dead.error["message"] == "no"


async def test_a_snooze_uses_up_no_attempt_however_often(tx: Tx) -> None:
    id = await hands.put(tx, max_attempts=1)
    for _ in range(5):
        await hands.end(tx, [await hands.claim_one(tx)], "snoozed", delay=0.0)
    seen = await hands.look(tx, id)
    assert (seen.state, seen.attempt, seen.uncounted, seen.attempts) == ("ready", 5, 5, None)


async def test_what_is_ready_again_wakes_its_queue(tx: Tx) -> None:
    task = await held_one(tx, queue="post")
    assert (await hands.end(tx, [task], "released")).wake == ["post"]
    assert (await hands.end(tx, [await hands.claim_one(tx)], "failed", delay=60.0)).wake == []


@pytest.mark.parametrize("how", typing.get_args(How))
async def test_a_stale_lease_can_end_nothing(tx: Tx, how: How) -> None:
    old = await stale(tx)
    before = await hands.look(tx, old.id)
    settled = await hands.end(tx, [old], how, result="1", delay=1.0)
    assert [outcome.task.id for outcome in settled.lost] == [old.id]
    assert await hands.look(tx, old.id) == before


async def test_a_stale_lease_in_a_batch_loses_alone(tx: Tx) -> None:
    old = await stale(tx)
    fresh = await held_one(tx)
    settled = await hands.end(tx, [old, fresh])
    assert [outcome.task.id for outcome in settled.lost] == [old.id]
    assert await hands.states(tx, [old.id, fresh.id]) == ["running", "completed"]


async def test_a_stale_lease_can_neither_log_nor_report_progress(tx: Tx) -> None:
    old = await stale(tx)
    line = Line(old.id, old.token, dt.datetime.now(dt.UTC), "info", "late", None)
    assert await lease.write_logs(tx, [line]) == 0
    assert await lease.report_progress(tx, [Progress(old.id, old.token, 50, "half", None)]) == set()
    assert await lease.still_held(tx, [(old.id, old.token)]) == set()
    assert (await hands.look(tx, old.id)).progress is None
    assert await tasks.logs(tx, id=uuid.UUID(old.id), org=ORG) == []


async def test_another_tasks_token_ends_nothing(tx: Tx) -> None:
    mine, other = await held_one(tx), await held_one(tx)
    forged = Outcome(other, "completed")
    forged.task = type(other)(**{**{name: getattr(other, name) for name in other.__struct_fields__}, "token": mine.token})
    assert len((await settle.settle(tx, [forged])).lost) == 1
    assert await hands.states(tx, [mine.id, other.id]) == ["running", "running"]


@pytest.mark.parametrize("how", ["completed", "discarded", "cancelled"])
async def test_finishing_twice_answers_the_same_both_times(tx: Tx, how: How) -> None:
    task = await held_one(tx)
    first = await hands.end(tx, [task], how, result="1")
    before = await hands.look(tx, task.id)
    second = await hands.end(tx, [task], how, result="2")
    assert (first.lost, first.wake) == (second.lost, second.wake)
    assert [state for _, state in second.repeated] == [before.state]
    assert await hands.look(tx, task.id) == before
    assert await hands.count(tx, "task_history") == 1


async def test_finishing_twice_in_one_batch_ends_it_once(tx: Tx) -> None:
    task, other = await held_one(tx), await held_one(tx)
    assert (await hands.end(tx, [task, task, other])).lost == []
    assert await hands.count(tx, "task_history") == 2


async def test_nothing_of_a_batch_is_kept_if_its_transaction_fails(database: Database) -> None:
    async with database.tx() as tx:
        await hands.put_many(tx, 2)
        held = await hands.claim_plain(tx)
    with pytest.raises(LookupError):
        async with database.tx() as tx:
            await hands.end(tx, held)
            raise LookupError
    async with database.tx() as tx:
        assert await hands.states(tx, [task.id for task in held]) == ["running", "running"]
        assert (await hands.end(tx, held)).lost == []


async def test_many_who_settle_tasks_of_the_same_keys_at_once_do_not_wait_for_each_other(database: Database) -> None:
    async with database.tx() as tx:
        for n in range(200):
            await hands.put(tx, concurrency_key=f"key {n % 5}", concurrency=8)
    ended: set[str] = set()

    async def worker(number: int) -> None:
        while len(ended) < 200:
            async with database.tx() as tx:
                held = await hands.claim_special(tx, 5, turn=number)
            async with database.tx() as tx:
                order = sorted(held, key=lambda task: task.id, reverse=bool(number % 2))
                assert (await hands.end(tx, order)).lost == []
            ended.update(task.id for task in held)

    async with asyncio.timeout(60):
        await asyncio.gather(*(worker(number) for number in range(8)))
    async with database.tx() as tx:
        assert (await hands.count(tx), await hands.count(tx, "task_history")) == (0, 200)


async def test_an_empty_batch_is_nothing_to_do(tx: Tx) -> None:
    assert dataclasses.astuple(await settle.settle(tx, [])) == ([], [], [], None)


async def test_every_ending_is_in_the_change_feed(tx: Tx) -> None:
    await hands.put_many(tx, 2)
    held = await hands.claim_plain(tx)
    await tx.run("delete from weft.change_inbox")
    await settle.settle(tx, [Outcome(held[0], "completed"), Outcome(held[1], "snoozed", delay=5.0)])
    found = await tx.rows("select op, ids::text[] from weft.change_inbox order by id")
    assert found == [("UPDATE", [held[0].id]), ("UPDATE", [held[1].id])]


async def test_results_of_any_json_survive(tx: Tx) -> None:
    texts = ["null", "0", '""', '"a\\"b\\\\c{},"', "[1,[2]]", '{"ä": "日本 \\n \\u0007"}', '"NULL"', "1e300", "true"]
    await hands.put_many(tx, len(texts))
    held = await hands.claim_plain(tx)
    await settle.settle(tx, [Outcome(task, "completed", text) for task, text in zip(held, texts, strict=True)])
    same = "select result = %(text)s::jsonb from weft.task_history where id = %(id)s"
    for task, text in zip(held, texts, strict=True):
        assert await tx.value(same, {"text": text, "id": task.id}) is True


async def test_a_batch_may_be_tried_again_in_every_way_at_once(tx: Tx) -> None:
    await hands.put_many(tx, 4)
    tasks_ = await hands.claim_plain(tx)
    ways: list[Outcome] = [
        Outcome(tasks_[0], "failed", error=ERROR, delay=1.5), Outcome(tasks_[1], "failed", delay=2),
        Outcome(tasks_[2], "lost"), Outcome(tasks_[3], "released"),
    ]  # fmt: skip
    assert (await settle.settle(tx, ways)).lost == []
    assert await hands.states(tx, [one.id for one in tasks_]) == ["scheduled", "scheduled", "ready", "ready"]
