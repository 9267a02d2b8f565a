"""Results that cannot be stored fail their own task and nobody else's."""

import asyncio
from typing import Any

import msgspec
import pytest
from waiting import LONG, ended

from weft import App, Context

POISON: dict[str, Any] = {
    "unserialisable": object(),
    "nul": {"text": "a\0b"},
    "surrogate": "\ud800",
    "300 KiB": "x" * 300 * 1024,
    "10 MB": "x" * 10_000_000,
    "deep": None,
    # passes our own checks as it is, so that PostgreSQL is the one who refuses
    "raw": msgspec.Raw(b'{"broken": '),
}


def poison(name: str) -> Any:
    if name != "deep":
        return POISON[name]
    nested: list[Any] = []
    for _ in range(1000):
        nested = [nested]
    return nested


@pytest.mark.parametrize("name", POISON)
async def test_a_poisonous_result_fails_alone_and_the_batch_around_it_completes(app: App, name: str) -> None:
    @app.task
    async def work(n: int, ctx: Context) -> Any:
        ctx.log(f"line {n}")
        await asyncio.sleep(0)
        return poison(name) if n == 7 else n

    tasks = await app.enqueue_many(work, [{"n": n} for n in range(20)])
    async with app.worker():
        views = [await ended(app, task) for task in tasks]
    bad = views.pop(7)
    assert [(view.state, view.result) for view in views] == [("completed", n) for n in range(20) if n != 7]
    assert (bad.state, bad.reason, bad.attempt, bad.result) == ("failed", "refused", 1, None)
    assert bad.error is not None and "result" in bad.error["message"]
    # whatever became of the results, nobody's lines are lost
    assert [len(await app.logs(task.id)) for task in tasks] == [1] * 20


async def test_a_result_that_is_too_large_says_what_to_do(app: App) -> None:
    @app.task
    async def large() -> str:
        return "x" * 10_000_000

    async with app.worker():
        view = await ended(app, await app.enqueue(large))
    assert view.error is not None
    assert "10,000,002 bytes" in view.error["message"] and "store the data elsewhere" in view.error["message"]


async def test_many_poisonous_results_at_once_all_end(app: App) -> None:
    @app.task
    async def raw(n: int) -> Any:
        return msgspec.Raw(b"nonsense") if n % 3 == 0 else n

    tasks = await app.enqueue_many(raw, [{"n": n} for n in range(60)])
    async with app.worker():
        for n, task in enumerate(tasks):
            assert (await ended(app, task)).state == ("failed" if n % 3 == 0 else "completed")
        assert await app.result((await app.enqueue(raw, {"n": 1})).id, timeout=LONG) == 1
