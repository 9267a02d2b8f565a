"""`heartbeat_timeout`: an attempt that shows no sign of life for so long counts as hung, whatever its worker is."""

import asyncio
import threading
import time
from pathlib import Path

import isolated
import pytest
from waiting import LONG, ended

from weft import App, Context


@pytest.mark.parametrize("speaks", ["heartbeat", "progress", "log"])
async def test_a_sign_of_life_keeps_it_going(app: App, speaks: str) -> None:
    @app.task(max_attempts=1)
    async def work(ctx: Context) -> str:
        began = time.monotonic()
        while time.monotonic() - began < 1.5:
            {"heartbeat": ctx.heartbeat, "progress": lambda: ctx.progress(1), "log": lambda: ctx.log("x")}[speaks]()
            await asyncio.sleep(0.05)
        return "done"

    task = await app.enqueue(work, heartbeat_timeout=0.5)
    async with app.worker():
        assert (await ended(app, task)).result == "done"


async def test_silence_ends_an_async_handler(app: App) -> None:
    @app.task(max_attempts=1)
    async def work(ctx: Context) -> None:
        ctx.heartbeat()
        await asyncio.sleep(LONG * 2)

    task = await app.enqueue(work, heartbeat_timeout=0.3)
    async with app.worker():
        done = await ended(app, task)
    assert (done.state, done.reason) == ("timed_out", "dead")
    assert done.error is not None and "heartbeat_timeout" in done.error["message"]


async def test_silence_is_told_to_a_thread(app: App) -> None:
    told = threading.Event()

    @app.task(max_attempts=1)
    def work(ctx: Context) -> None:
        ctx.wait_stopped().wait(LONG)
        if ctx.cancelled == "silent":
            told.set()

    task = await app.enqueue(work, heartbeat_timeout=0.3)
    async with app.worker():
        assert (await ended(app, task)).state == "timed_out"
    assert told.is_set()


async def test_a_handler_without_a_context_is_watched_too(app: App) -> None:
    @app.task(max_attempts=1)
    async def work() -> None:
        await asyncio.sleep(LONG * 2)

    task = await app.enqueue(work, heartbeat_timeout=0.3)
    async with app.worker():
        assert (await ended(app, task)).state == "timed_out"


async def test_silence_uses_up_an_attempt_and_is_retried(app: App) -> None:
    @app.task(max_attempts=2, retry={"backoff": "fixed", "base": 0})
    async def work(ctx: Context) -> int:
        if ctx.attempt == 1:
            await asyncio.sleep(LONG * 2)
        return ctx.attempt

    task = await app.enqueue(work, heartbeat_timeout=0.3)
    async with app.worker():
        done = await ended(app, task)
    assert (done.result, done.losses) == (2, 0)
    assert done.attempts is not None and done.attempts[0]["outcome"] == "timed_out"


@pytest.mark.parametrize(("speaks", "state"), [(True, "completed"), (False, "timed_out")])
async def test_signs_of_life_come_out_of_a_child_process(
    app: App, monkeypatch: pytest.MonkeyPatch, speaks: bool, state: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    app.registry = isolated.app.registry
    async with app.worker(target="isolated:app", concurrency=1):
        # the first starts the child, which takes its time
        await ended(app, await app.enqueue(isolated.pid))
        task = await app.enqueue(isolated.beats, {"speaks": speaks}, heartbeat_timeout=1.5)
        assert (await ended(app, task)).state == state
