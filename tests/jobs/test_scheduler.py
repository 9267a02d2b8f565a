"""The scheduler's transaction: next time, executions and tasks together, many jobs at once, each time once."""

import datetime as dt
from typing import Any

import pytest
from frozen import Frozen

import hands
from weft.access import orgs
from weft.base import errors, ids
from weft.db.database import Database
from weft.db.tx import Tx
from weft.jobs import executions, manage, prune, scheduler
from weft.jobs.model import Job

ORG = ids.DEFAULT_ORG
DAY = dt.timedelta(days=1)
HOUR = dt.timedelta(hours=1)
MINUTE = dt.timedelta(minutes=1)


async def make(tx: Tx, name: str = "nightly", **given: Any) -> Job:
    words: dict[str, Any] = {"name": name, "payload": {"task": "report", "args": {"n": 1}}, **given}
    if not words.keys() & {"cron_expression", "run_at", "delay_seconds"}:
        words["cron_expression"] = "* * * * *"
    return await manage.create(tx, words, org=ORG, actor="test")


async def late(tx: Tx, job: Job, by: dt.timedelta = dt.timedelta(0)) -> dt.datetime:
    """As if the job had been waiting for its last time, or for one before it; answers the time it waits for."""
    now = await tx.value("select date_trunc('minute', weft.now())")
    waiting: dt.datetime = now - by
    await tx.run(
        "update weft.jobs set next_run_time = %(at)s, due_at = %(at)s where id = %(id)s", {"id": job.id, "at": waiting}
    )
    return waiting


async def fire(tx: Tx) -> int:
    return await scheduler.once(tx)


async def states(tx: Tx, job: Job) -> list[tuple[dt.datetime, str]]:
    found, _ = await executions.page(tx, job_id=job.id, org=ORG, status=None, before=None, limit=2000)
    return [(one.scheduled_time, one.status) for one in reversed(found)]


async def test_a_due_job_gets_its_execution_its_task_and_its_next_time_together(tx: Tx) -> None:
    job = await make(tx, tags=["a"], queue="slow", priority=9, timeout_seconds=30, retry_config={"max_attempts": 7})
    at = await late(tx, job)
    assert await fire(tx) == 1
    after = await manage.get(tx, id=job.id, org=ORG)
    assert (after.next_run_time, after.last_run_time, after.status) == (at + MINUTE, at, "ACTIVE")
    assert await states(tx, job) == [(at, "QUEUED")]
    [task] = await tx.rows(
        "select e.id = t.id, t.kind, t.payload, t.queue, t.urgency, t.tags, t.max_attempts, t.timeout, t.job_id, "
        "t.scheduled_for, t.state from weft.tasks as t join weft.executions as e on e.id = t.id"
    )
    assert tuple(task) == (
        True, "report", {"n": 1}, "slow", 1, ["a"], 7, dt.timedelta(seconds=30), job.id, at, "ready",
    )  # fmt: skip
    assert await fire(tx) == 0


async def test_nothing_fires_before_its_time(tx: Tx) -> None:
    await make(tx)
    assert 0 < (await hands.stirs(tx))["job scheduler"] <= 60
    assert await scheduler.once(tx) == 0


async def test_a_time_that_has_an_execution_gets_no_second_even_if_the_job_forgets_it(tx: Tx) -> None:
    job = await make(tx)
    for _ in range(3):
        at = await late(tx, job, by=5 * MINUTE)
        await fire(tx)
    assert await states(tx, job) == [(at + 5 * MINUTE, "QUEUED")]
    assert await tx.value("select count(*) from weft.tasks") == 1


@pytest.mark.parametrize(
    ("policy", "expected"), [("fire_once", 1), ("skip", 1), ("catch_up", 61), ("capped", 10)]
)
async def test_what_was_missed_fires_by_the_policy(tx: Tx, policy: str, expected: int) -> None:
    how = {"misfire": "catch_up", "catch_up_limit": 10} if policy == "capped" else {"misfire": policy}
    job = await make(tx, **how)
    since = await late(tx, job, by=HOUR)
    await fire(tx)
    found = await states(tx, job)
    assert len(found) == expected
    assert [at for at, _ in found] == [since + HOUR - n * MINUTE for n in reversed(range(expected))]
    if policy == "fire_once":
        one = await tx.value("select missed_since from weft.executions")
        assert one == since


