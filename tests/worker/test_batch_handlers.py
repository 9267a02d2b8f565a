"""Batch handlers: one call for many tasks, an ending for each."""

import asyncio
from typing import Any

from waiting import LONG, NOW, ended, in_state, until

from weft import App, Discard, Snooze


async def test_one_call_gets_many_tasks_and_each_gets_its_own_result(app: App) -> None:
    calls: list[int] = []

    @app.task(batch=10)
    async def double(items: list[dict[str, Any]]) -> list[int]:
        calls.append(len(items))
        return [item["n"] * 2 for item in items]

    tasks = await app.enqueue_many(double, [{"n": n} for n in range(40)])
    async with app.worker():
        results = [await app.result(task.id, timeout=LONG) for task in tasks]
    assert results == [n * 2 for n in range(40)]
    assert sum(calls) == 40 and max(calls) <= 10 and len(calls) < 40


async def test_a_sync_batch_handler_runs_in_a_thread(app: App) -> None:
    @app.task(batch=10)
    def note(items: list[dict[str, Any]]) -> None: ...

    tasks = await app.enqueue_many(note, [{}] * 5)
    async with app.worker():
        assert [await app.result(task.id, timeout=LONG) for task in tasks] == [None] * 5


async def test_exceptions_in_the_answer_are_endings_of_their_tasks_alone(app: App) -> None:
    @app.task(batch=10, max_attempts=1)
    async def mixed(items: list[dict[str, Any]]) -> list[Any]:
        answers = {"ok": "fine", "bad": ValueError("bad"), "discard": Discard("no"), "odd": object(), "nul": "\0"}
        return [answers[item["how"]] for item in items]

    hows = ["ok", "bad", "discard", "odd", "nul", "ok"]
    tasks = await app.enqueue_many(mixed, [{"how": how} for how in hows])
    async with app.worker():
        views = [await ended(app, task) for task in tasks]
    assert [(view.state, view.reason) for view in views] == [
        ("completed", None), ("failed", "dead"), ("cancelled", "discarded"), ("failed", "refused"), ("failed", "refused"),
        ("completed", None),
    ]  # fmt: skip


async def test_a_snooze_for_one_of_them_uses_up_no_attempt(app: App) -> None:
    seen: list[int] = []

    @app.task(batch=10, max_attempts=1)
    async def later(items: list[dict[str, Any]]) -> list[Any]:
        seen.extend(item["n"] for item in items)
        return [Snooze(0) if item["n"] == 1 and seen.count(1) == 1 else item["n"] for item in items]

    tasks = await app.enqueue_many(later, [{"n": 0}, {"n": 1}])
    async with app.worker():
        assert [await app.result(task.id, timeout=LONG) for task in tasks] == [0, 1]
    assert seen.count(1) == 2


async def test_an_exception_from_the_call_fails_them_all_and_all_are_retried(app: App) -> None:
    calls: list[int] = []

    @app.task(batch=10, max_attempts=2, retry=NOW)
    async def shaky(items: list[dict[str, Any]]) -> None:
        calls.append(len(items))
        if sum(calls) <= 3:
            raise OSError("all of them")

    tasks = await app.enqueue_many(shaky, [{}] * 3)
    async with app.worker():
        views = [await ended(app, task) for task in tasks]
    assert all(view.state == "completed" for view in views)
    assert [view.attempt for view in views] == [2, 2, 2]


async def test_an_answer_of_the_wrong_length_fails_clearly(app: App) -> None:
    @app.task(batch=10, max_attempts=5)
    async def short(items: list[dict[str, Any]]) -> list[int]:
        return [1] * (len(items) + 1)

    tasks = await app.enqueue_many(short, [{}] * 3)
    async with app.worker():
        views = [await ended(app, task) for task in tasks]
    for view in views:
        assert (view.state, view.reason, view.attempt) == ("failed", "refused", 1)
        assert view.error is not None and "must answer None or a list of" in view.error["message"]


async def test_a_batch_that_runs_too_long_times_out_for_all_of_them(app: App) -> None:
    @app.task(batch=10, max_attempts=1, timeout=0.1)
    async def slow(items: list[dict[str, Any]]) -> None:
        await asyncio.Event().wait()

    @app.task
    async def work() -> int:
        return 1

    tasks = await app.enqueue_many(slow, [{}] * 4)
    async with app.worker(concurrency=1):
        views = [await ended(app, task) for task in tasks]
        assert await app.result((await app.enqueue(work)).id, timeout=LONG) == 1
    assert [view.state for view in views] == ["timed_out"] * 4


async def test_cancelling_one_of_a_batch_leaves_the_others_to_finish(app: App) -> None:
    go = asyncio.Event()
    sizes: list[int] = []

    @app.task(batch=10)
    async def wait(items: list[dict[str, Any]]) -> list[str]:
        sizes.append(len(items))
        await go.wait()
        return ["done"] * len(items)

    tasks = await app.enqueue_many(wait, [{}] * 3)
    async with app.worker(concurrency=1) as worker:
        await in_state(app, tasks[1], "running")
        assert sizes == [3]
        await app.cancel(tasks[1].id)
        await until(lambda: worker._runners.running[str(tasks[1].id)].cancelled)
        go.set()
        views = [await ended(app, task) for task in tasks]
    assert [view.state for view in views] == ["completed", "cancelled", "completed"]
    assert [view.result for view in views] == ["done", None, "done"]


async def test_cancelling_all_of_a_batch_ends_the_call(app: App) -> None:
    @app.task(batch=10)
    async def wait(items: list[dict[str, Any]]) -> None:
        await asyncio.Event().wait()

    @app.task
    async def work() -> int:
        return 1

    tasks = await app.enqueue_many(wait, [{}] * 3)
    async with app.worker(concurrency=1):
        await in_state(app, tasks[2], "running")
        for task in tasks:
            await app.cancel(task.id)
        assert [(await ended(app, task)).state for task in tasks] == ["cancelled"] * 3
        assert await app.result((await app.enqueue(work)).id, timeout=LONG) == 1
