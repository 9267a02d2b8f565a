"""`weft worker` as people run it: a process, signals, a supervisor."""

import os
import signal
import uuid
from pathlib import Path

import cli_process
import pytest

from weft import App
from weft.base import ids
from weft.cli import supervise
from weft.cli.working import Work, resident
from weft.cluster import nodes

HERE = Path(__file__).parent
READY = "weft worker is ready"


@pytest.fixture
async def app(database_url: str) -> App:
    return App(database_url=database_url)


def worker(app: App, *arguments: str) -> "cli_process.contextlib.AbstractAsyncContextManager[cli_process.Program]":
    return cli_process.weft(
        "worker", "cli_app:app", *arguments, env={"DATABASE_URL": app.settings.database_url}, cwd=HERE
    )


async def test_it_runs_what_is_enqueued_and_stops_clean(app: App) -> None:
    async with app, worker(app) as program:
        await program.says(READY)
        enqueued = await app.enqueue("double", {"n": 21})
        assert await app.result(enqueued.id, timeout=20) == 42
        program.send(signal.SIGTERM)
        assert await program.ends() == 0


async def test_it_serves_only_its_queues(app: App) -> None:
    async with app, worker(app, "-q", "email,slow", "-q", "extra") as program:
        await program.says(f"{READY}: apart, block, crash, double, fail and 2 more; queues email, slow, extra;")
        other = await app.enqueue("double", {"n": 1})
        ours = await app.enqueue("double", {"n": 2}, queue="extra")
        assert await app.result(ours.id, timeout=20) == 4
        assert (await app.get(other.id)).state == "ready"


async def test_the_first_signal_lets_running_tasks_finish(app: App) -> None:
    async with app, worker(app) as program:
        await program.says(READY)
        enqueued = await app.enqueue("wait", {"seconds": 1.0})
        await program.says("waiting, attempt 1")
        program.send(signal.SIGTERM)
        assert await program.ends() == 0
        assert await app.result(enqueued.id, timeout=5) == "waited"


async def test_what_outlasts_the_grace_is_given_back_uncounted(app: App) -> None:
    async with app, worker(app, "--grace", "0.2") as program:
        await program.says(READY)
        enqueued = await app.enqueue("wait", {"seconds": 600})
        await program.says("waiting, attempt 1")
        program.send(signal.SIGINT)
        assert await program.ends() == 0
        given_back = await app.get(enqueued.id)
        assert (given_back.state, given_back.attempt, given_back.uncounted, given_back.losses) == ("ready", 1, 1, 0)


async def test_the_second_signal_skips_the_grace(app: App) -> None:
    async with app, worker(app, "--grace", "600") as program:
        await program.says(READY)
        enqueued = await app.enqueue("wait", {"seconds": 600})
        await program.says("waiting, attempt 1")
        program.send(signal.SIGTERM)
        await program.says("draining")
        program.send(signal.SIGTERM)
        assert await program.ends() == 0
        assert (await app.get(enqueued.id)).state == "ready"


@pytest.mark.parametrize("more", [(), ("--max-tasks", "1000000")], ids=["alone", "supervised"])
async def test_a_worker_drained_from_elsewhere_ends_its_tasks_and_is_not_replaced(app: App, more: tuple[str, ...]) -> None:
    async with app, worker(app, *more) as program:
        await program.says(READY)
        enqueued = await app.enqueue("wait", {"seconds": 1.0})
        await program.says("waiting, attempt 1")
        async with app.tx() as tx:
            [id] = [one.node.id for one in await nodes.known(tx)]
            assert await nodes.drain(tx, id=uuid.UUID(id), org=ids.DEFAULT_ORG, shared=True)
        await program.says("told to drain")
        assert await program.ends() == 0
        assert await app.result(enqueued.id, timeout=5) == "waited"