async def test_what_catches_up_with_much_does_so_in_several_transactions(
    tx: Tx, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "MOST", 100)
    jobs = [await make(tx, f"job {n}", misfire="catch_up", catch_up_limit=1000) for n in range(4)]
    for job in jobs:
        await late(tx, job, by=HOUR)
    made = []
    while await fire(tx):
        made.append(await tx.value("select count(*) from weft.executions"))
    assert made == [61, 122, 183, 244]


async def test_a_one_time_job_is_completed_when_it_has_fired(tx: Tx) -> None:
    now = await tx.value("select weft.now()")
    once = await make(tx, "once", run_at=now - HOUR)
    soon = await make(tx, "soon", delay_seconds=0)
    later = await make(tx, "later", delay_seconds=3600)
    assert await fire(tx) == 2
    found = [(await manage.get(tx, id=one.id, org=ORG)).status for one in (once, soon, later)]
    assert found == ["COMPLETED", "COMPLETED", "ACTIVE"]
    assert await states(tx, once) == [(once.run_at, "QUEUED")]


async def test_an_end_date_ends_a_job_and_its_jitter_moves_what_it_fires(tx: Tx) -> None:
    now = await tx.value("select date_trunc('minute', weft.now())")
    job = await make(tx, end_at=now + 5 * MINUTE, jitter_seconds=3600)
    assert job.next_run_time is not None and job.due_at is not None
    assert dt.timedelta(0) <= job.due_at - job.next_run_time <= HOUR
    await late(tx, job)
    await tx.run("update weft.jobs set jitter = '0', end_at = weft.now()")
    await fire(tx)
    assert (await manage.get(tx, id=job.id, org=ORG)).status == "COMPLETED"


async def test_overlap_skip_leaves_out_what_would_run_beside_the_one_before(tx: Tx, clock: Frozen) -> None:
    job = await make(tx, overlap="skip")
    first = await late(tx, job)
    await fire(tx)
    await clock.advance(MINUTE)
    await fire(tx)
    found, _ = await executions.page(tx, job_id=job.id, org=ORG, status=None, before=None, limit=10)
    assert [(one.scheduled_time, one.status) for one in found] == [(first + MINUTE, "CANCELLED"), (first, "QUEUED")]
    assert "overlap" in (found[0].error_message or "")
    await hands.end(tx, await hands.claim_plain(tx, kinds=["report"]), result="{}")
    await clock.advance(MINUTE)
    await fire(tx)
    assert [state for _, state in await states(tx, job)] == ["COMPLETED", "CANCELLED", "QUEUED"]


async def test_overlap_queue_runs_one_after_another(tx: Tx) -> None:
    job = await make(tx, overlap="queue", misfire="catch_up", catch_up_limit=3)
    await late(tx, job, by=HOUR)
    await fire(tx)
    rows = await tx.rows("select t.state, t.concurrency, t.concurrency_key from weft.tasks as t order by t.scheduled_for")
    assert [tuple(row) for row in rows] == [(state, 0, f"job:{job.id}") for state in ("ready", "blocked", "blocked")]


async def test_overlap_cancel_previous_asks_the_one_before_to_end(tx: Tx, clock: Frozen) -> None:
    job = await make(tx, overlap="cancel_previous")
    await late(tx, job)
    await fire(tx)
    await clock.advance(MINUTE)
    await fire(tx)
    rows = await tx.rows("select t.cancel_requested_at is not null from weft.tasks as t order by t.id")
    assert [row[0] for row in rows] == [True, False]


