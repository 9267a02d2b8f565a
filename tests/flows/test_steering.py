"""What people do to runs of workflows."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from typing import Any

import pytest

from weft import App
from weft.base import errors
from weft.flows import fitting
from weft.testing.clock import Clock
from weft.testing.inline import run_pending


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        yield made


async def until(app: App, run: Any, *states: str) -> str:
    """Waits for one of these states, with a deadline."""
    async with asyncio.timeout(60):
        while (found := (await app.runs.get(run)).state) not in states:
            await asyncio.sleep(0.05)
    return found


def declare(app: App) -> dict[str, Any]:
    """A workflow that takes, waits for a word, and gives; and what it did."""
    done: dict[str, Any] = {"did": [], "broken": True}

    @app.step
    async def give_back(n: int) -> None:
        done["did"].append(("give back", n))

    @app.step(compensate=give_back)
    async def take(n: int) -> int:
        done["did"].append(("take", n))
        return n

    @app.step
    async def finish(n: int) -> int:
        if done["broken"]:
            raise ValueError("broken")
        return n * 10

    @app.workflow
    async def takes(n: int) -> int:
        app.set_state({"at": "start"})
        got = await take(n)
        app.set_state({"at": "waiting", "got": got})
        await app.wait_for("go")
        return await finish_plain(got)

    async def finish_plain(n: int) -> int:
        found: int = await finish(n)
        return found

    @app.workflow
    async def plain(n: int) -> int:
        return int(await finish(n))

    done["takes"], done["plain"] = takes, plain
    return done


async def test_cancelling_undoes_unless_told_not_to(app: App) -> None:
    done = declare(app)
    first, second = await app.start(done["takes"], 1), await app.start(done["takes"], 2)
    await run_pending(app)
    assert await app.runs.published(first.id) == {"at": "waiting", "got": 1}
    assert await app.runs.cancel(first.id) and await app.runs.cancel(second.id, compensate=False)
    await run_pending(app)
    assert (await app.runs.get(first.id)).state == "compensated"
    assert (await app.runs.get(second.id)).state == "cancelled"
    assert ("give back", 1) in done["did"] and ("give back", 2) not in done["did"]
    assert not await app.runs.cancel(first.id)


async def test_cancelling_reaches_the_running_step(app: App) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    @app.step
    async def hangs() -> None:
        began.set()
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()

    @app.workflow
    async def long() -> None:
        await hangs()

    async with app.worker(concurrency=2):
        run = await app.start(long)
        async with asyncio.timeout(60):
            await began.wait()
            await app.runs.cancel(run.id)
            await ended.wait()
        assert await until(app, run.id, "cancelled") == "cancelled"


async def test_a_paused_run_stands_still_and_goes_on(app: App) -> None:
    done = declare(app)
    done["broken"] = False
    run = await app.start(done["takes"], 1)
    await run_pending(app)
    await app.runs.pause(run.id)
    await app.signal(run.id, "go")
    assert await run_pending(app) == 0
    assert (await app.runs.get(run.id)).state == "paused"
    await app.runs.resume(run.id)
    await run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == 10
    with pytest.raises(errors.Conflict):
        await app.runs.pause(run.id)


async def test_a_running_run_is_paused_too(app: App) -> None:
    began, free = asyncio.Event(), asyncio.Event()

    @app.step
    async def slow() -> str:
        began.set()
        await free.wait()
        return "done"

    @app.workflow
    async def long() -> str:
        return str(await slow())

    async with app.worker(concurrency=2):
        run = await app.start(long)
        async with asyncio.timeout(60):
            await began.wait()
        await app.runs.pause(run.id)
        await until(app, run.id, "paused")
        free.set()
        await app.runs.resume(run.id)
        assert await app.runs.result(run.id, timeout=60) == "done"


async def test_a_failed_run_goes_on_from_the_step_that_failed(app: App) -> None:
    done = declare(app)
    run = await app.start(done["plain"], 4)
    await run_pending(app)
    assert (await app.runs.get(run.id)).state == "failed"
    done["broken"] = False
    assert await app.runs.retry(run.id) == "finish#1"
    await run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == 40
    with pytest.raises(errors.Conflict, match="only a failed one"):
        await app.runs.retry(run.id)


async def test_a_failed_step_is_skipped_with_a_result(app: App) -> None:
    done = declare(app)
    run = await app.start(done["plain"], 4)
    await run_pending(app)
    with pytest.raises(errors.NotFound, match="did you mean 'finish#1'"):
        await app.runs.skip(run.id, "finish#2")
    await app.runs.skip(run.id, "finish#1", 7)
    await run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == 7


async def test_a_fork_has_the_history_up_to_a_step_and_may_change_it(app: App) -> None:
    done = declare(app)
    done["broken"] = False
    run = await app.start(done["takes"], 1)
    await app.signal(run.id, "go")
    await run_pending(app)
    again = await app.runs.fork(run.id, step="finish#3", outputs={"take#1": 5})
    other = await app.runs.fork(run.id, arguments={"n": 8})
    await app.signal(other, "go")
    await run_pending(app)
    assert await app.runs.result(again, timeout=30) == 50
    assert await app.runs.result(other, timeout=30) == 80
    assert [took for took in done["did"] if took[0] == "take"] == [("take", 1), ("take", 8)]
    assert [one.node for one in await app.runs.diff(run.id, again)] == ["take#1", "finish#3"]


async def test_code_is_checked_against_every_unfinished_run(app: App, database_url: str) -> None:
    done = declare(app)
    runs = [(await app.start(done["takes"], n)).id for n in range(3)]
    await run_pending(app)
    await app.signal(runs[0], "go")
    done["broken"] = False
    await run_pending(app)  # the first is over

    changed = App(database_url=database_url)

    @changed.step
    async def give_back(n: int) -> None: ...

    @changed.step
    async def look(n: int) -> int:
        return n

    @changed.step
    async def take(n: int) -> int:
        return n

    @changed.workflow(name="takes")
    async def breaks(n: int) -> int:
        return int(await look(n))

    patched = App(database_url=database_url)
    patched.declared.steps.update(changed.declared.steps)

    @patched.workflow(name="takes")
    async def mends(n: int) -> int:
        if patched.patched("look first"):
            await look(n)
        got = int(await take(n))
        await patched.wait_for("go")
        return got

    async with app.tx() as tx:
        assert await fitting.check(tx, app.declared) == fitting.Fit(2, [])
        assert await fitting.check(tx, patched.declared) == fitting.Fit(2, [])
        found = await fitting.check(tx, changed.declared)
    assert [one.run for one in found.misfits] == [str(one) for one in runs[1:]]
    assert (found.misfits[0].position, found.misfits[0].recorded, found.misfits[0].found) == ("1", "step take", "step look")


async def test_a_blocked_run_goes_on_with_the_code_that_fits(app: App) -> None:
    which = "a"

    @app.step
    async def a() -> str:
        return "a"

    @app.step
    async def b() -> str:
        return "b"

    @app.workflow
    async def picks() -> str:
        found = await (a() if which == "a" else b())
        await app.sleep("1h")
        return str(found)

    clock = await Clock.install(app)
    run = await app.start(picks)
    await run_pending(app)
    which = "b"
    await clock.advance(dt.timedelta(hours=2))
    await run_pending(app)
    assert (await app.runs.get(run.id)).state == "blocked"
    which = "a"
    await app.runs.resume(run.id)
    await run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == "a"


async def test_a_run_cancelled_before_it_began_does_nothing(app: App) -> None:
    done = declare(app)
    runs = [await app.start(done["plain"], 1), await app.start(done["plain"], 2)]
    done["broken"] = False
    await app.runs.pause(runs[1].id)
    for run in runs:
        await app.runs.cancel(run.id)
    await run_pending(app)
    assert [(await app.runs.get(run.id)).state for run in runs] == ["cancelled", "cancelled"]
    assert [await app.runs.steps(run.id) for run in runs] == [[], []]


async def test_a_run_paused_before_it_began_sees_the_same_times_each_time(app: App) -> None:
    times: list[dt.datetime] = []

    @app.workflow
    async def looks() -> None:
        times.append(app.now())
        await app.wait_for("go")

    clock = await Clock.install(app)
    run = await app.start(looks)
    await app.runs.pause(run.id)
    assert await run_pending(app) == 0
    await clock.advance(dt.timedelta(hours=1))
    await app.runs.resume(run.id)
    await run_pending(app)
    await app.signal(run.id, "go")
    await run_pending(app)
    assert len(times) == 2 and times[0] == times[1]
