"""Updates: signals whose sender waits for an answer; and workflows that a payload starts."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from weft import App
from weft.base import errors
from weft.testing.inline import run_pending


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        yield made


async def test_an_update_is_answered_refused_or_never_heard(app: App) -> None:
    @app.workflow(signals=["add"])
    async def counter(most: int) -> int:
        total = 0
        while (request := await app.receive("add", timeout="1h", type=int)) is not None:
            if total + request.value > most:
                app.refuse(request, f"{most} is the most")
            else:
                total += request.value
                app.answer(request, {"total": total})
            if total == most:
                break
        return total

    async with app.worker(concurrency=2):
        run = await app.start(counter, 5)
        assert await app.update(run.id, "add", 2) == {"total": 2}
        with pytest.raises(errors.Conflict, match="5 is the most"):
            await app.update(run.id, "add", 9)
        # the last answer comes with the end
        assert await app.update(run.id, "add", 3) == {"total": 5}
        assert await app.runs.result(run.id, timeout=30) == 5
        with pytest.raises(errors.Conflict, match="has ended"):
            await app.update(run.id, "add", 1)

        @app.workflow
        async def deaf() -> None:
            await app.wait_for("end")

    quiet = await app.start(deaf)
    with pytest.raises(errors.ResultTimeout, match="may still do so"):
        await app.update(quiet.id, "add", 1, timeout=0.01)
    await app.signal(quiet.id, "end")
    asked = asyncio.create_task(app.update(quiet.id, "other", 1))
    await run_pending(app)
    with pytest.raises(errors.Conflict, match=r"has not answered|has ended"):
        await asked


async def test_a_job_starts_a_workflow(app: App) -> None:
    @app.workflow
    async def greet(name: str) -> str:
        return f"hello {name}"

    await app.enqueue("weft.start", {"what": "workflow", "name": "greet", "params": {"name": "Ada"}})
    await app.start(greet, "nobody")  # so that it is known before the first worker comes
    async with app.worker(concurrency=2):
        async with asyncio.timeout(60):
            while {"hello Ada"} - {one.output for one in await app.runs.list(name="greet")}:
                await asyncio.sleep(0.02)
