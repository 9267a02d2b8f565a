"""Running everything that is ready, here and now."""

import logging
from typing import Any

from weft import App, Context
from weft.testing.inline import run_pending


async def test_everything_that_is_ready_is_run_and_counted(app: App) -> None:
    @app.task
    async def double(n: int) -> int:
        return n * 2

    @app.task
    def in_thread() -> str:
        logging.getLogger("mine").error("heard")
        return "done"

    tasks = await app.enqueue_many(double, [{"n": n} for n in range(250)])
    other = await app.enqueue(in_thread, {}, queue="elsewhere")
    assert await run_pending(app) == 251
    assert [await app.result(task.id) for task in tasks] == [n * 2 for n in range(250)]
    assert await app.result(other.id) == "done"
    assert [line.message for line in await app.logs(other.id)] == ["heard"]
    assert await run_pending(app) == 0


async def test_what_a_task_enqueues_is_run_as_well(app: App) -> None:
    seen: list[int] = []

    @app.task
    async def countdown(n: int) -> None:
        seen.append(n)
        if n:
            await app.enqueue(countdown, {"n": n - 1})

    await app.enqueue(countdown, {"n": 3})
    assert await run_pending(app) == 4
    assert seen == [3, 2, 1, 0]


async def test_retries_without_a_pause_limits_keys_and_batches_are_all_the_real_thing(app: App) -> None:
    order: list[int] = []

    @app.task(max_attempts=3, retry={"backoff": "fixed", "base": 0})
    async def third_time(ctx: Context) -> int:
        if ctx.attempt < 3:
            raise OSError
        return ctx.attempt

    @app.task
    async def keyed(n: int) -> None:
        order.append(n)

    @app.task(batch=10)
    async def many(items: list[dict[str, Any]]) -> None: ...

    shaky = await app.enqueue(third_time)
    for n in range(5):
        await app.enqueue(keyed, {"n": n}, concurrency_key="k", concurrency=0)
    await app.enqueue_many(many, [{}] * 7)
    assert await run_pending(app) == 3 + 5 + 7
    assert await app.result(shaky.id) == 3
    assert order == [0, 1, 2, 3, 4]


async def test_what_belongs_to_others_or_to_a_paused_queue_is_left_and_no_node_remains(app: App) -> None:
    @app.task
    async def mine() -> None: ...

    foreign = await app.enqueue("foreign", check=False)
    async with app.tx() as tx:
        await tx.run("insert into weft.queues (org_id, name, paused) values (%(every)s, 'held', true)",
                     {"every": "00000000-0000-0000-0000-000000000000"})  # fmt: skip
    paused = await app.enqueue(mine, {}, queue="held")
    ran = await app.enqueue(mine)
    assert await run_pending(app) == 1
    assert [(await app.get(task.id)).state for task in (foreign, paused, ran)] == ["ready", "ready", "completed"]
    async with app.tx() as tx:
        assert await tx.value("select count(*) from weft.nodes") == 0
