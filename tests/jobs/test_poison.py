"""One job, run or task that nobody can read spoils nothing but itself: it is refused, or stands alone."""

import datetime as dt
from typing import Any

import pytest
from frozen import Frozen

import hands
from weft.base import errors, ids
from weft.dagfile import read
from weft.db.database import Database
from weft.db.tx import Tx
from weft.flows import chores, definitions, start
from weft.flows.start import Wish
from weft.jobs import backfill, executions, manage, scheduler
from weft.jobs.model import Job

ORG = ids.DEFAULT_ORG
HUGE = "1" + "0" * 400 + ".5"
PAYLOAD = '{"task": "report"}'


async def fire(tx: Tx) -> int:
    return await scheduler.once(tx)


async def make(tx: Tx, name: str, **given: Any) -> Job:
    words = {"name": name, "payload": {"task": "report"}, "cron_expression": "0 * * * *", **given}
    return await manage.create(tx, words, org=ORG, actor="test")


async def careless(database: Database, change: str) -> None:
    """As it was before anything was refused."""
    async with await database.reserve(purpose="owner") as owner:
        await owner.execute(change.encode())


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (f"weft.schedule('a', '{PAYLOAD}', run_at => 'infinity')", "run_at must be between 1970 and 2189"),
        (f"weft.schedule('a', '{PAYLOAD}', run_at => '12026-01-01Z')", "run_at must be between 1970 and 2189"),
        (f"weft.schedule('a', '{PAYLOAD}', run_at => '0044-03-15Z BC')", "run_at must be between 1970 and 2189"),
        (f"weft.schedule('a', '{PAYLOAD}', delay => '11 years')", "delay must be at most ten years"),
        (f"weft.schedule('a', '{PAYLOAD}', delay => '-1 day')", "delay must be"),
        (f"weft.schedule('a', '{PAYLOAD}', delay => '1 day', timeout => '1000 years')", "timeout must be at most ten years"),
        (f"weft.schedule('a', '{{\"task\": \"t\", \"x\": [{HUGE}]}}', delay => '1 day')", "number of more than 1.8e308"),
        ("weft.enqueue('mail', run_at => 'infinity')", "run_at must be between 1970 and 9998"),
        ("weft.enqueue('mail', run_at => '-infinity')", "run_at must be between 1970 and 9998"),
        ("weft.enqueue('mail', timeout => '-1 s')", "a timeout must be more than nothing"),
        ("weft.enqueue('mail', heartbeat_timeout => '1000 years')", "a timeout must be"),
        ("weft.enqueue('mail', retry => '5')", "retry must be an object"),
        ("weft.enqueue('mail', tags => array['a', null])", "tags must not be null"),
        (f"weft.enqueue('mail', '{{\"x\": {HUGE}}}')", "number of more than 1.8e308"),
        (f"weft.enqueue_many('mail', '[{{}}, {{\"x\": -{HUGE}}}]')", "number of more than 1.8e308"),
        ("weft.enqueue_many('mail', '[{}]', run_at => 'infinity')", "run_at must be between"),
        (f"weft.signal(weft.uuid7(), 'go', '{HUGE}')", "number of more than 1.8e308"),
        (f"weft.start('d', '{{\"x\": {HUGE}}}')", "number of more than 1.8e308"),
        ("weft.start('d', logical_date => 'infinity')", "logical_date must be between 1970 and 2999"),
        ("weft.start('d', config => '{\"awaited_by\": \"x\"}')", "config may have"),
    ],
)  # fmt: skip
async def test_sql_refuses_what_others_could_not_read(tx: Tx, call: str, word: str) -> None:
    await dag(tx)
    with pytest.raises(errors.InvalidInput, match=word):
        await tx.value(f"select {call}")


async def test_a_long_payload_with_long_numbers_is_none_of_those(tx: Tx) -> None:
    text = f'{{"digits": "{"9" * 400}", "n": {"9" * 300}, "small": 0.{"0" * 400}1}}'
    assert await tx.value("select weft.enqueue('mail', %(text)s::jsonb)", {"text": text})


