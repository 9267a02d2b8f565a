"""HTTP workers and their server as real processes, killed in the middle: nothing is lost, nothing is done twice."""

import asyncio
import collections
import json
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from cli_process import PATIENCE, Program, run, weft

HERE = Path(__file__).parent
READY = re.compile(r"http://127\.0\.0\.1:(\d+)")


async def until(question: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (answer := question()):
        assert time.monotonic() < deadline, "not so in time"
        await asyncio.sleep(0.02)
    return answer


def ask(url: str, statement: str, *arguments: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(statement, arguments).fetchall()  # type: ignore[arg-type]


def enqueue(url: str, kind: str, count: int, heartbeat_timeout: str | None = None) -> list[str]:
    statement = "select weft.enqueue(%s, heartbeat_timeout => %s::interval)::text from generate_series(1, %s)"
    return [row[0] for row in ask(url, statement, kind, heartbeat_timeout, count)]


def diary(folder: Path, what: str) -> list[str]:
    """The ids of all tasks of which this was noted, as often as it was."""
    file = folder / "diary"
    lines = file.read_text().splitlines() if file.exists() else []
    return [line.split()[1] for line in lines if line.startswith(what)]


async def key(url: str) -> str:
    code, said = await run("key", "create", "w", "--role", "worker", "--json", env={"DATABASE_URL": url})
    assert code == 0, said
    return str(json.loads(said[said.index("{") :])["key"])


async def address(server: Program) -> str:
    await server.says("weft server is ready")
    found = READY.search(server.said)
    assert found is not None
    return found[0]


def working(url: str, *, token: str, folder: Path) -> Any:
    env = {"WEFT_KEY": token, "HTTP_DIARY": str(folder / "diary")}
    return weft("worker", "http_app:app", "--http", url, "-c", "10", env=env, cwd=HERE)


async def test_the_tasks_of_a_killed_http_worker_run_again_after_their_lease(database_url: str, folder: Path) -> None:
    token = await key(database_url)
    async with weft("server", "--port", "0", env={"DATABASE_URL": database_url}) as server:
        url = await address(server)
        async with working(url, token=token, folder=folder) as victim:
            tasks = enqueue(database_url, "hold", 3, heartbeat_timeout="2 seconds")
            await until(lambda: len(diary(folder, "start")) == 3)
            victim.send(signal.SIGKILL)
            await victim.ends()
        async with working(url, token=token, folder=folder) as heir:
            await until(lambda: len(diary(folder, "start")) >= 6)
            (folder / "gate").touch()
            await until(lambda: ask(database_url, "select count(*) from weft.task_history")[0][0] == 3)
            ended = ask(database_url, "select id::text, state, losses, attempt - uncounted from weft.task_history")
            heir.send(signal.SIGTERM)
            assert await heir.ends() == 0
    assert sorted(ended) == sorted((id, "completed", 1, 1) for id in tasks)


async def test_a_server_killed_in_the_middle_and_started_again_loses_nothing_and_repeats_nothing(
    database_url: str, folder: Path
) -> None:
    token = await key(database_url)
    count = 400
    async with weft("server", "--port", "0", env={"DATABASE_URL": database_url}) as first:
        url = await address(first)
        port = url.rpartition(":")[2]
        async with working(url, token=token, folder=folder) as worker:
            await worker.says("weft worker is ready")
            tasks = enqueue(database_url, "quick", count)
            await until(lambda: len(diary(folder, "end")) >= 60)
            first.send(signal.SIGKILL)
            await first.ends()
            done = len(diary(folder, "end"))
            async with weft("server", "--port", port, env={"DATABASE_URL": database_url}) as second:
                await address(second)
                await until(lambda: ask(database_url, "select count(*) from weft.task_history")[0][0] == count)
                worker.send(signal.SIGTERM)
                assert await worker.ends() == 0, worker.said
    assert done < count, "the server was killed too late for the test to mean anything"
    assert collections.Counter(diary(folder, "end")) == dict.fromkeys(tasks, 1)
    ended = ask(database_url, "select state, losses, attempt - uncounted, count(*) from weft.task_history group by 1, 2, 3")
    assert ended == [("completed", 0, 1, count)]


async def test_http_without_a_key_says_how_to_get_one() -> None:
    code, said = await run("worker", "http_app:app", "--http", "http://127.0.0.1:1", env={"WEFT_KEY": None}, cwd=HERE)
    assert code == 2 and "weft key create" in said


async def test_several_processes_work_over_http(database_url: str, folder: Path) -> None:
    token = await key(database_url)
    async with weft("server", "--port", "0", env={"DATABASE_URL": database_url}) as server:
        url = await address(server)
        env = {"WEFT_KEY": token, "HTTP_DIARY": str(folder / "diary")}
        async with weft("worker", "http_app:app", "--http", url, "--processes", "2", env=env, cwd=HERE) as workers:
            await workers.says("weft worker is ready", times=2)
            tasks = enqueue(database_url, "quick", 50)
            await until(lambda: ask(database_url, "select count(*) from weft.task_history")[0][0] == 50)
            workers.send(signal.SIGTERM)
            assert await workers.ends() == 0
    assert collections.Counter(diary(folder, "end")) == dict.fromkeys(tasks, 1)
    assert token not in server.said + workers.said
