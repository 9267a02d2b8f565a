"""What a handler gets and what is kept of it, through a real worker."""

import asyncio
import dataclasses
import datetime as dt
import logging
import threading
import uuid

import pytest
from waiting import ended, in_state, until

from weft import App, Context, current
from weft.base import ids


async def test_an_async_handler_runs_on_the_loop_and_its_result_is_kept(app: App) -> None:
    loop = asyncio.get_running_loop()

    @app.task
    async def add(a: int, b: int) -> dict[str, int]:
        assert asyncio.get_running_loop() is loop
        return {"sum": a + b}

    async with app.worker():
        task = await app.enqueue(add, {"a": 1, "b": 2})
        assert await app.result(task.id, timeout=30) == {"sum": 3}
    view = await app.get(task.id)
    assert (view.state, view.attempt, view.result, view.error) == ("completed", 1, {"sum": 3}, None)
    assert view.claimed_at is not None and view.started_at is not None and view.finished_at is not None
    assert view.created_at <= view.claimed_at <= view.started_at <= view.finished_at


async def test_a_sync_handler_runs_in_a_thread_beside_others(app: App) -> None:
    both = threading.Barrier(2)

    @app.task
    def meet() -> str:
        both.wait(timeout=30)  # only passes if two run at once
        return threading.current_thread().name

    async with app.worker(concurrency=2):
        tasks = await app.enqueue_many(meet, [{}, {}])
        names = [await app.result(task.id, timeout=30) for task in tasks]
    assert all(name.startswith("weft") for name in names)


