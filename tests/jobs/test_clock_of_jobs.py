"""Clocks that jump: the database's time goes forward and back, and every time of a job still fires once."""

import datetime as dt
import random

from frozen import Frozen

from weft.base import ids
from weft.db.tx import Tx
from weft.jobs import manage, scheduler

ORG = ids.DEFAULT_ORG
MINUTE = dt.timedelta(minutes=1)
BERLIN = {"cron_expression": "30 2 * * *", "timezone": "Europe/Berlin"}


async def fire(tx: Tx) -> None:
    await scheduler.once(tx)


async def times(tx: Tx) -> list[dt.datetime]:
    return [row[0] for row in await tx.rows("select e.scheduled_time from weft.executions as e order by 1")]


async def test_a_clock_that_jumps_about_misses_nothing_and_fires_nothing_twice(tx: Tx, clock: Frozen) -> None:
    given = {"name": "ticks", "cron_expression": "* * * * *", "payload": {"task": "tick"}, "misfire": "catch_up",
             "catch_up_limit": 1000}  # fmt: skip
    job = await manage.create(tx, given, org=ORG, actor="test")
    dice = random.Random(11)
    furthest = clock.now
    for _ in range(40):
        await clock.advance(dt.timedelta(seconds=dice.choice([-7200, -61, -1, 0, 1, 30, 59, 60, 61, 600, 7200])))
        furthest = max(furthest, clock.now)
        await fire(tx)
    await clock.set(furthest + MINUTE)
    await fire(tx)
    found = await times(tx)
    assert job.next_run_time is not None and len(found) > 100
    assert found == [job.next_run_time + n * MINUTE for n in range(len(found))]
    assert found[-1] == clock.minute
    assert await tx.value("select count(*) from weft.tasks") == len(found)


async def test_a_clock_set_back_fires_nothing_until_it_is_where_it_was(tx: Tx, clock: Frozen) -> None:
    given = {"name": "ticks", "cron_expression": "* * * * *", "payload": {"task": "tick"}}
    await manage.create(tx, given, org=ORG, actor="test")
    began = clock.now
    await clock.advance(MINUTE)
    await fire(tx)
    await clock.set(began - dt.timedelta(days=1))
    await fire(tx)
    assert len(await times(tx)) == 1
    await clock.set(began + 2 * MINUTE)
    await fire(tx)
    assert len(await times(tx)) == 2


async def test_a_day_whose_clock_is_put_forward_has_its_time_once_and_one_put_back_too(tx: Tx, clock: Frozen) -> None:
    """2027: the night of 28 March has no 02:30 in Berlin, that of 31 October has two."""
    for start, days in ((dt.datetime(2027, 3, 26, 12, tzinfo=dt.UTC), 4), (dt.datetime(2027, 10, 29, 12, tzinfo=dt.UTC), 4)):
        await clock.set(start)
        given = {"name": f"from {start:%B}", "payload": {"task": "t"}, **BERLIN}
        job = await manage.create(tx, given, org=ORG, actor="test")
        for _ in range(days * 48):
            await clock.advance(dt.timedelta(minutes=30))
            await fire(tx)
        count = await tx.value("select count(*) from weft.executions where job_id = %(id)s", {"id": job.id})
        assert count == days
        await manage.delete(tx, id=job.id, org=ORG, actor="test")


async def test_a_paused_job_does_not_catch_up_with_what_it_slept_through(tx: Tx, clock: Frozen) -> None:
    given = {"name": "ticks", "cron_expression": "* * * * *", "payload": {"task": "tick"}, "misfire": "catch_up"}
    job = await manage.create(tx, given, org=ORG, actor="test")
    await manage.pause(tx, id=job.id, org=ORG, actor="test")
    await clock.advance(dt.timedelta(hours=5))
    await fire(tx)
    resumed = await manage.resume(tx, id=job.id, org=ORG, actor="test")
    assert resumed.next_run_time == clock.minute + MINUTE
    await clock.advance(MINUTE)
    await fire(tx)
    assert await times(tx) == [resumed.next_run_time]
