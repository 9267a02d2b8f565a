"""Schedulers that are killed and frozen: every time of every job has one execution and one task, none is missing.

WEFT_SCHEDULER_KILLS=100 for the long run, as `make chaos` does it.
"""

import asyncio
import os
import random
import signal
import uuid

import pytest
from crowd import Crowd, ended, rows, say, until, value

KILLS = int(os.environ.get("WEFT_SCHEDULER_KILLS", "4"))
AT_ONCE = 10
"""Kills in one database: what has been late goes on being due every minute."""
JOBS, BEHIND = 40, 45
"""Jobs that come in with each kill, and how many minutes each is late."""

POINTS = ("schedule: decided", "schedule: dispatched", "chore: job scheduler")

LATE = f"""
    with made as (
        insert into weft.jobs (org_id, name, job_type, cron_expression, payload, kind, args, retry, misfire,
            catch_up_limit, next_run_time, due_at, start_at, queue)
        select '00000000-0000-7000-8000-000000000001', gen_random_uuid(), 'CRON', '* * * * *', '{{"task": "tick"}}', 'tick',
            '{{}}', '{{}}', 'catch_up', 1000, waits.at, waits.at, waits.at, 'ticks'
        from generate_series(1, {JOBS})
        cross join (select date_trunc('minute', now()) - interval '{BEHIND} minutes' as at) as waits
        returning id
    )
    select pg_notify('weft_jobs', ''), count(*) from made
"""
"""Jobs that have been waiting for a while; `start_at` remembers since when."""

BEHINDHAND = "select count(*) from weft.jobs where due_at <= now()"

WRONG = """
    select j.id, count(e.id), count(t.id), count(distinct e.scheduled_time)
    from weft.jobs as j
    left join weft.executions as e on e.job_id = j.id
    left join weft.tasks as t on t.id = e.id
    where j.start_at is not null
    group by j.id
    having count(e.id) <> extract(epoch from j.next_run_time - j.start_at) / 60
        or count(t.id) <> count(e.id)
        or count(distinct e.scheduled_time) <> count(e.id)
        or min(e.scheduled_time) <> j.start_at
        or max(e.scheduled_time) <> j.next_run_time - interval '1 minute'
"""
"""Jobs with a time that is missing, one that is there twice, or one without its task."""


async def all_fired(crowd: Crowd) -> int:
    """Waits until nothing is due, and answers how many executions there are; every job has all of its own."""
    await until(lambda: value(crowd.url, BEHINDHAND) == 0)
    assert rows(crowd.url, WRONG) == []
    return int(value(crowd.url, "select count(*) from weft.executions"))


@pytest.mark.parametrize("point", POINTS)
async def test_a_scheduler_that_dies_here_has_fired_all_or_nothing_and_the_next_fires_each_time_once(
    crowd: Crowd, point: str
) -> None:
    rows(crowd.url, LATE)
    victim = await crowd.start("--queues", "nothing", crash_at=point)
    assert await ended(victim) == -signal.SIGKILL, f"nobody died at {point!r}"
    assert value(crowd.url, "select count(*) from weft.executions") == 0
    await crowd.start("--queues", "nothing")
    assert await all_fired(crowd) >= JOBS * BEHIND


PAST = """
    with job as (
        insert into weft.jobs (org_id, name, job_type, cron_expression, payload, kind, args, retry, status, queue)
        values ('00000000-0000-7000-8000-000000000001', gen_random_uuid(), 'CRON', '0 * * * *', '{}', 'tick', '{}', '{}',
            'PAUSED', 'ticks')
        returning id, org_id
    )
    insert into weft.backfills (org_id, job_id, start_time, end_time, max_active, next_time, actor)
    select j.org_id, j.id, '2024-01-01Z', '2024-01-02Z', 1000, '2024-01-01Z', 'test' from job as j
    returning id
"""
"""A backfill of a day and an hour: 25 times."""


async def test_a_backfiller_that_dies_with_work_left_made_nothing_and_the_next_makes_each_time_once(crowd: Crowd) -> None:
    rows(crowd.url, PAST)
    victim = await crowd.start("--queues", "nothing", crash_at="chore: backfiller")
    assert await ended(victim) == -signal.SIGKILL, "nobody died"
    assert value(crowd.url, "select count(*) from weft.executions") == 0
    await crowd.start("--queues", "nothing")
    await until(lambda: value(crowd.url, "select state from weft.backfills") == "COMPLETED")
    made = (
        "select count(*), count(distinct e.scheduled_time), count(t.id) "
        "from weft.executions as e left join weft.tasks as t on t.id = e.id"
    )
    assert rows(crowd.url, made) == [(25, 25, 25)]
    assert value(crowd.url, "select made from weft.backfills") == 25


async def test_a_trigger_that_dies_before_its_commit_did_nothing(crowd: Crowd) -> None:
    name = f"job {uuid.uuid4()}"
    rows(crowd.url, "select weft.schedule(%s, '{\"task\": \"tick\"}', delay => '1 day')", name)
    victim = await crowd.start("trigger", name, crash_at="trigger: before commit", program="deed.py")
    assert await ended(victim) == -signal.SIGKILL
    for table in ("executions", "tasks"):
        assert value(crowd.url, f"select count(*) from weft.{table}") == 0


async def test_a_job_from_plain_sql_is_fired_run_and_done_by_real_processes(crowd: Crowd) -> None:
    await crowd.start()
    schedule = "select weft.schedule(%s, '{\"task\": \"quick\"}', delay => '0')"
    for name in ("one", "two"):
        rows(crowd.url, schedule, name)
    done = "select count(*) from weft.execution_states where status = 'COMPLETED'"
    await until(lambda: value(crowd.url, done) == 2)
    assert rows(crowd.url, "select distinct status from weft.jobs") == [("COMPLETED",)]
    assert sorted(one.task for one in crowd.diary()) == sorted(
        row[0] for row in rows(crowd.url, "select id::text from weft.executions")
    )


@pytest.mark.parametrize("kills", [min(AT_ONCE, KILLS - done) for done in range(0, KILLS, AT_ONCE)])
async def test_leaders_that_are_killed_and_frozen_miss_no_time_and_fire_none_twice(
    crowd: Crowd, capsys: pytest.CaptureFixture[str], kills: int
) -> None:
    seed = random.randrange(2**32)
    dice = random.Random(seed)
    say(capsys, f"seed {seed}")
    options = ("--queues", "nothing", "--lease", "2")
    crew = [await crowd.start(*options) for _ in range(2)]
    killed = frozen = 0
    for turn in range(kills):
        rows(crowd.url, LATE)
        await asyncio.sleep(dice.uniform(0, 0.3))  # not to wait for anything: to strike at another moment each time
        # whoever leads at this moment; nobody, if the last one has just died
        pids = rows(crowd.url, "select n.pid from weft.leaders as l join weft.nodes as n on n.id = l.node_id")
        victim = next((one for one in crew if [(one.pid,)] == pids and one.returncode is None), crew[0])
        if turn % 4 == 3:
            victim.send_signal(signal.SIGSTOP)
            await all_fired(crowd)  # by the other one, once the frozen one's session has lapsed
            victim.send_signal(signal.SIGCONT)
            frozen += 1
        else:
            victim.kill()
            await ended(victim)
            killed += 1
            crew.remove(victim)
            crew.append(await crowd.start(*options))
    made = await all_fired(crowd)
    say(capsys, f"{killed} schedulers killed, {frozen} frozen: {made} times of {JOBS * kills} jobs, 0 missing, 0 twice")
    assert made >= JOBS * kills * BEHIND
