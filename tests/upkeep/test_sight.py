"""The one look for all chores: it misses nothing, and rests while nothing happens."""

import asyncio
import datetime as dt
import re
import time
from collections.abc import AsyncIterator

import pytest

import hands
from weft.cluster import leaders
from weft.contrib.aiopslab import chores as aiopslab
from weft.db.database import Database
from weft.db.statements import Part
from weft.db.tx import Tx
from weft.upkeep import chore, sight, table
from weft.upkeep.chore import Chore
from weft.upkeep.sight import Sight

ORG = f"'{hands.ORG}'"
TASK = "insert into weft.tasks (org_id, kind, state, {}) values (" + ORG + ", 'aiopslab.problem', {})"
HELD = "attempt, node_id, lease_token, claimed_at, lease_until"
BY_HTTP = "1, gen_random_uuid(), gen_random_uuid(), now() - interval '1 hour', now() "

WORK = {
    "sequencer": "insert into weft.change_inbox (table_name, op, ids) values ('t', 'INSERT', '{}')",
    "promoter": TASK.format("run_at", "'scheduled', now()"),
    "unblocker": TASK.format("plain, concurrency, concurrency_key", "'blocked', false, 1, 'k'"),
    "lapsed leases": TASK.format(HELD, f"'running', {BY_HTTP} - interval '1 second'"),
    "cancellations": TASK.format("cancel_requested_at", "'blocked', now()"),
    "minute counter": "update weft.task_minutes_until set until = until - interval '1 hour'",
    "audit sealer": f"insert into weft.journal (org_id, actor, action, object_type, object_id) "
    f"values ({ORG}, '', '', '', '')",
    "job scheduler": f"insert into weft.jobs (org_id, name, job_type, run_at, payload, due_at) "
    f"values ({ORG}, 'j', 'ONE_TIME', now(), '{{}}', now())",
    "backfiller": f"with job as (insert into weft.jobs (org_id, name, job_type, cron_expression, payload) "
    f"values ({ORG}, 'j', 'CRON', '@daily', '{{}}') returning id) "
    f"insert into weft.backfills (org_id, job_id, start_time, end_time, max_active, actor) "
    f"select {ORG}, id, now(), now(), 1, '' from job",
    "session sweeper": f"insert into weft.live_sessions (id, org_id, node_id, actor, status, seen_at) "
    f"values (weft.uuid7(), {ORG}, weft.uuid7(), '', 'reconnecting', now() - interval '3 minutes')",
    "outbox": f"insert into weft.outbox (org_id, topic, subject, url, body) "
    f"values ({ORG}, 't', weft.uuid7(), 'http://x/', '')",
    "run sweeper": f"insert into weft.run_inbox (run_id, org_id, task_id, state, attempt) "
    f"values (weft.uuid7(), {ORG}, weft.uuid7(), 'completed', 1)",
    "run starter": f"insert into weft.runs (org_id, kind, name) values ({ORG}, 'dag', 'd')",
    "workflow waker": f"insert into weft.messages (run_id, org_id, kind, name) values (weft.uuid7(), {ORG}, 'signal', 's')",
    "run deadlines": f"insert into weft.runs (org_id, kind, name, state, plan_hash, deadline_at) "
    f"values ({ORG}, 'dag', 'd', 'running', repeat('a', 64), now())",
    "aiopslab timeouts": TASK.format(f"timeout, {HELD}", f"'running', '1 minute', {BY_HTTP} + interval '1 minute'"),
}
"""Something to do for each chore that is told of it."""


@pytest.fixture
def clock() -> "Clock":
    return Clock()