async def test_arguments_arrive_as_the_annotated_types(app: App) -> None:
    @dataclasses.dataclass
    class Address:
        street: str
        since: dt.date

    seen: list[object] = []

    @app.task
    async def move(who: uuid.UUID, to: Address, at: dt.datetime, tags: list[str], floor: int = 3) -> None:
        seen.extend([who, to, at, tags, floor])

    who = uuid.uuid4()
    payload = {
        "who": str(who), "to": {"street": "Long", "since": "2024-02-29"}, "at": "2025-01-02T03:04:05Z", "tags": ["a"],
    }  # fmt: skip
    async with app.worker():
        task = await app.enqueue("move", payload)
        await app.result(task.id, timeout=30)
    at = dt.datetime(2025, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    assert seen == [who, Address("Long", dt.date(2024, 2, 29)), at, ["a"], 3]


async def test_a_payload_that_does_not_fit_fails_without_retry_and_says_why(app: App) -> None:
    @app.task(max_attempts=5)
    async def double(number: int) -> int:
        return number * 2

    async with app.worker():
        view = await ended(app, await app.enqueue(double, {"number": "many"}))
    assert (view.state, view.reason, view.attempt) == ("failed", "refused", 1)
    assert view.error is not None and view.error["type"] == "InvalidPayload" and "number" in view.error["message"]


async def test_the_context_knows_its_task(app: App) -> None:
    org = uuid.uuid4()
    seen: list[Context] = []

    @app.task(queue="mail")
    async def look(ctx: Context) -> None:
        seen.append(ctx)
        assert current() is ctx

    async with app.worker():
        told = await app.enqueue(
            look, {}, org=org, correlation_id="order 7", trace_parent="00-a-b-01", tags=["x", "y"]
        )
        await app.result(told.id, timeout=30, org=org)
        plain = await app.enqueue(look, {})
        await app.result(plain.id, timeout=30)
    first, second = seen
    assert (first.task_id, first.org, first.kind, first.queue) == (str(told.id), str(org), "look", "mail")
    assert (first.attempt, first.correlation_id, first.trace, first.tags) == (1, "order 7", "00-a-b-01", ["x", "y"])
    assert (second.org, second.correlation_id, second.tags) == (str(ids.DEFAULT_ORG), str(plain.id), [])
    assert first.cancelled is None


async def test_progress_shows_while_the_task_runs(app: App) -> None:
    go = asyncio.Event()

    @app.task
    async def climb(ctx: Context) -> None:
        ctx.progress(40.4, "base camp")
        await go.wait()

    async with app.worker():
        task = await app.enqueue(climb)

        async def shown() -> bool:
            view = await app.get(task.id)
            return (view.progress, view.progress_message) == (40, "base camp") and view.started_at is not None

        await until(shown)
        go.set()
        await app.result(task.id, timeout=30)


@pytest.mark.parametrize("message", ["nul \0 in it", "half \ud800 a pair", "x" * 100_000])
async def test_odd_progress_messages_keep_nobody_from_anything(app: App, message: str) -> None:
    go = asyncio.Event()

    @app.task
    async def odd(ctx: Context) -> None:
        ctx.progress(10, message)
        await go.wait()

    @app.task
    async def even(ctx: Context) -> None:
        ctx.progress(20, "fine")
        await go.wait()

    async with app.worker():
        first, second = await app.enqueue(odd), await app.enqueue(even)

        async def shown() -> bool:
            views = [await app.get(first.id), await app.get(second.id)]
            return [view.progress for view in views] == [10, 20]

        await until(shown)
        go.set()
        await app.result(first.id, timeout=30)
        await app.result(second.id, timeout=30)


async def test_whatever_is_logged_inside_a_handler_is_kept_with_its_task(app: App) -> None:
    log = logging.getLogger("shop")
    log.setLevel(logging.DEBUG)

    @app.task
    async def chat(ctx: Context) -> None:
        log.warning("std %s", "logging")
        ctx.log("with fields", level="error", size=3, odd=object)
        await asyncio.to_thread(log.info, "from a thread it started")

    @app.task
    def sync_chat() -> None:
        log.debug("from its own thread")

    log.error("outside of any task")
    async with app.worker():
        first, second = await app.enqueue(chat), await app.enqueue(sync_chat)
        await app.result(first.id, timeout=30)
        await app.result(second.id, timeout=30)
    lines = await app.logs(first.id)
    assert [(line.level, line.message) for line in lines] == [
        ("warning", "std logging"), ("error", "with fields"), ("info", "from a thread it started"),
    ]  # fmt: skip
    assert [line.attempt for line in lines] == [1, 1, 1]
    assert lines[1].fields is not None
    assert [line.message for line in await app.logs(second.id)] == ["from its own thread"]


async def test_lines_of_one_task_do_not_end_up_with_another(app: App) -> None:
    log = logging.getLogger("shop")

    @app.task
    async def say(word: str) -> None:
        for _ in range(3):
            log.error(word)
            await asyncio.sleep(0)

    async with app.worker(concurrency=5):
        tasks = await app.enqueue_many(say, [{"word": f"w{number}"} for number in range(20)])
        for task in tasks:
            await app.result(task.id, timeout=30)
    for number, task in enumerate(tasks):
        assert [line.message for line in await app.logs(task.id)] == [f"w{number}"] * 3


async def test_lines_show_while_the_task_still_runs(app: App) -> None:
    go = asyncio.Event()

    @app.task
    async def wait(ctx: Context) -> None:
        ctx.log("begun")
        await go.wait()

    async with app.worker():
        task = await app.enqueue(wait)
        await until(lambda: app.logs(task.id))
        assert (await in_state(app, task, "running")).state == "running"
        go.set()


@pytest.mark.parametrize("line", ["nul \0 in it", "half \ud800 a pair", "x" * 100_000, ""])
async def test_odd_lines_are_kept_as_well_as_they_can_be(app: App, line: str) -> None:
    @app.task
    async def odd(ctx: Context) -> str:
        ctx.log(line)
        ctx.log("after", level="nonsense")
        return "well"

    async with app.worker():
        task = await app.enqueue(odd)
        assert await app.result(task.id, timeout=30) == "well"
    lines = await app.logs(task.id)
    assert len(lines) == 2 and len(lines[0].message) <= 8192
    assert (lines[1].level, lines[1].message) == ("info", "after")