async def test_a_job_that_nobody_can_read_stands_alone_and_the_others_fire(database: Database, clock: Frozen) -> None:
    await careless(database, 'alter table weft.jobs drop constraint "run_at must be between 1970 and 2189"')
    async with database.tx() as tx:
        await tx.value(f"select weft.schedule('good', '{PAYLOAD}', delay => '0')")
        await tx.value(f"select weft.schedule('never', '{PAYLOAD}', run_at => 'infinity')")
        await tx.value(f"select weft.schedule('number', '{PAYLOAD}', delay => '0')")
        await tx.run("update weft.jobs set payload = %(bad)s::jsonb where name = 'number'", {"bad": f'{{"x": {HUGE}}}'})
    async with database.tx() as tx:
        assert await fire(tx) == 3 and await fire(tx) == 1
        assert await tx.value("select count(*) from weft.tasks") == 1
        rows = await tx.rows("select name, error ->> 'code', error ->> 'message' from weft.jobs where status = 'PAUSED'")
    assert sorted((name, code) for name, code, _ in rows) == [("never", "INVALID_INPUT"), ("number", "INVALID_PAYLOAD")]


async def dag(tx: Tx, **words: Any) -> definitions.Definition:
    given = {"name": "d", "tasks": [{"name": "a", "payload": {"task": "mail"}}], **words}
    return (await definitions.save_dag(tx, read.from_value(given), org=ORG)).definition


async def test_a_run_that_nobody_can_read_fails_and_the_others_begin(database: Database) -> None:
    await careless(database, "drop index weft.runs_refused")
    async with database.tx() as tx:
        await dag(tx)
        for date in ("2026-01-01", "infinity", "2026-01-02"):
            await tx.value("select weft.start('d', logical_date => %(date)s::timestamptz)", {"date": date})
        await tx.value("select weft.start('d', config => '{\"timeout_seconds\": 1e300}')")
    async with database.tx() as tx:
        assert await chores.admit(tx) == 4
        assert [row[0] for row in await tx.rows("select state from weft.runs order by id")] == [
            "running", "failed", "running", "failed",
        ]  # fmt: skip


async def test_a_time_limit_that_was_stored_before_there_was_one_fails_its_run_only(database: Database) -> None:
    async with database.tx() as tx:
        wrong = await dag(tx)
        await dag(tx, name="good")
        await tx.run(
            "update weft.definition_versions set header = header || '{\"timeout_seconds\": 1e300}' "
            "where definition_id = %(id)s",
            {"id": wrong.id},
        )
        await tx.value("select weft.start('d')")
        await tx.value("select weft.start('good')")
    async with database.tx() as tx:
        assert await chores.admit(tx) == 2
        assert dict(await tx.rows("select name, state from weft.runs")) == {"d": "failed", "good": "running"}


async def test_a_snooze_of_ages_spoils_no_batch(tx: Tx) -> None:
    for _ in range(2):
        await hands.put(tx)
    first, second = await hands.claim_plain(tx)
    await hands.end(tx, [first], how="snoozed", delay=dt.timedelta.max.total_seconds())
    await hands.end(tx, [second], result="{}")
    assert await tx.value("select run_at < weft.now() + interval '11 years' from weft.tasks") is True


async def test_a_backfill_that_cannot_go_on_is_cancelled_and_the_others_are_made(database: Database, clock: Frozen) -> None:
    async with await database.reserve(purpose="owner") as owner:
        await owner.execute("alter table weft.tasks add constraint poison check (kind <> 'poison')")
    start_, end = dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 1, 1, 3, tzinfo=dt.UTC)
    async with database.tx() as tx:
        jobs = [await make(tx, f"job {n}", payload={"task": "poison" if n == 1 else "fine"}) for n in range(3)]
        for job in jobs:
            await backfill.create(tx, job_id=job.id, org=ORG, start=start_, end=end, max_active=10, actor="test")
    async with database.tx() as tx:
        assert await backfill.Backfiller().once(tx) == 8
    async with database.tx() as tx:
        found = [(await backfill.page(tx, job_id=job.id, org=ORG))[0] for job in jobs]
        assert [(one.state, one.made) for one in found] == [("COMPLETED", 4), ("CANCELLED", 0), ("COMPLETED", 4)]
        entry = await tx.value("select after from weft.journal where action = 'job.backfill_cancel'")
    assert "poison" in entry["error"]["message"]


