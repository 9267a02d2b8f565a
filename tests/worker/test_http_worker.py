"""A worker that has no database: the same handlers, over HTTP, against a real server on a real port."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import isolated
import pytest
from waiting import LONG, NOW, ended, in_state, until

from weft import App, Context, Discard, Enqueued, RetryLater, Snooze
from weft.access import keys
from weft.base import errors, ids
from weft.cli import serving
from weft.cluster import nodes

NOWHERE = "postgresql://nowhere.invalid/none"


class Setting:
    """A server, an app that enqueues at its database, and an app that has none but runs the tasks."""

    def __init__(self, app: App, url: str, key: str) -> None:
        self.app = app
        self.url = url
        self.key = key
        self.remote = App(database_url=NOWHERE)

    def working(self, **options: Any) -> Any:
        return self.remote.http_worker(self.url, key=self.key, **options)

    async def put(self, kind: str, payload: dict[str, Any] | None = None, **options: Any) -> Enqueued:
        return await self.app.enqueue(kind, payload or {}, check=False, **options)

    async def run(self, kind: str, payload: dict[str, Any] | None = None, **options: Any) -> Any:
        """Enqueues, works, answers the task once it has ended."""
        task = await self.put(kind, payload, **options)
        async with self.working():
            return await ended(self.app, task)


@pytest.fixture
async def here(app: App) -> AsyncIterator[Setting]:
    database = await app.open()
    async with database.tx() as tx:
        _, key = await keys.create(tx, org=ids.DEFAULT_ORG, name="w", role="worker", actor="test")
    async with serving.served(app, port=0) as url:
        yield Setting(app, url, key)


async def test_async_sync_and_context(here: Setting) -> None:
    @here.remote.task
    async def add(ctx: Context, a: int, b: int) -> dict[str, Any]:
        ctx.log("adding", a=a)
        ctx.progress(50, "half")
        return {"sum": a + b, "org": ctx.org, "attempt": ctx.attempt, "queue": ctx.queue, "tags": ctx.tags}

    @here.remote.task
    def blocking(n: int) -> int:
        time.sleep(0)
        return n * 2

    done = await here.run("add", {"a": 1, "b": 2}, tags=["t"])
    assert (done.state, done.result) == (
        "completed", {"sum": 3, "org": str(ids.DEFAULT_ORG), "attempt": 1, "queue": "default", "tags": ["t"]},
    )  # fmt: skip
    [line] = await here.app.logs(done.id)
    assert (line.message, line.fields, line.attempt) == ("adding", {"a": 1}, 1)
    assert (await here.run("blocking", {"n": 4})).result == 8


async def test_many_tasks_each_once(here: Setting) -> None:
    ran: list[int] = []

    @here.remote.task
    async def count(n: int) -> int:
        ran.append(n)
        return n

    made = await here.app.enqueue_many("count", [{"n": n} for n in range(1500)], check=False)
    async with here.working():
        await until(lambda: len(ran) >= 1500)
        for one in (made[0], made[-1]):
            assert (await ended(here.app, one)).state == "completed"
    assert sorted(ran) == list(range(1500))


async def test_a_batch_handler_gets_many(here: Setting) -> None:
    sizes: list[int] = []

    @here.remote.task(batch=50)
    async def bulk(payloads: list[dict[str, Any]]) -> list[int]:
        sizes.append(len(payloads))
        return [one["n"] for one in payloads]

    made = await here.app.enqueue_many("bulk", [{"n": n} for n in range(100)], check=False)
    async with here.working():
        assert [(await ended(here.app, one)).result for one in made] == list(range(100))
    assert max(sizes) > 1


@pytest.mark.parametrize(
    ("raised", "state", "reason"),
    [
        (Discard("enough"), "cancelled", "discarded"),
        (ValueError("bad"), "failed", "dead"),
        (KeyError("never"), "failed", "refused"),
    ],
)
async def test_how_a_handler_ends_is_how_its_task_ends(
    here: Setting, raised: BaseException, state: str, reason: str
) -> None:
    @here.remote.task(max_attempts=1, fail_on=(KeyError,))
    async def work() -> None:
        raise raised

    done = await here.run("work")
    assert (done.state, done.reason) == (state, reason)
    if state == "failed":
        assert done.error["type"] == type(raised).__name__ and "raise raised" in done.error["traceback"]


async def test_retries_follow_the_handlers_policy_and_retry_after(here: Setting) -> None:
    seen: list[int] = []

    @here.remote.task(max_attempts=5, retry=NOW)
    async def work(ctx: Context) -> str:
        seen.append(ctx.attempt)
        if len(seen) == 1:
            raise ValueError("once")
        if len(seen) == 2:
            raise RetryLater(0.01)
        if len(seen) == 3:
            raise Snooze(0.01)
        return "done"

    done = await here.run("work")
    assert (done.result, seen, done.uncounted) == ("done", [1, 2, 3, 4], 1)


async def test_a_timeout_ends_the_handler(here: Setting) -> None:
    @here.remote.task(max_attempts=1)
    async def slow() -> None:
        await asyncio.sleep(LONG * 2)

    assert (await here.run("slow", timeout=0.2)).state == "timed_out"


async def test_a_cancellation_reaches_the_handler(here: Setting) -> None:
    started = asyncio.Event()

    @here.remote.task
    async def slow(ctx: Context) -> None:
        started.set()
        await asyncio.sleep(LONG * 2)

    task = await here.put("slow")
    async with here.working():
        await started.wait()
        assert await here.app.cancel(task.id) == "cancelling"
        assert (await ended(here.app, task)).state == "cancelled"


async def test_heartbeats_keep_a_short_lease(here: Setting) -> None:
    @here.remote.task
    async def slow(ctx: Context) -> int:
        began = time.monotonic()
        while time.monotonic() - began < 5:
            ctx.heartbeat()
            await asyncio.sleep(0.05)
        return ctx.attempt

    done = await here.run("slow", heartbeat_timeout=2)
    assert (done.result, done.losses) == (1, 0)


async def test_progress_travels_with_the_heartbeat(here: Setting) -> None:
    go = asyncio.Event()

    @here.remote.task
    async def slow(ctx: Context) -> None:
        ctx.progress(42, "so far")
        await go.wait()

    task = await here.put("slow")
    async with here.working():
        await until(lambda: _progress(here, task))
        go.set()
        done = await ended(here.app, task)
    assert (done.progress, done.progress_message) == (42, "so far")


async def _progress(here: Setting, task: Enqueued) -> bool:
    return (await here.app.get(task.id)).progress == 42


async def test_draining_gives_back_what_runs_without_counting_it(here: Setting) -> None:
    started = asyncio.Event()

    @here.remote.task
    async def slow() -> None:
        started.set()
        await asyncio.sleep(LONG * 2)

    task = await here.put("slow")
    async with here.working(grace=0):
        await started.wait()
    back = await in_state(here.app, task, "ready")
    assert (back.attempt - back.uncounted, back.losses) == (0, 0)


async def test_a_result_that_cannot_be_stored_fails_its_task_alone(here: Setting) -> None:
    @here.remote.task
    async def work(big: bool) -> Any:
        return "x" * 300_000 if big else "ok"

    bad, good = await here.put("work", {"big": True}), await here.put("work", {"big": False})
    async with here.working():
        assert (await ended(here.app, bad)).reason == "refused"
        assert (await ended(here.app, good)).result == "ok"


async def test_it_is_a_node_while_it_works(here: Setting) -> None:
    @here.remote.task
    async def work() -> None: ...

    async def known() -> list[str]:
        async with (await here.app.open()).tx() as tx:
            return [one.node.hostname for one in await nodes.known(tx) if "work" in one.node.handlers]

    async with here.working(name="ada"):
        assert await until(known) == ["ada"]
    assert await known() == []


async def test_a_wrong_key_stops_it_at_once(here: Setting) -> None:
    with pytest.raises(errors.Unauthenticated):
        async with here.remote.http_worker(here.url, key="weftw_wrong"):
            pass


async def test_a_worker_that_comes_before_its_server_waits_for_it(here: Setting) -> None:
    @here.remote.task
    async def work() -> int:
        return 1

    listener = serving.serving.listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    listener.close()
    task = await here.put("work")
    async with here.remote.http_worker(f"http://127.0.0.1:{port}", key=here.key), serving.served(here.app, port=port):
        assert (await ended(here.app, task)).result == 1


async def test_nothing_of_it_needs_a_database(here: Setting) -> None:
    @here.remote.task
    async def work() -> int:
        return 1

    assert (await here.run("work")).result == 1
    with pytest.raises(errors.WeftError):
        await here.remote.open()


async def test_a_claim_of_a_client_that_left_takes_nothing(here: Setting) -> None:
    host, _, port = here.url.removeprefix("http://").partition(":")
    body = b'{"worker": "ghost", "kinds": ["work"], "limit": 10, "wait": 60}'
    head = (
        f"POST /v1/task/claim HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {here.key}\r\n"
    )
    _reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(head.encode() + f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
    await until(lambda: _known(here, "ghost"))
    writer.close()
    await writer.wait_closed()

    @here.remote.task
    async def work(ctx: Context) -> int:
        return 1

    done = await here.run("work")
    assert (done.result, done.losses) == (1, 0)


async def _known(here: Setting, name: str) -> bool:
    async with (await here.app.open()).tx() as tx:
        return any(one.node.hostname == name and one.asleep for one in await nodes.known(tx))


async def test_child_processes_work_over_http(here: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    here.remote.registry = isolated.app.registry
    task = await here.put("pid")
    async with here.working(target="isolated:app"):
        child, parent = (await ended(here.app, task)).result
    assert parent == os.getpid() != child
