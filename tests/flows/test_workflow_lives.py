"""A run that begins again, is tried again or forked: children and dice are those of the life it is in."""

import datetime as dt
from collections.abc import AsyncIterator
from typing import Any

import pytest

from weft import App
from weft.base import errors
from weft.testing.clock import Clock
from weft.testing.inline import run_pending


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        yield made


async def test_every_life_has_children_of_its_own(app: App) -> None:
    @app.workflow
    async def child(n: int) -> int:
        return n * 10

    @app.workflow
    async def aside(n: int) -> int:
        return n

    @app.workflow
    async def parent(n: int, got: list[int]) -> list[int]:
        got = [*got, await child(n)]
        await app.detach(aside, n)
        if n < 3:
            app.continue_as_new(n=n + 1, got=got)
        return got

    run = await app.start(parent, 1, [])
    await run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == [10, 20, 30]
    assert len(await app.runs.list(name="child")) == 3
    assert sorted([one.output for one in await app.runs.list(name="aside")]) == [1, 2, 3]


async def test_a_late_child_of_the_life_before_answers_nobody(app: App) -> None:
    @app.workflow
    async def child(n: int) -> int:
        await app.sleep("1h" if n == 1 else "3h")
        return n

    @app.workflow
    async def parent(n: int) -> int:
        index, value = await app.race(child(n), app.sleep("1m" if n == 1 else "9d"))
        if index == 1:
            app.continue_as_new(n=2)
        return int(value)

    clock = await Clock.install(app)
    run = await app.start(parent, 1)
    for hours in (1, 1, 3):
        await run_pending(app)
        await clock.advance(dt.timedelta(hours=hours))
        await run_pending(app)
        async with app.tx() as tx:
            # what nobody will ever take is not kept
            assert await tx.value("select count(*) from weft.messages where run_id = %(run)s", {"run": run.id}) == 0
    assert await app.runs.result(run.id, timeout=30) == 2


async def test_a_failed_child_is_started_again_by_retry_and_by_fork(app: App) -> None:
    broken = True

    @app.workflow
    async def child() -> str:
        if broken:
            raise ValueError("broken")
        return "mended"

    @app.workflow
    async def parent() -> str:
        return str(await child())

    run = await app.start(parent)
    await run_pending(app)
    assert (await app.runs.get(run.id)).state == "failed"
    broken = False
    fork = await app.runs.fork(run.id, step="child#2")
    assert await app.runs.retry(run.id) == "child#2"
    await run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == "mended"
    assert await app.runs.result(fork, timeout=30) == "mended"
    assert len(await app.runs.list(name="child")) == 3


async def test_a_fork_starts_children_whose_end_is_not_in_its_history_and_no_others(app: App) -> None:
    @app.workflow
    async def child(n: int) -> int:
        if n:
            await app.sleep("1h")
        return n

    @app.workflow
    async def aside() -> None: ...

    @app.step
    async def look() -> int:
        return 5

    @app.workflow
    async def parent() -> list[Any]:
        first = await child(0)
        await app.detach(aside)
        return [first, *await app.gather(child(1), look())]

    clock = await Clock.install(app)
    run = await app.start(parent)
    await run_pending(app)
    fork = await app.runs.fork(run.id)
    await run_pending(app)
    await clock.advance(dt.timedelta(hours=2))
    await run_pending(app)
    for one in (run.id, fork):
        assert await app.runs.result(one, timeout=30) == [0, 1, 5]
    assert len(await app.runs.list(name="child")) == 3
    assert len(await app.runs.list(name="aside")) == 1


async def test_dice_fall_otherwise_in_every_life_and_as_they_fell_in_a_copied_history(app: App) -> None:
    @app.step
    async def keep(text: str) -> str:
        return text

    @app.workflow
    async def throws(n: int, seen: list[str]) -> list[str]:
        key = f"{app.uuid()} {app.random().random()}"
        if await keep(key) != key:
            raise AssertionError("other dice than those in history")
        seen = [*seen, key]
        await app.wait_for("go")
        if n:
            app.continue_as_new(n=n - 1, seen=seen)
        last = str(app.uuid())
        return [*seen, await keep(last)]

    run = await app.start(throws, 1, [])
    await run_pending(app)
    await app.signal(run.id, "go")
    await run_pending(app)
    fork = await app.runs.fork(run.id)
    for one in (run.id, fork):
        await app.signal(one, "go")
    await run_pending(app)
    again = await app.runs.fork(fork, step="keep#6")
    await run_pending(app)
    first, second, last = await app.runs.result(run.id, timeout=30)
    assert first != second
    # what is done again in a fork is another thing than what was done: keys made of it must not be the same
    forked, twice = await app.runs.result(fork, timeout=30), await app.runs.result(again, timeout=30)
    assert forked[:2] == twice[:2] == [first, second]
    assert len({last, forked[2], twice[2]}) == 3


async def test_arguments_that_do_not_fit_the_next_life_fail_this_one_and_undo_it(app: App) -> None:
    undone: list[int] = []

    @app.step
    async def put_back(n: int) -> None:
        undone.append(n)

    @app.step(compensate=put_back)
    async def take(n: int) -> int:
        return n

    @app.workflow
    async def loops(n: int) -> None:
        await take(n)
        app.continue_as_new(m="what")

    run = await app.start(loops, 1)
    await run_pending(app)
    found = await app.runs.get(run.id)
    assert (found.state, undone) == ("compensated", [1])
    assert "do not fit workflow 'loops'" in (found.error or {})["message"]
    with pytest.raises(errors.Conflict):
        await app.runs.retry(run.id)
