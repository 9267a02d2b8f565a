"""What a failed run does again, and what not."""

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


async def test_a_step_whose_failure_was_caught_is_left_alone_by_retry(app: App) -> None:
    done: dict[str, Any] = {"broken": True, "calls": []}

    @app.step
    async def shaky(name: str) -> str:
        done["calls"].append(name)
        if done["broken"]:
            raise ValueError("broken")
        return name

    @app.step
    async def note(name: str) -> str:
        done["calls"].append(name)
        return name

    @app.workflow
    async def copes() -> str:
        try:
            await shaky("first")
        except errors.StepFailed:
            await note("second")
        return str(await shaky("third"))

    @app.workflow
    async def gives_up() -> None:
        try:
            await shaky("first")
        except errors.StepFailed:
            await note("second")
            raise

    @app.workflow
    async def stumbles() -> str:
        try:
            await shaky("first")
        except errors.StepFailed:
            await note("second")
        if done["broken"]:
            raise ValueError("in the code itself")
        return "mended"

    coped, gave_up, stumbled = [await app.start(one) for one in (copes, gives_up, stumbles)]
    await run_pending(app)
    done["broken"], done["calls"] = False, []
    assert await app.runs.retry(coped.id) == "shaky#3"
    with pytest.raises(errors.Conflict, match=r"went on after shaky#1 failed.*fork"):
        await app.runs.retry(gave_up.id)
    with pytest.raises(errors.Conflict, match=r"went on after shaky#1 failed.*fork"):
        await app.runs.skip(gave_up.id, "shaky#1")
    with pytest.raises(errors.Conflict, match="went on"):
        await app.runs.skip(stumbled.id, "shaky#1")
    assert await app.runs.retry(stumbled.id) is None
    await run_pending(app)
    assert await app.runs.result(coped.id, timeout=30) == "third"
    assert await app.runs.result(stumbled.id, timeout=30) == "mended"
    assert (await app.runs.get(gave_up.id)).state == "failed"
    assert done["calls"] == ["third"]


async def test_all_that_failed_together_are_tried_again_together(app: App) -> None:
    done: dict[str, Any] = {"broken": True, "calls": []}

    @app.step
    async def part(n: int) -> int:
        done["calls"].append(n)
        if done["broken"] and n % 2:
            raise ValueError("odd")
        return n

    @app.workflow
    async def whole() -> int:
        try:
            return int(sum(await app.gather(*[part(n) for n in range(6)])))
        except errors.StepFailed as error:
            raise RuntimeError("some failed") from error

    run = await app.start(whole)
    await run_pending(app)
    done["broken"], done["calls"] = False, []
    await app.runs.retry(run.id)
    await run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == 15
    assert sorted(done["calls"]) == [1, 3, 5]


async def test_what_ran_beside_a_step_that_failed_is_not_done_again(app: App) -> None:
    done: dict[str, Any] = {"broken": True, "calls": []}

    @app.step
    async def shaky() -> str:
        if done["broken"]:
            raise ValueError("broken")
        return "mended"

    @app.step
    async def note(n: int) -> int:
        done["calls"].append(n)
        return n

    async def branch() -> int:
        return sum([await note(n) for n in range(3)])

    async def fails() -> str:
        return str(await shaky())

    @app.workflow
    async def both() -> list[Any]:
        # the branch that goes on ends after the other has failed
        return list(await app.gather(fails(), branch()))

    run = await app.start(both)
    await run_pending(app)
    assert (await app.runs.get(run.id)).state == "failed"
    done["broken"] = False
    assert await app.runs.retry(run.id) == "shaky#1.0.1"
    await run_pending(app)
    assert (await app.runs.result(run.id, timeout=30), done["calls"]) == (["mended", 3], [0, 1, 2])


async def test_a_fork_at_a_step_that_waits_for_its_next_attempt_keeps_what_was_done(app: App) -> None:
    done: dict[str, Any] = {"broken": True, "calls": 0}

    @app.step
    async def first() -> None:
        done["calls"] += 1

    @app.step(retries=3, retry={"base": "1h", "cap": "1h"})
    async def shaky() -> str:
        if done["broken"]:
            raise ValueError("broken")
        return "mended"

    @app.workflow
    async def waits() -> str:
        await first()
        return str(await shaky())

    run = await app.start(waits)
    await run_pending(app)
    done["broken"] = False
    fork = await app.runs.fork(run.id, step="shaky#2")
    await run_pending(app)
    assert (await app.runs.result(fork, timeout=30), done["calls"]) == ("mended", 1)