class Clock:
    """Goes on by itself, and as far ahead as a test wants."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


def told() -> set[str]:
    return {one.name for one in table.chores(node_id="", retention=None, more=aiopslab.CHORES) if one.told}


def test_the_look_asks_for_every_chore_that_waits_to_be_told() -> None:
    text = " ".join(part.text for part in (*sight.PARTS, aiopslab.STIRS))
    asked = set(re.findall(r"select '([a-z ]+)',", text))
    assert asked == told() | {sight.READY, "liveness"} and told() == set(WORK)


async def test_nothing_stirs_in_an_empty_database(tx: Tx) -> None:
    # since it was made minutes may be over
    assert set(await hands.stirs(tx)) <= {"minute counter"} and set(await hands.stirs(tx, calm=True)) <= {"minute counter"}


@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize("calm", [False, True])
async def test_work_for_a_chore_is_seen(tx: Tx, name: str, calm: bool) -> None:
    await tx.run(WORK[name])
    assert (await hands.stirs(tx, calm=calm))[name] <= 0


async def test_what_is_due_later_is_seen_with_its_time(tx: Tx) -> None:
    await hands.put(tx, delay=60)
    assert 50 < (await hands.stirs(tx))["promoter"] <= 60


async def test_ready_work_is_looked_for_only_while_it_is_calm(tx: Tx) -> None:
    await hands.put(tx)
    assert "ready" not in await hands.stirs(tx)
    assert "ready" in await hands.stirs(tx, calm=True)


@pytest.mark.parametrize("keyed", [False, True])
async def test_ready_work_of_either_kind_is_seen(tx: Tx, keyed: bool) -> None:
    await hands.put(tx, **({"concurrency_key": "k"} if keyed else {}))
    assert "ready" in await hands.stirs(tx, calm=True)


@pytest.mark.parametrize(
    ("others", "stirs"),
    [("busy = true", True), ("beat_at = now() - interval '1 hour'", True), ("liveness = 7", True), ("busy = false", False)],
)
async def test_a_node_that_may_be_gone_or_holds_tasks_stirs(tx: Tx, others: str, stirs: bool) -> None:
    await tx.run(
        "insert into weft.nodes (id, hostname, ip_address, pid, version, lease, status) "
        "values (weft.uuid7(), 'h', '::1', 1, '1', '10 seconds', 'active')"
    )
    await tx.run(f"update weft.nodes set {others}")
    assert ("liveness" in await hands.stirs(tx)) == stirs


async def test_ones_own_tasks_are_no_reason_to_look_whether_one_lives(tx: Tx) -> None:
    await tx.run(
        "insert into weft.nodes (id, hostname, ip_address, pid, version, lease, status, busy) "
        f"values ('{hands.NODE}', 'h', '::1', 1, '1', '10 seconds', 'active', true)"
    )
    assert "liveness" not in await hands.stirs(tx)


async def test_it_is_calm_when_nothing_was_done_for_a_while(clock: Clock) -> None:
    seen = Sight(told=["a"], hears=lambda: True, clock=clock)
    seen.saw({})
    assert not seen.calm and seen.pause(0) == sight.AWAKE
    clock.ahead += 11
    seen.saw({"a": 3600.0})
    assert seen.calm and seen.pause(0) == sight.CALM
    seen.happened()
    assert not seen.calm and seen.pause(0) == sight.AWAKE


async def test_whoever_may_be_gone_ends_the_calm(clock: Clock) -> None:
    seen = Sight(hears=lambda: True, clock=clock)
    clock.ahead += 11
    seen.saw({"liveness": 0.0})
    assert not seen.calm


async def test_who_hears_nothing_is_never_calm(clock: Clock) -> None:
    hears = [True]
    seen = Sight(hears=lambda: hears[0], clock=clock)
    clock.ahead += 11
    seen.saw({})
    assert seen.calm
    hears[0] = False
    seen.saw({})
    assert not seen.calm


async def test_a_look_that_costs_much_is_made_seldom() -> None:
    assert Sight().pause(0.5) == 10.0 and Sight().pause(60) == 30.0


async def test_the_workers_of_the_process_are_told_of_ready_work_and_of_the_end_of_calm(clock: Clock) -> None:
    nudges: list[None] = []
    seen = Sight(hears=lambda: True, ready=lambda: nudges.append(None), clock=clock)
    clock.ahead += 11
    seen.saw({"ready": 0.0})
    assert seen.calm and len(nudges) == 1
    seen.happened()
    assert len(nudges) == 2
    seen.happened()
    assert len(nudges) == 2


async def test_a_chore_waits_until_it_is_told_and_until_its_time(clock: Clock) -> None:
    seen = Sight(told=["a"], clock=clock)
    waiting = asyncio.create_task(seen.due("a"))
    await asyncio.sleep(0)
    seen.saw({"a": 3600.0})
    await asyncio.sleep(0)
    assert not waiting.done()
    seen.saw({"a": 0.0})  # an earlier one came
    async with asyncio.timeout(10):
        await waiting
    again = asyncio.create_task(seen.due("a"))
    await asyncio.sleep(0)
    assert not again.done()  # what it was told of once it has seen to
    again.cancel()


async def test_a_chore_by_its_own_clock_rests_longer_while_it_is_calm(clock: Clock) -> None:
    seen = Sight(hears=lambda: True, clock=clock)
    clock.ahead += 11
    seen.saw({})
    resting = asyncio.create_task(seen.rest(0.001))
    await asyncio.sleep(0.05)  # its pause is long over
    assert not resting.done()
    seen.happened()
    async with asyncio.timeout(10):
        await resting


@pytest.fixture
async def watched(database: Database, clock: Clock) -> AsyncIterator[tuple[Sight, asyncio.Event]]:
    """A sight at work, and what it tells the workers of its process."""
    ready = asyncio.Event()
    seen = Sight(told=told(), hears=lambda: True, ready=ready.set, clock=clock)
    looking = asyncio.create_task(seen.run(database, node_id=hands.NODE, more=[aiopslab.STIRS]))
    yield seen, ready
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)


async def test_what_was_enqueued_without_a_word_is_found_while_it_is_calm(
    watched: tuple[Sight, asyncio.Event], database: Database, clock: Clock
) -> None:
    seen, ready = watched
    async with asyncio.timeout(20):
        clock.ahead += 11
        while not seen.calm:
            await asyncio.sleep(0.01)
        async with database.tx() as tx:
            await tx.run(TASK.format("urgency", "'ready', 50"))
        await ready.wait()


async def test_a_chore_that_is_told_does_its_work_and_ends_the_calm(
    watched: tuple[Sight, asyncio.Event], database: Database, clock: Clock
) -> None:
    seen, _ready = watched
    done: asyncio.Queue[int] = asyncio.Queue()

    async def once(tx: Tx) -> int:
        found = await tx.run("update weft.tasks set state = 'ready' where state = 'scheduled' and run_at <= weft.now()")
        done.put_nowait(found)
        return found

    async with database.tx() as tx:
        term = await leaders.take(tx, role=leaders.SCHEDULER, node_id=hands.NODE)
    assert term is not None
    promoting = Chore(name="promoter", every=dt.timedelta(seconds=0.5), once=once, batch=10, told=True)
    running = asyncio.create_task(chore.run(promoting, database=database, role=leaders.SCHEDULER, term=term, sight=seen))
    async with asyncio.timeout(20):
        clock.ahead += 11
        while not seen.calm:
            await asyncio.sleep(0.01)
        async with database.tx() as tx:
            await hands.put(tx, delay=0.2)
        seen.ask(0)  # as the notification does
        assert await done.get() == 1
        while seen.calm:
            await asyncio.sleep(0.01)
    running.cancel()


async def test_a_task_that_is_due_soon_is_told_of_and_one_that_is_not_is_not(database: Database) -> None:
    listener = await database.reserve()
    await listener.execute("listen weft_jobs")
    async with database.tx() as tx:
        await hands.put(tx, delay=60)
        await hands.put_many(tx, 3, delay=60)
        await tx.rows("select weft.enqueue('mail', delay => '1 minute')")
    for ways in ("plain", "many", "sql", "sql many"):
        async with database.tx() as tx:
            if ways == "plain":
                await hands.put(tx, delay=1)
            elif ways == "many":
                await hands.put_many(tx, 3, delay=1)
            elif ways == "sql":
                await tx.rows("select weft.enqueue('mail', delay => '1 second')")
            else:
                await tx.rows("select weft.enqueue_many('mail', '[{}]', run_at => now() + interval '1 second')")
        assert len([note async for note in listener.notifies(timeout=10, stop_after=1)]) == 1, ways
    assert [note async for note in listener.notifies(timeout=0.05)] == []
    await listener.close()


async def test_a_look_that_fails_ends_the_calm_and_is_made_again(database: Database, clock: Clock) -> None:
    seen = Sight(told=told(), hears=lambda: True, clock=clock)
    clock.ahead += 11
    seen.saw({})
    assert seen.calm
    broken = Part("select 'sequencer', 1 / (select count(*) from weft.change_inbox)::double precision")
    looking = asyncio.create_task(seen.run(database, node_id=hands.NODE, more=[broken]))
    async with asyncio.timeout(20):
        while seen.calm:
            await asyncio.sleep(0.01)
        async with database.tx() as tx:
            await tx.run(WORK["sequencer"])
        await seen.due("sequencer")
    looking.cancel()
