"""A process dies at every named point there is, and nothing is lost, doubled or left behind.

Each death is seen: a point at which nobody died fails its test. Points of chores need something for the chore to do.
"""

import ast
import datetime as dt
import signal
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from crowd import LONG, Crowd, ended, rows, say, seasoned, until, value
from witness import Witness

import fresh_database
import nursery
import weft
from weft import App
from weft.base import crash, errors
from weft.db import migrate
from weft.upkeep import table

CLIENT = {
    "enqueue: before": ("enqueue", 0), "enqueue: committed": ("enqueue", 1),
    "bulk enqueue: before commit": ("enqueue_many", 0), "bulk enqueue: committed": ("enqueue_many", 5001),
}  # fmt: skip
"""Point → which deed, and how many tasks there are after it."""

STEERING = ("cancel: before commit", "cancel: committed", "redrive: before commit")
ROTATING = ("secret rotation: before commit",)
"""tests/cli/test_secret_command.py."""
JOBS = ("schedule: decided", "schedule: dispatched", "trigger: before commit")
"""test_schedulers.py."""
MIGRATING = ("migrate: before commit", "migrate: committed")
WORKER = (
    "beat: before", "beat: answered#2", "claim: answered", "settle: before", "settle: committed",
    "limited claim: before commit", "settle: between statements", "transaction: begun#3", "asleep: said",
)  # fmt: skip
RUNS = ("advance: decided", "advance: written", "settle: committed", "settle: between statements")
"""Where a worker dies while it readies what comes after a task."""
NOTED = (
    "insert into weft.journal (org_id, actor, action, object_type, object_id) "
    "values ('00000000-0000-7000-8000-000000000001', 'test', 'test', 'test', 'test') returning id"
)
"""Something for the sealer."""
POSTED = (
    "insert into weft.outbox (org_id, topic, subject, url, body) "
    "values ('00000000-0000-7000-8000-000000000001', 'test', weft.uuid7(), 'http://127.0.0.1:9/', '{}') returning id"
)
"""Something for the outbox, to an address that is refused."""
SCHEDULED = """select weft.schedule('job ' || gen_random_uuid(), '{"task": "never"}', delay => '1 day')"""
"""Something for the scheduler to read, which fires nothing."""
BACKFILLED = """
    with job as (
        insert into weft.jobs (org_id, name, job_type, cron_expression, payload, kind, status)
        values ('00000000-0000-7000-8000-000000000001', gen_random_uuid(), 'CRON', '@daily', '{}', 'tick', 'PAUSED')
        returning id, org_id
    )
    insert into weft.backfills (org_id, job_id, start_time, end_time, max_active, actor)
    select j.org_id, j.id, now(), now(), 1, 'test' from job as j returning id
"""
"""A backfill that has nothing left to make."""
TOLD = (
    "insert into weft.run_inbox (run_id, org_id, task_id, state, attempt) "
    "values (gen_random_uuid(), '00000000-0000-7000-8000-000000000001', gen_random_uuid(), 'completed', 1) returning id"
)
"""Something for the sweeper of runs."""
WANTED = (
    "insert into weft.runs (org_id, kind, name) "
    "values ('00000000-0000-7000-8000-000000000001', 'dag', 'nobody') returning id"
)
"""Something for whoever lets runs in."""
LATE = (
    "insert into weft.runs (org_id, kind, name, state, plan_hash, deadline_at) "
    "values ('00000000-0000-7000-8000-000000000001', 'dag', 'nobody', 'running', repeat('a', 64), now()) returning id"
)
"""Something for whoever ends runs that take too long."""
LIMITED = """
    insert into weft.queues (org_id, name, max_running)
    values ('00000000-0000-7000-8000-000000000001', 'limited and empty', 1)
    on conflict do nothing
    returning name
"""
UNCOUNTED = "update weft.task_minutes_until set until = until - interval '1 minute' returning until"
"""A minute for whoever counts what ended: the leaders before have counted all that are over, and the next would have to be
waited for, longer than a victim is given now and then."""

