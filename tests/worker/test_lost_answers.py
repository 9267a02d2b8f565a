"""The connection breaks after the server has done what it was asked: nothing is lost, nothing is done twice."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from waiting import LONG, until

from weft import App
from wire import Wire


@pytest.fixture
async def wire(database_url: str, tmp_path: Path) -> AsyncIterator[Wire]:
    made = Wire(database_url, tmp_path)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def remote(wire: Wire) -> AsyncIterator[App]:
    """An app whose worker is at the other end of the wire."""
    made = App(database_url=wire.url)
    yield made
    await made.close()


async def states(app: App) -> list[str]:
    """Seen past the wire."""
    statement = "select state from weft.tasks union all select state from weft.task_history"
    async with app.tx() as tx:
        return [row[0] for row in await tx.rows(statement)]


@pytest.mark.parametrize("key", [None, "k"])
async def test_what_was_claimed_without_an_answer_is_given_back_and_run(
    app: App, remote: App, wire: Wire, key: str | None
) -> None:
    runs: list[str] = []

    @remote.task
    async def work() -> None:
        runs.append("ran")

    task = await app.enqueue("work", {}, check=False, concurrency_key=key)
    # a claim of limited work says in a statement of its own that it is done
    wire.lose_answer_to("set state = 'running'")
    async with remote.worker(concurrency=2):
        await until(lambda: wire.lost)
        if key is None:

            async def claimed() -> bool:
                return await states(app) == ["running"]

            await until(claimed)
        assert runs == []
        wire.cut()
        await app.result(task.id, timeout=LONG)
    view = await app.get(task.id)
    assert runs == ["ran"] and (view.attempt - view.uncounted, view.losses) == (1, 0)
    assert view.uncounted == (1 if key is None else 0)


async def test_what_was_settled_without_an_answer_is_settled_once(app: App, remote: App, wire: Wire) -> None:
    runs: list[str] = []

    @remote.task
    async def work() -> str:
        runs.append("ran")
        return "done"

    task = await app.enqueue("work", {}, check=False)
    wire.lose_answer_to("insert into weft.task_history")

    async def finished() -> bool:
        return await states(app) == ["completed"]

    async with remote.worker(concurrency=2) as worker:
        await until(lambda: wire.lost)
        await until(finished)
        before = await app.get(task.id)
        assert worker.settled == 0
        wire.cut()
        await until(lambda: worker.settled == 1)
        assert await app.get(task.id) == before
        assert await app.result((await app.enqueue("work", {}, check=False)).id, timeout=LONG) == "done"
    assert runs == ["ran", "ran"] and before.result == "done"
