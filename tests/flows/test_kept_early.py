"""What is done is kept while something else of the run still goes on."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from weft import App
from weft.base import ids
from weft.flows import steering


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        yield made


async def test_a_step_is_kept_while_its_sibling_runs(app: App) -> None:
    free = asyncio.Event()

    @app.step
    async def charge() -> str:
        return "charged"

    @app.step
    async def slow() -> None:
        await free.wait()

    async def charges() -> None:
        app.set_state(await charge())

    @app.workflow
    async def buys() -> None:
        await app.gather(charges(), slow())

    run = await app.start(buys)
    async with app.worker(concurrency=2), asyncio.timeout(60):
        while not (await app.runs.steps(run.id)):
            await asyncio.sleep(0.02)
        assert [one.node for one in await app.runs.steps(run.id)] == ["charge#2.0.1"]
        assert await app.runs.published(run.id) == "charged"
        free.set()
        await app.runs.result(run.id, timeout=60)


async def test_an_answer_is_given_while_a_step_runs(app: App) -> None:
    free = asyncio.Event()

    @app.step
    async def slow() -> None:
        await free.wait()

    async def answers() -> None:
        request = await app.receive("how")
        assert request is not None
        app.answer(request, "well")

    @app.workflow
    async def talks() -> None:
        await app.gather(answers(), slow())

    run = await app.start(talks)
    async with app.worker(concurrency=2):
        assert await app.update(run.id, "how", timeout=60) == "well"
        free.set()
        await app.runs.result(run.id, timeout=60)


async def test_a_step_that_takes_long_is_shown_while_it_runs(app: App) -> None:
    free = asyncio.Event()

    @app.step
    async def slow(n: int) -> int:
        await free.wait()
        return n

    @app.workflow
    async def waits() -> None:
        await slow(1)
        free.clear()
        await app.gather(slow(2), slow(3))

    async def shows(*expected: str) -> None:
        while True:
            async with app.tx() as tx:
                found = (await steering.published(tx, run.id, org=ids.DEFAULT_ORG)).running
                current = await tx.value("select current_step from forge.forge_workflow_runs")
            if sorted(found) == sorted(expected):
                break
            await asyncio.sleep(0.02)
        assert current == "slow" or not expected

    run = await app.start(waits)
    async with app.worker(concurrency=2), asyncio.timeout(60):
        await shows("slow#1")
        free.set()
        await shows("slow#2", "slow#3")
        free.set()
        await app.runs.result(run.id, timeout=60)
        await shows()


@pytest.mark.parametrize("kind", ["step", "transaction"])
async def test_how_long_a_step_took_is_seen(app: App, kind: str) -> None:
    begun, free = asyncio.Event(), asyncio.Event()

    async def until_told(*given: object) -> None:
        begun.set()
        await free.wait()

    slow = (app.step if kind == "step" else app.transaction)(until_told)

    @app.workflow
    async def takes_long() -> None:
        await slow()

    run = await app.start(takes_long)
    async with app.worker(concurrency=1), asyncio.timeout(60):
        await begun.wait()
        free.set()
        await app.runs.result(run.id, timeout=60)
        [step] = await app.runs.steps(run.id)
    assert step.started_at is not None and step.finished_at is not None and step.started_at < step.finished_at
