"""What a workflow is declared with is honoured or refused; and which of its versions is the newest."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

import fresh_database
from weft import App
from weft.base import config, errors
from weft.testing.inline import run_pending


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        yield made


@pytest.mark.parametrize("option", [
    {"timeout": 5}, {"max_attempts": 2}, {"retry": {"base": 1}}, {"capabilities": ["gpu"]}, {"isolate": "process"},
    {"nonsense": 1},
])  # fmt: skip
def test_an_option_that_a_workflow_cannot_have_is_refused(option: dict[str, Any]) -> None:
    app = App()
    with pytest.raises(errors.InvalidInput, match=f"cannot have the option '{next(iter(option))}'"):

        @app.workflow(**option)
        async def works() -> None: ...


async def test_the_declared_priority_holds_however_a_run_is_started(app: App) -> None:
    @app.workflow(priority=90)
    async def urgent() -> None: ...

    @app.workflow(priority=10)
    async def parent() -> None:
        await app.detach(urgent)

    await app.start(urgent)
    await app.start_many(urgent, [{}, {}])
    await app.start("urgent", arguments={})
    await app.start(urgent, priority=20)
    async with app.tx() as tx:
        await tx.rows("select weft.start('urgent', '{}', 'workflow')")
        assert sorted([row[0] for row in await tx.rows("select urgency from weft.tasks")]) == [10, 10, 10, 10, 10, 80]
    await run_pending(app)
    await app.start(parent)
    await run_pending(app)
    async with app.tx() as tx:
        rows = await tx.rows("select urgency, count(*) from weft.task_history group by 1 order by 1")
    assert rows == [(10, 6), (80, 1), (90, 1)]


async def test_the_newest_version_is_the_one_declared_last_and_a_rollback_makes_its_own_the_newest(
    app: App, database_url: str
) -> None:
    def declare(app: App, *versions: str) -> None:
        async def works() -> None: ...

        for version in versions:
            app.workflow(works, name="works", version=version)

    async def newest() -> str:
        async with app.tx() as tx:
            run = await tx.value("select weft.start('works', '{}', 'workflow')")
        return str((await app.runs.get(run)).version)

    declare(app, "9", "10")
    await run_pending(app)
    assert await newest() == "10"
    found = app.declared.latest("works")
    assert found is not None and found.version == "10"
    async with App(database_url=database_url) as before:
        declare(before, "9")
        await run_pending(before)
    assert await newest() == "9"
    await run_pending(app)
    assert await newest() == "10"


async def test_the_feed_hears_of_runs_that_are_started_together_or_forked(app: App) -> None:
    @app.workflow
    async def works() -> None: ...

    async def told() -> list[uuid.UUID]:
        async with app.tx() as tx:
            rows = await tx.rows("select ids from weft.change_inbox where table_name = 'runs' and op = 'INSERT'")
            await tx.run("delete from weft.change_inbox")
        return [id for row in rows for id in row[0]]

    made = await app.start_many(works, [{}, {}])
    assert sorted(await told()) == sorted(made)
    await run_pending(app)
    await told()
    fork = await app.runs.fork(made[0])
    assert await told() == [fork]


async def test_an_app_that_goes_to_another_database_declares_its_workflows_there(server_url: str, template: str) -> None:
    app = App()

    @app.workflow
    async def greets() -> str:
        return "hello"

    for _ in range(2):
        with fresh_database.made(server_url, template=template) as url:
            app.settings = config.load(database_url=url)
            async with app:
                assert (await app.start(greets)).created
                # itself is remembered: the number of one that is gone may be another's
                assert app._declared_in[0] is await app.open()
