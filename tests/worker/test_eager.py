"""Runs that begin in a process with a worker: what is ready at once is its own. On a real database."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from weft import App
from weft.base import config, ids
from weft.db.database import Database
from weft.db.tx import Tx
from weft.flows import definitions, start
from weft.flows.advance import Hands
from weft.flows.start import Wish

TASKS = "select state, node_id is not null, attempt from weft.tasks order by state desc, attempt desc"


def beside(count: int) -> dict[str, Any]:
    return {"name": "beside", "tasks": [{"name": f"t{number}", "payload": {"task": "held"}} for number in range(count)]}


class Stage:
    """An app whose tasks wait until they may go on."""

    def __init__(self, database_url: str) -> None:
        self.app = App(database_url=database_url)
        self.may_go = asyncio.Event()
        self.begun: list[str] = []
        self.ran: list[str] = []

        @self.app.task
        async def held() -> None:
            self.begun.append("held")
            await self.may_go.wait()
            self.ran.append("held")

    async def begin(self, tx: Tx, hands: Hands | None) -> uuid.UUID:
        found = await definitions.get(tx, "beside", org=ids.DEFAULT_ORG, kind="dag")
        return (await start.start(tx, found, Wish(hands=hands))).id


@pytest.fixture
async def stage(database_url: str) -> AsyncIterator[Stage]:
    made = Stage(database_url)
    async with made.app:
        await made.app.dags.create(beside(5))
        yield made


async def _idle(stage: Stage) -> None:
    """Until the worker could take something."""
    while True:
        async with stage.app._beginning() as (_, hands):
            if hands is not None:
                return
        await asyncio.sleep(0.005)


async def _nothing_is_taken_over(stage: Stage) -> None:
    async with stage.app._beginning() as (tx, hands):
        assert hands is None
        run = await stage.begin(tx, hands)
    stage.may_go.set()
    await stage.app.runs.result(run, timeout=30)


async def test_what_is_ready_is_the_idle_workers_own_as_far_as_it_has_room(stage: Stage) -> None:
    async with stage.app.worker(concurrency=2):
        await _idle(stage)
        async with stage.app._beginning() as (tx, hands):
            assert hands is not None and hands.room == 2
            run = await stage.begin(tx, hands)
            assert await tx.rows(TASKS) == [("running", True, 1)] * 2 + [("ready", False, 0)] * 3
            assert await tx.value("select count(distinct lease_token) from weft.tasks") == 1
        stage.may_go.set()
        await stage.app.runs.result(run, timeout=30)
    assert len(stage.ran) == 5
    async with stage.app.tx() as tx:
        assert await tx.rows("select distinct state, attempt, losses from weft.task_history") == [("completed", 1, 0)]


async def test_nobody_is_given_anything_while_the_worker_is_busy_or_there_is_none(stage: Stage) -> None:
    async with stage.app._beginning() as (_, hands):
        assert hands is None
    async with stage.app.worker(concurrency=2):
        for _ in range(2):
            await stage.app.enqueue("held")
        while len(stage.begun) < 2:
            await asyncio.sleep(0.005)
        await _nothing_is_taken_over(stage)


async def test_beside_a_task_that_may_take_its_worker_down_nothing_is_taken_over(stage: Stage) -> None:
    await stage.app.enqueue("held")
    async with stage.app.tx() as tx:
        await tx.run("update weft.tasks set losses = 2, plain = false")
    async with stage.app.worker(concurrency=2):
        while not stage.begun:
            await asyncio.sleep(0.005)
        await _nothing_is_taken_over(stage)


async def test_a_run_that_is_not_committed_gives_the_worker_nothing(stage: Stage) -> None:
    async with stage.app.worker(concurrency=2):
        await _idle(stage)
        with pytest.raises(RuntimeError):
            async with stage.app._beginning() as (tx, hands):
                await stage.begin(tx, hands)
                assert hands is not None and len(hands.given) == 2
                raise RuntimeError
        stage.may_go.set()
        run = (await stage.app.dags.trigger("beside")).id
        await stage.app.runs.result(run, timeout=30)
    assert len(stage.ran) == 5


async def test_what_comes_too_late_for_a_worker_that_stops_is_given_back(stage: Stage) -> None:
    async with stage.app.worker(concurrency=2):
        await _idle(stage)
        beginning = stage.app._beginning()
        tx, hands = await beginning.__aenter__()
        await stage.begin(tx, hands)
        assert hands is not None and len(hands.given) == 2
    await beginning.__aexit__(None, None, None)
    async with stage.app.tx() as tx:
        assert await tx.rows(TASKS) == [("ready", False, 1)] * 2 + [("ready", False, 0)] * 3
        assert await tx.row("select sum(losses)::integer, sum(uncounted)::integer from weft.tasks") == (0, 2)
    assert stage.ran == []


async def test_a_worker_of_another_loop_is_left_alone(stage: Stage, database_url: str) -> None:
    async def elsewhere() -> Hands | None:
        database = Database(config.Settings(database_url=database_url))
        await database.open()
        try:
            async with stage.app._eager.beginning(database) as (_, hands):
                return hands
        finally:
            await database.close()

    async with stage.app.worker(concurrency=2):
        await _idle(stage)
        assert await asyncio.to_thread(lambda: asyncio.run(elsewhere())) is None