async def test_a_job_that_cannot_be_dispatched_is_set_aside_and_the_others_fire(tx: Tx) -> None:
    good = [await make(tx, f"good {n}") for n in range(3)]
    zone = await make(tx, "zone")
    secret = await make(tx, "secret", payload={"task": "report", "args": {"key": "${secrets.NOT_THERE}"}})
    for job in (*good, zone, secret):
        await late(tx, job)
    await tx.run("update weft.jobs set timezone = 'Nowhere/City' where name = 'zone'")
    assert await fire(tx) == 5
    assert [len(await states(tx, job)) for job in (*good, zone, secret)] == [1, 1, 1, 0, 0]
    for job, code, word in ((zone, "INVALID_TIMEZONE", "Nowhere/City"), (secret, "SECRET_NOT_FOUND", "NOT_THERE")):
        aside = await manage.get(tx, id=job.id, org=ORG)
        assert aside.status == "PAUSED" and aside.error is not None and aside.next_run_time is None
        assert aside.error["code"] == code and word in aside.error["message"]
    assert await tx.value("select count(*) from weft.journal where action = 'job.set_aside'") == 2


async def test_a_job_that_the_database_refuses_is_found_among_many_and_set_aside(database: Database, clock: Frozen) -> None:
    async with await database.reserve(purpose="owner") as owner:
        await owner.execute("alter table weft.tasks add constraint poison check (kind <> 'poison')")
    async with database.tx() as tx:
        jobs = [await make(tx, f"job {n}", payload={"task": "poison" if n == 7 else "fine"}) for n in range(20)]
        for job in jobs:
            await late(tx, job)
    async with database.tx() as tx:
        assert await fire(tx) == 20
    async with database.tx() as tx:
        assert await tx.value("select count(*) from weft.tasks") == 19
        [aside] = await tx.rows("select name, error ->> 'code', error ->> 'message' from weft.jobs where status = 'PAUSED'")
    assert aside[:2] == ("job 7", "DISPATCH_FAILED") and "poison" in aside[2]


async def test_two_schedulers_at_once_fire_each_time_once(database: Database, clock: Frozen) -> None:
    """Leaders without a fence between them: locks and the unique index hold."""
    async with database.tx() as tx:
        jobs = [await make(tx, f"job {n}") for n in range(40)]
        for job in jobs:
            await late(tx, job)
    async with database.tx() as one, database.tx() as two:
        first = await fire(one)
        second = await fire(two)
        assert (first, second) == (40, 0)
    async with database.tx() as tx:
        assert await fire(tx) == 0
        assert await tx.value("select count(*) from weft.tasks") == 40


async def test_weft_schedule_writes_a_job_down_and_the_scheduler_reads_it(tx: Tx) -> None:
    id = await tx.value(
        "select weft.schedule('from sql', '{\"task\": \"report\", \"args\": {\"n\": 2}}', cron => '*/5 * * * *', "
        "timezone => 'Europe/Berlin', tags => '{x}', max_attempts => 4)"
    )
    bad = await tx.value("select weft.schedule('bad', '{\"task\": \"report\"}', cron => '61 * * * *')")
    nothing = await tx.value("select weft.schedule('nothing', '{\"what\": 1}', delay => '1 hour')")
    assert await fire(tx) == 3
    job = await manage.get(tx, id=id, org=ORG)
    assert job.next_run_time is not None and job.error is None and job.retry_config["max_attempts"] == 4
    for one, code in ((bad, "INVALID_CRON"), (nothing, "INVALID_INPUT")):
        aside = await manage.get(tx, id=one, org=ORG)
        assert aside.status == "PAUSED" and aside.error is not None and aside.error["code"] == code
    await late(tx, job)
    await fire(tx)
    assert await tx.value("select payload from weft.tasks") == {"n": 2}
    assert await tx.value("select weft.unschedule('from sql')") is True
    assert await tx.value("select weft.unschedule('from sql')") is False


