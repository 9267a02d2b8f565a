"""Stopping: what runs may finish, the rest is given back, and its attempt does not count."""

import asyncio
import threading
from typing import Any

import pytest
from waiting import LONG, in_state, until

from weft import App, Context, TaskView
from weft.db.tx import Tx


def untouched(view: TaskView) -> bool:
    """Queued as if nobody had ever taken it."""
    return (view.state, view.attempt - view.uncounted, view.losses, view.node_id) == ("ready", 0, 0, None)


async def running_anywhere(app: App) -> int:
    async with app.tx() as tx:
        count: int = await tx.value("select count(*) from weft.tasks where state = 'running'")
        return count


async def test_what_runs_finishes_and_what_waits_is_given_back(app: App) -> None:
    started, finish = asyncio.Event(), asyncio.Event()

    @app.task
    async def work() -> str:
        started.set()
        await finish.wait()
        return "finished"

    tasks = await app.enqueue_many(work, [{}] * 3)
    async with app.worker(concurrency=1) as worker:
        await started.wait()
        worker.stop()
        asyncio.get_running_loop().call_later(0.1, finish.set)
    views = [await app.get(task.id) for task in tasks]
    assert [view.state for view in views] == ["completed", "ready", "ready"]
    assert all(untouched(view) for view in views[1:])


async def test_a_buffer_full_of_work_is_given_back(app: App) -> None:
    hold = asyncio.Event()
    count = 0

    @app.task
    async def work() -> None:
        nonlocal count
        count += 1
        if count > 300:
            await hold.wait()

    await app.enqueue_many(work, [{}] * 3000)
    async with app.worker(concurrency=5) as worker:
        await until(lambda: len(worker._buffer) > 10 and count > 300)
        worker.stop()
        asyncio.get_running_loop().call_later(0.05, hold.set)
    assert await running_anywhere(app) == 0
    async with app.tx() as tx:
        row = await tx.row(
            "select count(*), count(*) filter (where attempt = uncounted and losses = 0 and state = 'ready'),"
            " (select count(*) from weft.task_history) from weft.tasks"
        )
    assert row is not None
    left, as_new, done = row
    assert left == as_new and left + done == 3000 and done == count


@pytest.mark.parametrize("manner", ["async", "deaf async", "thread", "deaf thread"])
async def test_what_does_not_finish_in_time_is_told_and_given_back(app: App, manner: str) -> None:
    started, told, release = asyncio.Event(), [], threading.Event()
    loop = asyncio.get_running_loop()

    @app.task(name="async")
    async def obedient(ctx: Context) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            told.append(ctx.cancelled)

    @app.task(name="deaf async")
    async def deaf(ctx: Context) -> None:
        started.set()
        while not release.is_set():
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                told.append(ctx.cancelled)

    @app.task(name="thread")
    def thread(ctx: Context) -> str:
        loop.call_soon_threadsafe(started.set)
        ctx.wait_stopped().wait(LONG)
        told.append(ctx.cancelled)
        return "half"

    @app.task(name="deaf thread")
    def deaf_thread(ctx: Context) -> None:
        loop.call_soon_threadsafe(started.set)
        release.wait(LONG)
        told.append(ctx.cancelled)

    task = await app.enqueue(manner)
    async with app.worker(grace=0.1):
        await started.wait()
    release.set()
    assert untouched(await app.get(task.id))
    await until(lambda: told and told[0] == "shutting down")


async def test_stopping_twice_skips_the_grace(app: App) -> None:
    started = asyncio.Event()

    @app.task
    async def long() -> None:
        started.set()
        await asyncio.Event().wait()

    task = await app.enqueue(long)
    async with app.worker(grace=3600) as worker:
        await started.wait()
        worker.stop()
        worker.stop()
    assert untouched(await app.get(task.id))


async def test_a_batch_that_is_cut_off_is_given_back_whole(app: App) -> None:
    started = asyncio.Event()

    @app.task(batch=10)
    async def long(items: list[dict[str, Any]]) -> None:
        started.set()
        await asyncio.Event().wait()

    tasks = await app.enqueue_many(long, [{}] * 5)
    async with app.worker(grace=0):
        await started.wait()
    assert all([untouched(await app.get(task.id)) for task in tasks])


async def test_stopping_while_claims_are_under_way_leaves_nothing_behind(app: App) -> None:
    @app.task
    async def work() -> None:
        await asyncio.sleep(0)

    await app.enqueue_many(work, [{}] * 2000)
    for turns in range(5):
        async with app.worker(concurrency=3):
            for _ in range(turns):
                await asyncio.sleep(0)
    assert await running_anywhere(app) == 0
    async with app.tx() as tx:
        assert await _losses(tx) == 0


async def _losses(tx: Tx) -> int:
    found: int = await tx.value(
        "select coalesce((select sum(losses) from weft.tasks), 0) + coalesce((select sum(losses) from weft.task_history), 0)"
    )
    return found


async def test_the_node_is_gone_after_a_clean_stop_and_the_next_worker_goes_on(app: App) -> None:
    @app.task
    async def work() -> int:
        return 1

    async with app.worker():
        await app.result((await app.enqueue(work)).id, timeout=LONG)
    async with app.tx() as tx:
        assert await tx.value("select count(*) from weft.nodes") == 0
    task = await app.enqueue(work)
    async with app.worker():
        assert await app.result(task.id, timeout=LONG) == 1


async def test_a_worker_that_is_used_up_stops_by_itself(app: App) -> None:
    @app.task
    async def work() -> None: ...

    tasks = await app.enqueue_many(work, [{}] * 5)
    async with app.worker(max_tasks=5) as worker:
        await until(worker._stopping.is_set)
        later = await app.enqueue(work)
    assert [(await app.get(task.id)).state for task in tasks] == ["completed"] * 5
    assert (await in_state(app, later, "ready", "completed")).losses == 0
