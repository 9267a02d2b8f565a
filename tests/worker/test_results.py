"""Awaiting a result: completed, failed, cancelled, timed out, not yet."""

import asyncio
import uuid

import pytest

from weft import App, NotFound, ResultTimeout, TaskCancelled, TaskFailed, TaskTimedOut


async def test_the_result_of_a_completed_task_can_be_awaited_before_and_after(app: App) -> None:
    @app.task
    async def answer() -> list[int]:
        return [4, 2]

    task = await app.enqueue(answer)
    waiting = [asyncio.create_task(app.result(task.id, timeout=30)) for _ in range(3)]
    async with app.worker():
        assert await asyncio.gather(*waiting) == [[4, 2]] * 3
    assert await app.result(str(task.id)) == [4, 2]


async def test_a_failed_task_raises_and_carries_its_error(app: App) -> None:
    @app.task(max_attempts=1)
    async def fail() -> None:
        raise ValueError("bad luck")

    async with app.worker():
        task = await app.enqueue(fail)
        with pytest.raises(TaskFailed, match="bad luck") as caught:
            await app.result(task.id, timeout=30)
    assert caught.value.details["reason"] == "dead"
    assert caught.value.details["error"]["type"] == "ValueError"


async def test_a_cancelled_task_raises_task_cancelled(app: App) -> None:
    @app.task
    async def never() -> None: ...

    task = await app.enqueue(never)
    waiting = asyncio.create_task(app.result(task.id, timeout=30))
    assert await app.cancel(task.id) == "cancelled"
    with pytest.raises(TaskCancelled):
        await waiting


async def test_a_timed_out_task_raises_task_timed_out(app: App) -> None:
    @app.task(max_attempts=1, timeout=0.05)
    async def slow() -> None:
        await asyncio.Event().wait()

    async with app.worker():
        with pytest.raises(TaskTimedOut):
            await app.result((await app.enqueue(slow)).id, timeout=30)


async def test_waiting_may_end_before_the_task_does(app: App) -> None:
    @app.task
    async def work() -> None: ...

    task = await app.enqueue(work)
    with pytest.raises(ResultTimeout):
        await app.result(task.id, timeout=0.05)
    assert (await app.get(task.id)).state == "ready"


async def test_nobody_waits_for_a_task_that_does_not_exist(app: App) -> None:
    with pytest.raises(NotFound):
        await app.result(uuid.uuid4(), timeout=0.05)
