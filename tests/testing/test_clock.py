"""A clock that is set: tomorrow comes at once."""

import datetime as dt

from weft import App, Retry, Snooze
from weft.testing.clock import Clock
from weft.testing.inline import run_pending

DAY = dt.timedelta(days=1)
SLACK = dt.timedelta(minutes=10)


async def test_a_task_for_tomorrow_runs_once_the_clock_says_tomorrow(app: App) -> None:
    ran: list[str] = []

    @app.task
    async def remind(who: str) -> None:
        ran.append(who)

    clock = await Clock.install(app)
    task = await app.enqueue(remind, {"who": "Ada"}, delay=DAY)
    assert await run_pending(app) == 0 and ran == []
    await clock.advance(DAY - SLACK)
    assert await run_pending(app) == 0
    await clock.advance(SLACK)
    assert await run_pending(app) == 1 and ran == ["Ada"]
    view = await app.get(task.id)
    assert view.finished_at is not None and view.finished_at - view.created_at >= DAY


async def test_a_retry_with_a_long_pause_runs_when_its_time_has_come(app: App) -> None:
    @app.task(max_attempts=3, retry=Retry(backoff="fixed", base=3600, cap=3600, jitter=0))
    async def shaky() -> None:
        raise OSError

    @app.task
    async def sleepy() -> None:
        raise Snooze(DAY)

    clock = await Clock.install(app)
    task, other = await app.enqueue(shaky), await app.enqueue(sleepy)
    counts = []
    for _ in range(4):
        counts.append(await run_pending(app))
        await clock.advance(dt.timedelta(hours=1, seconds=1))
    assert counts == [2, 1, 1, 0]
    view = await app.get(task.id)
    assert (view.state, view.reason, view.attempt) == ("failed", "dead", 3)
    assert (await app.get(other.id)).state == "scheduled"


async def test_the_clock_can_be_set_and_goes_on_from_there_and_is_given_back(app: App) -> None:
    clock = await Clock.install(app)
    await Clock.install(app)
    at = dt.datetime(2031, 5, 6, 7, 8, tzinfo=dt.UTC)
    await clock.set(at)
    first, second = await clock.now(), await clock.now()
    assert at <= first < second < at + SLACK
    await clock.advance(-DAY)
    assert await clock.now() < at
    await clock.remove()
    assert abs(await clock.now() - dt.datetime.now(dt.UTC)) < SLACK


async def test_the_settable_clock_is_as_stable_as_the_real_one(app: App) -> None:
    statement = "select provolatile::text from pg_proc where oid = 'weft.now()'::regprocedure"
    async with app.tx() as tx:
        before = await tx.value(statement)
    await Clock.install(app)
    async with app.tx() as tx:
        assert before == await tx.value(statement) == "s"
        assert await tx.value("select count(distinct weft.now()) from generate_series(1, 100)") == 1