BLOCKED = """
    insert into weft.tasks (org_id, kind, queue, lane, state, plain, concurrency, concurrency_key)
    values ('00000000-0000-7000-8000-000000000001', 'nobody', 'nobody', 'nobody', 'blocked', false, 1, gen_random_uuid())
    returning id
"""
"""Something behind a key that is free, in a queue that nobody serves."""
LAPSED = """
    insert into weft.tasks (org_id, kind, queue, lane, state, attempt, claimed_at, node_id, lease_token, lease_until)
    values ('00000000-0000-7000-8000-000000000001', 'nobody', 'nobody', 'nobody', 'running', 1, now(), gen_random_uuid(),
        gen_random_uuid(), now())
    returning id
"""
"""Something that a worker over HTTP held and forgot."""
UNWANTED = """
    insert into weft.tasks (org_id, kind, queue, lane, cancel_requested_at)
    values ('00000000-0000-7000-8000-000000000001', 'nobody', 'nobody', 'nobody', now())
    returning id
"""
"""Something that SQL asked to end."""
UNHEARD = (
    "insert into weft.messages (run_id, org_id, kind, name) "
    "values (gen_random_uuid(), '00000000-0000-7000-8000-000000000001', 'signal', 'nobody') returning id"
)
"""A word for a run that is not there."""
ORPHANED = (
    "insert into weft.live_sessions (id, org_id, node_id, actor, seen_at) "
    "values (gen_random_uuid(), '00000000-0000-7000-8000-000000000001', gen_random_uuid(), 'me', '2020-01-01') returning id"
)
"""A session whose server is gone."""
FORSAKEN = (
    "insert into weft.runs (org_id, kind, name, state, plan_hash, config) "
    "values ('00000000-0000-7000-8000-000000000001', 'dag', 'nobody', 'running', repeat('a', 64), "
    "jsonb_build_object('awaited_by', gen_random_uuid())) returning id"
)
"""A run whose end nobody waits for any more."""
STALLED = (
    "insert into weft.runs (org_id, kind, name, state, plan_hash, created_at) "
    "values ('00000000-0000-7000-8000-000000000001', 'dag', 'nobody', 'running', repeat('a', 64), "
    "now() - interval '1 hour') returning id"
)
"""A run of which nothing runs and which waits for nothing."""
PLAN = """
    insert into weft.plans (org_id, hash, plan, nodes)
    values ('00000000-0000-7000-8000-000000000001', repeat('a', 64),
        '{"name": "p", "entry": "m", "blocks": [{"name": "m"}], "format": 1}', 0)
    returning hash
"""
PLANTED = (
    NOTED, POSTED, SCHEDULED, BACKFILLED, TOLD, WANTED, LATE, FORSAKEN, LIMITED, UNCOUNTED, BLOCKED, LAPSED, UNWANTED,
    UNHEARD, ORPHANED, STALLED,
)  # fmt: skip
AGAIN = 10.0
"""After so long what a victim is to meet is put in its way once more."""
LEADER = ("lead: before the term", "lead: term taken", *(f"chore: {name}" for name in crash.CHORES))


def test_every_point_has_its_place_here_and_in_the_code() -> None:
    visited = [*CLIENT, *STEERING, *MIGRATING, *ROTATING, *JOBS, *(one.partition("#")[0] for one in WORKER), *LEADER, *RUNS]
    assert sorted(set(visited)) == sorted(crash.POINTS)
    named, open_ended = calls()
    assert named | {one for one in crash.POINTS if any(one.startswith(start) for start in open_ended)} == set(crash.POINTS)


def test_every_chore_has_its_point() -> None:
    names = [one.name for one in table.chores(node_id=str(uuid.uuid4()), retention=dt.timedelta(days=1))]
    assert sorted(names) == sorted(crash.CHORES)


