"""Who runs what: versions, queues, capabilities, pauses, limits and keys, through a worker."""

import asyncio
import uuid

import pytest
from waiting import LONG, NOW, ended, until

from weft import App, Context, UnknownKind
from weft.base import ids
from weft.queue import tasks as queue_tasks
from weft.queue.tasks import QueueSettings


class Together:
    """Counts how many run at once."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def __aenter__(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.01)

    async def __aexit__(self, *exc: object) -> None:
        self.now -= 1


async def test_several_versions_of_a_handler_run_side_by_side(app: App) -> None:
    @app.task(name="bill", version=1)
    async def old() -> str:
        return "one"

    @app.task(name="bill", version=2)
    async def new() -> str:
        return "two"

    async with app.worker():
        results = [await app.result((await app.enqueue(kind)).id, timeout=LONG) for kind in (old, new, "bill:1", "bill:2")]
    assert results == ["one", "two", "one", "two"]


async def test_a_worker_leaves_kinds_it_does_not_know_to_others(app: App, database_url: str) -> None:
    @app.task
    async def mine() -> int:
        return 1

    other = App(database_url=database_url)

    @other.task
    async def theirs() -> int:
        return 2

    foreign = await other.enqueue(theirs)
    try:
        async with app.worker():
            assert await app.result((await app.enqueue(mine)).id, timeout=LONG) == 1
            assert (await app.get(foreign.id)).state == "ready"
            with pytest.raises(UnknownKind):
                await app.enqueue("nobodys")
            async with other.worker():
                assert await app.result(foreign.id, timeout=LONG) == 2
                # a live worker serves it, so enqueueing by name is fine from here as well
                assert await app.result((await app.enqueue("theirs")).id, timeout=LONG) == 2
    finally:
        await other.close()


async def test_a_worker_serves_only_its_queues_and_what_it_is_capable_of(app: App) -> None:
    @app.task
    async def work() -> None: ...

    async with app.worker(queues=["mail"], capabilities=["gpu", "eu"]):
        served = [
            await app.enqueue(work, {}, queue="mail"),
            await app.enqueue(work, {}, queue="mail", capabilities=["eu", "gpu"]),
        ]
        others = [
            await app.enqueue(work, {}, queue="default"),
            await app.enqueue(work, {}, queue="mail", capabilities=["gpu", "us"]),
        ]
        for task in served:
            await app.result(task.id, timeout=LONG)
        assert [(await app.get(task.id)).state for task in others] == ["ready", "ready"]
    async with app.worker(capabilities=["gpu", "us"]):
        for task in others:
            await app.result(task.id, timeout=LONG)


async def test_a_paused_queue_waits_and_others_go_on(app: App) -> None:
    @app.task
    async def work() -> None: ...

    async def pause(paused: bool) -> None:
        async with app.tx() as tx:
            settings = QueueSettings(paused=paused)
            await queue_tasks.set_queue(tx, org=ids.DEFAULT_ORG, queue="mail", settings=settings, actor="test")

    async with app.worker():
        await app.result((await app.enqueue(work, {}, queue="mail")).id, timeout=LONG)
        await pause(True)
        held = await app.enqueue(work, {}, queue="mail")
        for _ in range(3):
            await app.result((await app.enqueue(work)).id, timeout=LONG)
        assert (await app.get(held.id)).state == "ready"
        assert "paused" in str(await app.explain(held.id))
        await pause(False)
        await app.result(held.id, timeout=LONG)


async def test_a_queue_limit_holds_and_everything_still_runs(app: App) -> None:
    together = Together()

    @app.task(queue="narrow")
    async def work() -> None:
        async with together:
            pass

    async with app.tx() as tx:
        settings = QueueSettings(max_running=3)
        await queue_tasks.set_queue(tx, org=ids.DEFAULT_ORG, queue="narrow", settings=settings, actor="test")
    tasks = await app.enqueue_many(work, [{}] * 30)
    async with app.worker(concurrency=10), app.worker(concurrency=10):
        for task in tasks:
            await app.result(task.id, timeout=LONG)
    assert 1 <= together.most <= 3


async def test_a_concurrency_key_holds_across_workers(app: App) -> None:
    together = {"a": Together(), "b": Together()}

    @app.task
    async def work(key: str) -> None:
        async with together[key]:
            pass

    async with app.worker(concurrency=5), app.worker(concurrency=5):
        tasks = [
            await app.enqueue(work, {"key": key}, concurrency_key=key, concurrency=allowed)
            for _ in range(10)
            for key, allowed in (("a", 1), ("b", 2))
        ]
        for task in tasks:
            await app.result(task.id, timeout=LONG)
    assert together["a"].most == 1 and 1 <= together["b"].most <= 2


async def test_a_strict_key_keeps_the_order_of_enqueueing_across_retries(app: App) -> None:
    seen: list[int] = []

    @app.task(retry=NOW)
    async def step(n: int, ctx: Context) -> None:
        seen.append(n)
        if n == 1 and ctx.attempt == 1:
            raise OSError

    tasks = [await app.enqueue(step, {"n": n}, concurrency_key="k", concurrency=0) for n in range(5)]
    async with app.worker(concurrency=5):
        for task in tasks:
            assert (await ended(app, task)).state == "completed"
    assert seen == [0, 1, 1, 2, 3, 4]


async def test_limited_work_is_not_kept_waiting_by_a_flood_of_plain_work(app: App) -> None:
    done: list[str] = []

    @app.task
    async def plain() -> None:
        done.append("plain")
        await asyncio.sleep(0.002)

    @app.task
    async def keyed() -> None:
        done.append("keyed")

    await app.enqueue_many(plain, [{}] * 4000)
    async with app.worker(concurrency=4):
        await until(lambda: len(done) > 200)
        await app.result((await app.enqueue(keyed, {}, concurrency_key="k")).id, timeout=LONG)
        # its place, not when that was heard of: on a busy machine the rest of the flood may be over by then
        assert done.index("keyed") < 4000, "it ran only after the flood"


async def test_a_small_org_is_served_while_a_large_one_floods(app: App) -> None:
    small = uuid.uuid4()
    done: list[str] = []

    @app.task
    async def work(ctx: Context) -> None:
        done.append(ctx.org)
        await asyncio.sleep(0.002)

    await app.enqueue_many(work, [{}] * 4000)
    async with app.worker(concurrency=4):
        await until(lambda: len(done) > 200)
        task = await app.enqueue(work, {}, org=small)
        await app.result(task.id, timeout=LONG, org=small)
        assert done.index(str(small)) < 4000, "it ran only after the flood"