async def test_a_thread_that_listens_to_nobody_does_not_keep_the_process(app: App) -> None:
    async with app, worker(app, "--grace", "0") as program:
        await program.says(READY)
        enqueued = await app.enqueue("block", {"seconds": 600})
        await program.says("blocking")
        program.send(signal.SIGTERM)
        assert await program.ends() == 0
        assert (await app.get(enqueued.id)).state == "ready"


async def test_isolated_handlers_run_in_a_process_of_their_own(app: App) -> None:
    async with app, worker(app) as program:
        await program.says(READY)
        enqueued = await app.enqueue("apart")
        assert await app.result(enqueued.id, timeout=20) not in (program.process.pid, os.getpid())


async def test_a_worker_that_must_not_lead_does_not(app: App) -> None:
    async with app, worker(app, "--no-lead") as program:
        await program.says(READY)
        enqueued = await app.enqueue("double", {"n": 1})
        await app.result(enqueued.id, timeout=20)
        async with app.tx() as tx:
            assert await tx.value("select count(*) from weft.leaders") == 0


async def test_several_processes_share_the_work_and_a_dead_one_is_replaced(app: App) -> None:
    async with app, worker(app, "--processes", "2", "--concurrency", "1") as program:
        await program.says(READY, times=2)
        doomed = await app.enqueue("crash")
        await program.says("failed with exit code 3")
        await app.cancel(doomed.id)
        await program.says(READY, times=3)
        enqueued = await app.enqueue("whose")
        assert await app.result(enqueued.id, timeout=20) != program.process.pid
        program.send(signal.SIGTERM)
        assert await program.ends() == 0
        assert program.said.count("drained") == 2


async def test_a_process_that_is_used_up_is_replaced(app: App) -> None:
    async with app, worker(app, "--max-tasks", "1") as program:
        await program.says(READY)
        first = await app.result((await app.enqueue("whose")).id, timeout=20)
        await program.says("is used up")
        await program.says(READY, times=2)
        assert await app.result((await app.enqueue("whose")).id, timeout=20) != first
        program.send(signal.SIGTERM)
        assert await program.ends() == 0


async def test_a_process_that_is_stopped_before_it_listens_has_not_failed(app: App) -> None:
    async with app, worker(app, "--processes", "2") as program:
        await program.says("is pid", times=2)
        program.send(signal.SIGTERM)
        assert await program.ends() == 0
        assert READY not in program.said


async def test_children_drain_when_their_supervisor_is_killed(app: App) -> None:
    async with app, worker(app, "--processes", "1", "--max-memory", "100000") as program:
        await program.says(READY)
        program.send(signal.SIGKILL)
        await program.says("drained")


async def test_a_supervisor_gives_up_on_what_can_never_start() -> None:
    ended, said = await cli_process.run("worker", "no_such_module:app", "--processes", "2", cwd=HERE)
    assert ended == 2
    assert "there is no module 'no_such_module'" in said


def test_pauses_grow_while_children_die_young() -> None:
    assert supervise.rest(0.0, code=1, lived=0.1) == 0.5
    assert supervise.rest(0.5, code=1, lived=0.1) == 1.0
    assert supervise.rest(30.0, code=-9, lived=0.1) == 30.0
    assert supervise.rest(8.0, code=1, lived=60) == 0.5
    assert supervise.rest(8.0, code=0, lived=0.1) == 0.0


def test_a_child_is_told_all_that_its_supervisor_was() -> None:
    told = Work(
        target="a:b", queues=("x", "y"), concurrency=3, capabilities=("gpu",), grace=1.5, lead=False, max_tasks=9,
        max_memory=100, log_level="error",
    )  # fmt: skip
    line = " ".join(supervise.command(told))
    for words in ("a:b --supervised", "--queues x,y", "--concurrency 3", "--capability gpu", "--grace 1.5", "--no-lead",
                  "--max-tasks 9", "--max-memory 100", "--log-level error"):  # fmt: skip
        assert words in line


def test_memory_is_measured_in_mebibytes() -> None:
    assert 5 < resident() < 5000
