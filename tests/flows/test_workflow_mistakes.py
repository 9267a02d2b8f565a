"""What is wrong with a workflow's code or its results is said clearly, and nothing is lost by it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from weft import App
from weft.base import errors
from weft.testing.inline import run_pending


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        yield made


async def test_changed_code_blocks_the_run_and_names_both_sides(app: App) -> None:
    old = True

    @app.step
    async def charge() -> None: ...

    @app.step
    async def ship() -> None: ...

    @app.workflow
    async def buys() -> str:
        await (charge() if old else ship())
        await app.wait_for("go")
        return "done"

    run = await app.start(buys)
    await run_pending(app)
    old = False
    await app.signal(run.id, "go")
    await run_pending(app)
    found = await app.runs.get(run.id)
    assert found.state == "blocked"
    assert "'charge' at 1" in (found.error or {})["message"] and "'ship' at 1" in (found.error or {})["message"]


async def test_a_patch_leaves_old_runs_as_they_were(app: App) -> None:
    new = False

    @app.step
    async def charge() -> None: ...

    @app.step
    async def check() -> None: ...

    @app.workflow
    async def buys() -> str:
        if new and app.patched("check"):
            await check()
        await charge()
        await app.wait_for("go")
        return "checked" if new and app.patched("check") else "plain"

    before = await app.start(buys)
    await run_pending(app)
    new = True
    after = await app.start(buys)
    await run_pending(app)
    for run in (before, after):
        await app.signal(run.id, "go")
    await run_pending(app)
    assert await app.runs.result(before.id, timeout=30) == "plain"
    assert await app.runs.result(after.id, timeout=30) == "checked"


async def test_awaiting_what_is_not_durable_blocks_the_run(app: App) -> None:
    @app.workflow
    async def naps() -> None:
        await asyncio.sleep(1)

    run = await app.start(naps)
    await run_pending(app)
    found = await app.runs.get(run.id)
    assert found.state == "blocked" and "do it in a step" in (found.error or {})["message"]


@pytest.mark.parametrize("value, what", [("x" * (2 << 20), "the limit is"), (object(), "cannot be written as JSON")])
async def test_a_result_that_cannot_be_kept_fails_the_step(app: App, value: Any, what: str) -> None:
    @app.step(retries=5)
    async def big():  # type: ignore[no-untyped-def]
        return value

    @app.workflow
    async def makes() -> str:
        try:
            await big()
        except errors.StepFailed as error:
            return str(error)
        return "?"

    run = await app.start(makes)
    await run_pending(app)
    assert what in await app.runs.result(run.id, timeout=30)
