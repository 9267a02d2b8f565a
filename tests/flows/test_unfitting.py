"""What does not fit its type: signals, results in history, arguments. Said clearly, inside of the code or as `blocked`."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from weft import App
from weft.base import errors
from weft.flows import fitting
from weft.testing.inline import run_pending


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        yield made


def saga(app: App) -> dict[str, Any]:
    """A step that can be undone, and what was."""
    done: dict[str, Any] = {"took": 0, "undone": 0}

    @app.step
    async def put_back() -> None:
        done["undone"] += 1

    @app.step(compensate=put_back)
    async def take() -> int:
        done["took"] += 1
        return 1

    done["take"] = take
    return done


async def test_a_signal_of_another_type_is_an_error_inside_of_the_workflow(app: App) -> None:
    done = saga(app)
    caught: list[str] = []

    @app.workflow
    async def asks() -> int:
        await done["take"]()
        try:
            await app.wait_for("count", type=int)
        except errors.InvalidPayload as error:
            caught.append(str(error))
        await app.wait_for("go")
        return int(await app.wait_for("count", type=int))

    run = await app.start(asks)
    await run_pending(app)
    await app.signal(run.id, "count", "many")
    await run_pending(app)
    await app.signal(run.id, "go")
    await run_pending(app)
    # the code was run again from its history, and told the same
    assert len(caught) >= 2 and len(set(caught)) == 1 and "Expected `int`, got `str`" in caught[0]
    await app.signal(run.id, "count", "many")
    await run_pending(app)
    assert (await app.runs.get(run.id)).state == "compensated"
    assert (done["took"], done["undone"]) == (1, 1)


async def test_who_asks_with_another_type_is_refused(app: App) -> None:
    @app.workflow
    async def asks() -> str:
        try:
            await app.receive("count", type=int)
        except errors.InvalidPayload:
            return "refused"
        return "?"

    run = await app.start(asks)
    async with app.worker(concurrency=2):
        with pytest.raises(errors.Conflict, match="refused"):
            await app.update(run.id, "count", "many", timeout=60)
        assert await app.runs.result(run.id, timeout=60) == "refused"


async def test_a_child_that_answers_another_type_has_failed(app: App) -> None:
    other = App(settings=app.settings)

    @other.workflow(name="child")
    async def says() -> str:
        return "many"

    @app.workflow(name="child")
    async def child() -> int:
        return 1

    @app.workflow
    async def parent() -> str:
        try:
            return str(await child())
        except errors.StepFailed as error:
            return str(error)

    run = await app.start(parent)
    app.declared.workflows.pop("workflow:child:1")
    await run_pending(app)
    async with other:
        await run_pending(other)
    await run_pending(app)
    assert "Expected `int`, got `str`" in await app.runs.result(run.id, timeout=30)


async def test_a_result_in_history_that_does_not_fit_any_more_blocks_the_run(app: App, database_url: str) -> None:
    calls: list[int] = []

    @app.step
    async def count() -> str:
        calls.append(1)
        return "many"

    @app.workflow
    async def counts() -> str:
        found = str(await count())
        await app.wait_for("go")
        return found

    run = await app.start(counts)
    await run_pending(app)
    changed = App(database_url=database_url)

    @changed.step(name="count")
    async def count_now() -> int:
        return 1

    @changed.workflow(name="counts")
    async def counts_now() -> int:
        found = int(await count_now())
        await changed.wait_for("go")
        return found

    async with changed:
        async with changed.tx() as tx:
            fit = await fitting.check(tx, changed.declared)
        assert [one.position for one in fit.misfits] == ["1"] and "Expected `int`, got `str`" in fit.misfits[0].message
        await app.signal(run.id, "go")
        await run_pending(changed)
    found = await app.runs.get(run.id)
    assert found.state == "blocked" and "Expected `int`, got `str`" in (found.error or {})["message"]
    await app.runs.resume(run.id)
    await run_pending(app)
    assert (await app.runs.result(run.id, timeout=30), calls) == ("many", [1])


async def test_arguments_that_do_not_fit_any_more_block_a_run_that_has_begun(app: App, database_url: str) -> None:
    done = saga(app)

    @app.workflow
    async def buys(n: int) -> int:
        await done["take"]()
        await app.wait_for("go")
        return n

    first, second = await app.start(buys, 1), await app.start(buys, 2)
    await run_pending(app)
    changed = App(database_url=database_url)
    theirs = saga(changed)

    @changed.workflow(name="buys")
    async def buys_now(name: str) -> str:
        return name

    async with changed:
        for run in (first, second):
            await app.signal(run.id, "go")
        await run_pending(changed)
        assert (await app.runs.get(first.id)).state == "blocked"
        # what was done can be undone, whatever the code takes
        await app.runs.cancel(first.id)
        await run_pending(changed)
        assert ((await app.runs.get(first.id)).state, theirs["undone"]) == ("compensated", 1)
        fresh = await app.start("buys", arguments={"n": 3})
        await run_pending(changed)
        assert (await app.runs.get(fresh.id)).state == "failed"  # nothing of it is done: nothing can be mended
    await app.runs.resume(second.id)
    await run_pending(app)
    assert await app.runs.result(second.id, timeout=30) == 2


async def test_a_blocked_run_keeps_the_steps_that_were_done(app: App) -> None:
    calls: list[str] = []
    foreign = True

    @app.step
    async def charge() -> None:
        calls.append("charge")

    @app.workflow
    async def buys() -> str:
        await charge()
        if foreign:
            await asyncio.sleep(0)
        return "done"

    run = await app.start(buys)
    await run_pending(app)
    assert (await app.runs.get(run.id)).state == "blocked"
    foreign = False
    await app.runs.resume(run.id)
    await run_pending(app)
    assert (await app.runs.result(run.id, timeout=30), calls) == ("done", ["charge"])


async def test_a_step_or_a_workflow_that_exits_fails_and_takes_nobody_with_it(app: App) -> None:
    @app.step
    async def exits() -> None:
        raise SystemExit(3)

    @app.transaction
    async def exits_too(conn: Any) -> None:
        raise SystemExit(4)

    @app.workflow
    async def gathers() -> None:
        await app.gather(exits(), exits_too())

    @app.workflow
    async def leaves() -> None:
        raise SystemExit(5)

    runs = [await app.start(gathers), await app.start(leaves)]
    await run_pending(app)
    assert [(await app.runs.get(run.id)).state for run in runs] == ["failed", "failed"]