def calls() -> tuple[set[str], set[str]]:
    """The names that calls in the code give, and how those begin that are put together."""
    named: set[str] = set()
    open_ended: set[str] = set()
    for path in Path(weft.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "crash.point":
                match node.args[0]:
                    case ast.Constant(value=str(text)):
                        named.add(text)
                    case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
                        open_ended.add(text)
                    case other:
                        raise AssertionError(f"{path}: {ast.unparse(other)} is no name")
    return named, open_ended


def test_a_name_that_is_no_point_is_refused() -> None:
    assert crash.parse("beat: answered#3") == ("beat: answered", 3)
    with pytest.raises(errors.ConfigError):
        crash.parse("no such place")


async def came(victim: nursery.Process, *, within: float) -> bool:
    """Whether it has ended by then."""
    try:
        await ended(victim, within=within)
    except AssertionError:
        return False
    return True


async def die(
    crowd: Crowd, point: str, *options: str, program: str = "crew.py", meet: Callable[[], Awaitable[None]] | None = None
) -> int:
    """A process that must die at this point; answers its pid. What it is to `meet` there is put in its way again and again:
    another of its chores may have seen to it before."""
    victim = await crowd.start(*options, crash_at=point, program=program, env={"WEFT_RETENTION_DAYS": "30"})
    patience = LONG
    while meet is not None and patience > AGAIN and not await came(victim, within=AGAIN):
        patience -= AGAIN
        await meet()
    if not await came(victim, within=patience):
        raise AssertionError(f"nobody came to {point!r}: {(crowd.folder / 'stderr').read_text()[-3000:]}")
    code = await ended(victim)
    assert code == -signal.SIGKILL, f"nobody died at {point!r}: {(crowd.folder / 'stderr').read_text()[-3000:]}"
    return victim.pid


async def test_leaders_that_die_in_every_chore_lose_nothing(
    witness: Witness, watched_crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    await seasoned(witness.url)
    rows(witness.url, PLAN)
    async with App(database_url=witness.url) as app:

        async def meet() -> None:
            """Something that is due, something to tell of; somebody who died is there already."""
            await witness.enqueue(app, 2)
            await witness.enqueue(app, 1, delay="10ms")
            for planted in PLANTED:
                rows(witness.url, planted)

        for point in LEADER:
            await meet()
            witness.harmed.add(await die(watched_crowd, point, meet=meet))
    rows(witness.url, "select weft.cancel(id) from weft.tasks where queue = 'nobody'")
    await watched_crowd.start()
    await witness.all_ended()
    assert await witness.findings() == []
    terms = value(witness.url, "select max(term) from weft.leaders")
    await until(lambda: value(witness.url, "select count(*) from weft.nodes where status = 'active'") == 1)
    say(capsys, f"{len(LEADER)} leaders died at as many points, {terms} terms: {len(witness.asked)} tasks, none lost")


async def test_workers_that_die_at_every_point_lose_nothing(
    witness: Witness, watched_crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    await seasoned(witness.url)
    await watched_crowd.start("--queues", "nothing")  # leads
    async with App(database_url=witness.url) as app:
        for point in WORKER:
            await witness.enqueue(app, 12)
            await witness.enqueue(app, 3, fail=1)
            await witness.enqueue(app, 2, concurrency_key="one by one", concurrency="strict")
            witness.harmed.add(await die(watched_crowd, point, "--no-lead"))
    await watched_crowd.start("--no-lead")
    await witness.all_ended()
    assert await witness.findings() == []
    say(capsys, f"{len(WORKER)} workers died at as many points: {len(witness.asked)} tasks, 0 lost, 0 double, 0 stale")


def diamond(name: str) -> dict[str, Any]:
    """Eight tasks: one, then six (one of which fails once), then one."""
    middle = [f"m{number}" for number in range(6)]
    tasks = [("first", []), *((one, ["first"]) for one in middle), ("last", middle)]
    return {
        "name": name,
        "tasks": [
            {"name": one, "payload": {"task": "checked", "args": {"k": one, "fail": int(one == "m3")}},
             "dependencies": before, "retry_config": {"max_attempts": 20, "backoff_seconds": 0}}
            for one, before in tasks
        ],
    }  # fmt: skip


@pytest.mark.chaos
async def test_workers_that_die_while_they_ready_successors_run_each_node_once_and_every_run_ends(
    witness: Witness, watched_crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    await seasoned(witness.url)
    await watched_crowd.start("--queues", "nothing")  # leads
    async with App(database_url=witness.url) as app:
        await app.dags.create(diamond("diamond"))
        for point in RUNS:
            for _ in range(3):
                await app.dags.trigger("diamond")
            witness.harmed.add(await die(watched_crowd, point, "--no-lead"))
            # a task that several of them had in their hands is not to be taken for what kills them
            rows(witness.url, "update weft.tasks set losses = 0, plain = true where losses > 0 returning id")
    await watched_crowd.start("--no-lead")
    open_runs = "select count(*) from weft.runs where finished_at is null"
    await until(lambda: value(witness.url, open_runs) == 0, within=120)
    assert rows(witness.url, "select state, count(*)::integer from weft.runs group by 1") == [("completed", 3 * len(RUNS))]
    # each node has one task that completed, and no other
    completed = (
        "select count(*), count(distinct step_id) from weft.task_history where state = 'completed' and run_id is not null"
    )
    assert rows(witness.url, completed) == [(24 * len(RUNS), 24 * len(RUNS))]
    assert value(witness.url, "select count(*) from weft.tasks where run_id is not null") == 0
    assert value(witness.url, "select count(*) from weft.run_inbox") == 0
    say(capsys, f"{len(RUNS)} workers died while readying successors: {3 * len(RUNS)} runs, each node once")


@pytest.mark.parametrize("point", CLIENT)
async def test_a_client_that_dies_while_it_enqueues_has_enqueued_all_or_nothing(
    witness: Witness, watched_crowd: Crowd, point: str
) -> None:
    deed, expected = CLIENT[point]
    await die(watched_crowd, point, deed, "key", program="deed.py")
    assert value(witness.url, "select count(*) from weft.tasks") == expected
    assert await witness.findings(over=False) == []


async def test_a_client_that_dies_while_it_cancels_or_redrives_leaves_one_or_the_other(
    witness: Witness, watched_crowd: Crowd
) -> None:
    async with App(database_url=witness.url) as app:
        [first, second] = await witness.enqueue(app, 2)
        await die(watched_crowd, "cancel: before commit", "cancel", first, program="deed.py")
        assert rows(witness.url, "select id::text from weft.tasks where cancel_requested_at is null order by id") == [
            (first,), (second,),
        ]  # fmt: skip
        await die(watched_crowd, "cancel: committed", "cancel", first, program="deed.py")
        assert rows(witness.url, "select id::text, state from weft.task_history") == [(first, "cancelled")]
        await die(watched_crowd, "redrive: before commit", "redrive", first, program="deed.py")
        assert rows(witness.url, "select id::text, state from weft.task_history") == [(first, "cancelled")]
    assert await witness.findings(over=False) == []


@pytest.mark.parametrize("point", MIGRATING)
async def test_a_migration_that_dies_leaves_nothing_or_all_and_the_next_one_completes_it(
    witness: Witness, watched_crowd: Crowd, point: str
) -> None:
    with fresh_database.made(witness.url) as fresh:
        watched_crowd.url = fresh
        await die(watched_crowd, point, "up", "-", program="deed.py")
        there = value(fresh, "select to_regclass('weft.tasks') is not null")
        assert there == (point == "migrate: committed")
        async with await psycopg.AsyncConnection.connect(fresh, autocommit=True, connect_timeout=10) as connection:
            await migrate.up(connection, migrate.ours())
            assert {one.state for one in await migrate.status(connection, migrate.ours())} == {"applied"}
