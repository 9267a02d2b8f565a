"""Ending a handler that runs too long or was cancelled: async ones are cancelled, threads told, and the worker goes on."""

import asyncio
import threading
import time

import pytest
from waiting import LONG, NOW, ended, in_state

from weft import App, Context, TaskCancelled


async def test_an_async_handler_that_runs_too_long_is_cancelled_and_retried(app: App) -> None:
    cancelled: list[int] = []

    @app.task(max_attempts=2, retry=NOW, timeout=0.1)
    async def slow(ctx: Context) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(ctx.attempt)
            raise
        return "never"

    async with app.worker(concurrency=1):
        view = await ended(app, await app.enqueue(slow))
    assert cancelled == [1, 2]
    assert (view.state, view.reason, view.attempt) == ("timed_out", "dead", 2)
    assert view.attempts is not None and [one["outcome"] for one in view.attempts] == ["timed_out"]
    assert view.error == {"type": "Stopped", "message": "timed out"}


async def test_a_timeout_given_with_the_task_wins_over_the_declared_one(app: App) -> None:
    @app.task(max_attempts=1, timeout=3600)
    async def slow() -> None:
        await asyncio.Event().wait()

    async with app.worker():
        view = await ended(app, await app.enqueue(slow, {}, timeout=0.05))
    assert view.state == "timed_out"


async def test_a_thread_that_runs_too_long_is_told_and_may_end_by_itself(app: App) -> None:
    seen: list[str | None] = []

    @app.task(max_attempts=1, timeout=0.1)
    def polite(ctx: Context) -> str:
        ctx.wait_stopped().wait(LONG)
        seen.append(ctx.cancelled)
        ctx.log("cleaned up")
        return "half of the work"

    @app.task(max_attempts=1, timeout=0.1)
    def beating(ctx: Context) -> None:
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            ctx.heartbeat()

    async with app.worker():
        task = await app.enqueue(polite)
        views = [await ended(app, task), await ended(app, await app.enqueue(beating))]
    assert seen == ["timed out"]
    assert [(view.state, view.result) for view in views] == [("timed_out", None)] * 2
    assert [line.message for line in await app.logs(task.id)] == ["cleaned up"]


async def test_a_thread_that_does_not_listen_is_left_alone_and_keeps_nobody_waiting(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.worker.runner._GRACE", 0.1)
    release = threading.Event()

    @app.task(max_attempts=1, timeout=0.1)
    def deaf() -> str:
        release.wait(LONG)
        return "late"

    @app.task
    def work() -> int:
        return 1

    async with app.worker(concurrency=1):
        task = await app.enqueue(deaf)
        assert (await ended(app, task)).state == "timed_out"
        assert await app.result((await app.enqueue(work)).id, timeout=LONG) == 1
        release.set()
    assert (await app.get(task.id)).state == "timed_out"


async def test_a_handler_that_swallows_its_cancellation_is_asked_again_and_has_no_result(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.worker.runner._GRACE", 0.1)
    asked: list[int] = []

    @app.task(max_attempts=1, timeout=0.05)
    async def stubborn() -> str:
        while len(asked) < 3:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                asked.append(1)
        return "done all the same"

    @app.task(max_attempts=1)
    async def inner_cancel() -> None:
        raise asyncio.CancelledError

    @app.task
    async def work() -> int:
        async with asyncio.timeout(LONG):
            await asyncio.sleep(0)
        return 1

    async with app.worker(concurrency=1):
        view = await ended(app, await app.enqueue(stubborn))
        assert (view.state, view.result, len(asked)) == ("timed_out", None, 3)
        # the runner is as good as new
        assert (await ended(app, await app.enqueue(inner_cancel))).state == "failed"
        assert await app.result((await app.enqueue(work)).id, timeout=LONG) == 1


async def test_a_running_task_that_is_cancelled_is_told_and_ends_cancelled(app: App) -> None:
    seen: list[str | None] = []

    @app.task(max_attempts=5, retry=NOW)
    async def long(ctx: Context) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            seen.append(ctx.cancelled)

    @app.task(max_attempts=5, retry=NOW)
    def long_thread(ctx: Context) -> str:
        ctx.wait_stopped().wait(LONG)
        seen.append(ctx.cancelled)
        return "stopped"

    async with app.worker():
        for handler in (long, long_thread):
            task = await app.enqueue(handler)
            await in_state(app, task, "running")
            assert await app.cancel(task.id) == "cancelling"
            with pytest.raises(TaskCancelled):
                await app.result(task.id, timeout=LONG)
            view = await app.get(task.id)
            assert (view.state, view.reason, view.attempt, view.result) == ("cancelled", "requested", 1, None)
    assert seen == ["cancelled", "cancelled"]


async def test_a_cancelled_task_that_fails_first_is_not_retried(app: App) -> None:
    started, fail = asyncio.Event(), asyncio.Event()

    @app.task(max_attempts=5, retry=NOW)
    async def shaky() -> None:
        started.set()
        try:
            await fail.wait()
        except asyncio.CancelledError:
            raise OSError("while cleaning up") from None

    async with app.worker():
        task = await app.enqueue(shaky)
        await started.wait()
        await app.cancel(task.id)
        view = await ended(app, task)
    assert (view.state, view.attempt) == ("cancelled", 1)