async def test_the_backfill_of_a_job_that_nobody_has_read_waits_for_that(tx: Tx, clock: Frozen) -> None:
    id = await tx.value(f"select weft.schedule('from sql', '{PAYLOAD}', cron => '0 * * * *')")
    began, chore = dt.datetime(2024, 1, 1, tzinfo=dt.UTC), backfill.Backfiller()
    await backfill.create(tx, job_id=id, org=ORG, start=began, end=began, max_active=1, actor="test")
    assert await chore.once(tx) == 0
    await fire(tx)
    assert await chore.once(tx) == 1


@pytest.mark.parametrize(
    ("bad", "change"),
    [
        ("timezone = 'Nowhere/City'", {"timezone": "Europe/Berlin"}),
        ("cron_expression = '99 * * * *'", {"cron_expression": "5 * * * *"}),
        ("payload = '{\"what\": 1}', kind = null", {"payload": {"task": "other"}}),
    ],
)  # fmt: skip
async def test_a_job_that_was_set_aside_is_mended_by_a_change(tx: Tx, bad: str, change: dict[str, Any]) -> None:
    job = await make(tx, "wrong")
    due = "due_at = weft.now(), next_run_time = weft.now()"
    await tx.run(f"update weft.jobs set {bad}, {due} where id = %(id)s", {"id": job.id})
    await fire(tx)
    aside = await manage.get(tx, id=job.id, org=ORG)
    assert aside.status == "PAUSED" and aside.error is not None
    mended = await manage.change(tx, change, id=job.id, org=ORG, actor="test", version=aside.version)
    assert (mended.status, mended.error) == ("ACTIVE", None) and mended.next_run_time is not None


async def test_a_change_before_the_scheduler_has_read_a_job_loses_nothing(tx: Tx, clock: Frozen) -> None:
    id = await tx.value(f"select weft.schedule('from sql', '{PAYLOAD}', delay => '1 minute', max_attempts => 7)")
    before = await manage.get(tx, id=id, org=ORG)
    after = await manage.change(tx, {"tags": ["x"]}, id=id, org=ORG, actor="test", version=None)
    assert (after.next_run_time, after.run_at, after.retry_config["max_attempts"]) == (before.run_at, before.run_at, 7)
    await clock.advance(dt.timedelta(minutes=2))
    await fire(tx)
    assert await tx.value("select max_attempts from weft.tasks") == 7
    [one], _ = await executions.page(tx, job_id=id, org=ORG, status=None, before=None, limit=10)
    assert one.scheduled_time == before.run_at


async def test_a_run_that_waits_ends_with_its_dag(database: Database) -> None:
    async with database.tx() as tx:
        found = await dag(tx, max_active_runs=1)
        begun, waits = [await start.start(tx, found, Wish()) for _ in range(2)]
    async with database.tx() as tx:
        late = await tx.value("select weft.start('d')")
        await definitions.set_status(tx, found, "deleted")
        states = dict(await tx.rows("select id, state from weft.runs"))
    assert states == {begun.id: "running", waits.id: "cancelled", late: "cancelled"}


async def test_a_run_that_was_asked_for_while_its_dag_was_deleted_ends_too(database: Database) -> None:
    async with database.tx() as tx:
        found = await dag(tx)
    async with database.tx() as asking:
        late = await asking.value("select weft.start('d')")
        async with database.tx() as tx:
            await definitions.set_status(tx, found, "deleted")
    async with database.tx() as tx:
        await chores.admit(tx)
        assert await tx.value("select state from weft.runs where id = %(id)s", {"id": late}) == "cancelled"
        assert "run starter" not in await hands.stirs(tx)