async def test_weft_schedule_refuses_what_it_can_see(tx: Tx) -> None:
    for call, word in (
        ("weft.schedule('a', '{}')", "give one of"),
        ("weft.schedule('a', '{}', cron => '* * * * *', delay => '1 h')", "give one of"),
        ("weft.schedule('', '{}', delay => '1 h')", "not valid"),
        ("weft.schedule('a', '[]', delay => '1 h')", "must be a JSON object"),
        ("weft.schedule('a', '{}', delay => '1 h', overlap => 'maybe')", "overlap"),
    ):
        with pytest.raises(errors.InvalidInput, match=word):
            async with tx.savepoint():
                await tx.value(f"select {call}")


async def test_executions_of_pruned_tasks_go_with_them(tx: Tx) -> None:
    job = await make(tx)
    await late(tx, job)
    await fire(tx)
    await tx.run("delete from weft.tasks")
    assert await states(tx, job) == []
    pruner = prune.Executions()
    assert await pruner.once(tx) == 0
    await tx.run("update weft.executions set id = weft.uuid7_floor(now() - interval '2 hours')")
    assert await pruner.once(tx) == 1


async def test_executions_that_stay_are_not_in_the_way_of_those_that_go(tx: Tx, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune, "BATCH", 2)
    for n in range(3):
        await late(tx, await make(tx, f"job {n}"))
    await fire(tx)
    await tx.run(
        "with aged as (select id, row_number() over (order by id) as n from weft.executions), "
        "task as (update weft.tasks as t set id = weft.uuid7_floor(now() - interval '1 day' + a.n * interval '1 second') "
        "from aged as a where t.id = a.id and a.n < 3) "
        "update weft.executions as e set id = weft.uuid7_floor(now() - interval '1 day' + a.n * interval '1 second') "
        "from aged as a where e.id = a.id"
    )
    pruner = prune.Executions()
    assert [await pruner.once(tx) for _ in range(4)] == [0, 1, 0, 0], "two with their tasks, one without, from the beginning"


async def test_a_job_that_is_over_goes_when_its_history_has(tx: Tx) -> None:
    kept, deleted, over, busy = [await make(tx, name) for name in ("kept", "deleted", "over", "busy")]
    once = await make(tx, "once", delay_seconds=0)
    await late(tx, busy)
    await fire(tx)
    await tx.run("delete from weft.executions where job_id = %(id)s", {"id": once.id})
    for job in (deleted, busy):
        await manage.delete(tx, id=job.id, org=ORG, actor="test")
    await tx.run("update weft.jobs set status = 'COMPLETED', due_at = null where id = %(id)s", {"id": over.id})
    assert await prune.jobs(None)(tx) == 0, "nothing is forgotten where everything is kept"
    assert await prune.jobs(30 * DAY)(tx) == 0, "it was not long ago"
    await tx.run("update weft.jobs set updated_at = now() - interval '60 days', last_run_time = null")
    assert await prune.jobs(30 * DAY)(tx) == 2
    left = {row[0] for row in await tx.rows("select id from weft.jobs")}
    assert left == {kept.id, over.id, busy.id}, "a schedule may be given more times; an execution is still shown"
    await orgs.change(tx, id=ORG, retention=DAY, actor="test")
    await tx.run("delete from weft.executions")
    assert await prune.jobs(None)(tx) == 1


async def test_in_a_suspended_org_times_pass_and_what_is_wanted_once_waits(tx: Tx) -> None:
    cron, once = await make(tx), await make(tx, "once", delay_seconds=60)
    at = await late(tx, cron, HOUR)
    await late(tx, once)
    await orgs.change(tx, id=ORG, suspended=True, actor="test")
    assert await fire(tx) == 2
    after = await manage.get(tx, id=cron.id, org=ORG)
    assert await states(tx, cron) == [] and after.next_run_time == at + HOUR + MINUTE and after.last_run_time is None
    assert [status for _, status in await states(tx, once)] == ["QUEUED"]
    assert await hands.claim_plain(tx, kinds=["report"]) == []
    await orgs.change(tx, id=ORG, suspended=False, actor="test")
    assert len(await hands.claim_plain(tx, kinds=["report"])) == 1
