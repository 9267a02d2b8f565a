"""The worker and its children: real processes, a real port. Executors, signals, what is lost and what is not."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import lab as labs
import pytest
from lab import Frozen, Lab

from weft.api import server, serving
from weft.client.client import Client
from weft.contrib.aiopslab.application import OPERATIONS
from weft.contrib.aiopslab.speech import AIOPSLAB
from weft.contrib.aiopslab.worker import Setup, Worker
from weft.db.database import Database

HERE = Path(__file__).parent
PATIENCE = 90.0
"""Seconds that anything may take on a busy machine."""


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="weft-lab-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
async def url(database: Database) -> AsyncIterator[str]:
    listener = serving.listen("127.0.0.1", 0)
    async with serving.serving(server.build(database, operations=OPERATIONS, dialect=AIOPSLAB), listener=listener):
        yield serving.address(listener)


@pytest.fixture
async def desk(database: Database, url: str) -> AsyncIterator[Lab]:
    clock = await Frozen.stand(database)
    async with labs.client(database) as client:
        yield Lab(database, client, clock=clock)


@contextlib.asynccontextmanager
async def working(url: str, *, executor: str, **told: Any) -> AsyncIterator[Worker]:
    """A worker in this process; its problems are processes."""
    told = {"poll": 0.05, "beat": 0.2, "grace": 0.3, "id": "worker-001-kind", "backend_type": "default", **told}
    async with Client(url, tries=1) as client:
        worker = Worker(client, Setup(executor=executor, **told))
        run = asyncio.create_task(worker.run(patience=0.1))
        try:
            yield worker
        finally:
            worker.stop()
            await run


async def until(what: Callable[[], Awaitable[Any]]) -> Any:
    """Waits for something to become true."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await what()):
            await asyncio.sleep(0.05)
        return found


async def ended(lab: Lab, id: str) -> Any:
    async def look() -> Any:
        task = await lab.task(id, include_logs="true")
        return task if task["status"] not in ("pending", "running") else None

    return await until(look)


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children find the tests' executors and the stand-in package."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(HERE / "standin"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("WEFT_KEY", "not-for-problems")
    monkeypatch.setenv("FOR_PROBLEMS", "yes")


async def test_simulated_incidents_are_detected_localised_analysed_and_mitigated(desk: Lab, url: str) -> None:
    made = {
        task: await desk.submit(f"pod-crash-{task}-1", agent_config={"pace": 0})
        for task in ("detection", "localization", "analysis", "mitigation")
    }
    short = await desk.submit("pod-crash-analysis-1", agent_config={"pace": 0}, max_steps=2)
    none = await desk.submit("no-fault-detection-1", agent_config={"pace": 0})
    unknown = await desk.submit("no such problem")
    async with working(url, executor="simulated", places=3):
        found = {task: await ended(desk, id) for task, id in made.items()}
        unsolved, well, refused = [await ended(desk, id) for id in (short, none, unknown)]
    for task, one in found.items():
        assert one["status"] == "completed" and one["result"]["output"]["solved"] is True, task
        assert one["result"]["output"]["simulated"] is True and one["result"]["metrics"]["steps"] >= 2
        assert [line["context"].get("action") for line in one["logs"]][-1] == "submit"
    assert found["localization"]["result"]["output"]["results"]["submitted"] == "geo"
    said = (await desk.get(f"/tasks/{made['analysis']}/conversation")).json()["messages"]
    assert [one["role"] for one in said][:3] == ["system", "assistant", "user"]
    assert (unsolved["status"], unsolved["result"]["output"]["solved"]) == ("completed", False), "unsolved is no failure"
    assert well["result"]["output"]["results"]["Detection Accuracy"] == "Correct"
    assert refused["status"] == "failed" and "has no problem 'no such problem'" in refused["error_details"]


async def test_a_problem_has_an_environment_of_its_own_and_its_words_are_kept(desk: Lab, url: str) -> None:
    id = await desk.submit("shown")
    more = {"cluster": "kind-7", "kubeconfig": "/somewhere/config", "passed": ("FOR_PROBLEMS",)}
    async with working(url, executor="lab_executor:environment", **more):
        task = await ended(desk, id)
    environ = task["result"]["output"]["environ"]
    given = {name: environ[name] for name in ("AIOPSLAB_CLUSTER", "KUBECONFIG", "FOR_PROBLEMS")}
    assert given == {"AIOPSLAB_CLUSTER": "kind-7", "KUBECONFIG": "/somewhere/config", "FOR_PROBLEMS": "yes"}
    assert "WEFT_KEY" not in environ
    assert {"printed shown", "complained"} <= {line["message"] for line in task["logs"]}
    assert task["result"]["metrics"]["steps"] == 3 and task["result"]["metrics"]["wall_seconds"] >= 0


@pytest.mark.parametrize(
    ("executor", "why"),
    [("lab_executor:dying", "killed by signal 9"), ("lab_executor:breaking", "ZeroDivisionError: no cluster today"),
     ("lab_executor:missing", "cannot be imported"), ("nowhere:run", "cannot be imported")],
)  # fmt: skip
async def test_a_problem_that_breaks_has_failed_and_the_worker_goes_on(desk: Lab, url: str, executor: str, why: str) -> None:
    first, second = await desk.submit(), await desk.submit()
    async with working(url, executor=executor):
        for id in (first, second):
            task = await ended(desk, id)
            assert task["status"] == "failed" and why in task["error_details"]


async def test_the_orchestrator_is_driven_as_the_real_package_wants_it(desk: Lab, url: str) -> None:
    agents = {"usual": "lab_agents:Agent", "quick": "lab_agents:NotAsync"}
    detected = await desk.submit("lab-detection", max_steps=5)
    right = await desk.submit("lab-right", agent_config={"agent": "quick"})
    wrong = await desk.submit("lab-wrong", max_steps=1)
    unknown = await desk.submit("nowhere")
    stranger = await desk.submit("lab-right", agent_config={"agent": "os:system"})
    async with working(url, executor="orchestrator", options={"agents": agents}, kubeconfig="/k"):
        found = [await ended(desk, id) for id in (detected, right, wrong, unknown, stranger)]
    assert [one["status"] for one in found] == ["completed", "completed", "completed", "failed", "failed"]
    assert [one["result"]["output"]["solved"] for one in found[:3]] == [True, True, False]
    assert found[0]["result"]["metrics"]["TTD"] == 1.5 and "deploying /k" in {line["message"] for line in found[0]["logs"]}
    assert "there is no problem 'nowhere'" in found[3]["error_details"] and "has no agent" in found[4]["error_details"]
    said = (await desk.get(f"/tasks/{detected}/conversation")).json()["messages"]
    assert [one["role"] for one in said] == ["system", *["user", "assistant"] * 3]
    did = [line["context"].get("action") for line in found[0]["logs"]]
    # what it prints comes by another way, and may come between
    assert [one for one in did if one != "output"] == ["init_problem", "start_problem", *["get_action"] * 3]


async def test_without_the_package_or_an_agent_a_problem_fails_with_the_reason(
    desk: Lab, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    id = await desk.submit("lab-right")
    async with working(url, executor="orchestrator", options={"agents": {"a": "x:Y"}}):
        assert "the package aiopslab cannot be imported here" in (await ended(desk, id))["error_details"]


async def test_a_service_is_asked_to_simulate(desk: Lab, url: str) -> None:
    asked: list[Any] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        size = next(int(line.partition(":")[2]) for line in head.split("\r\n") if line.startswith("content-length"))
        body = json.loads(await reader.readexactly(size))
        asked.append((head.split("\r\n")[0], body))
        status = 200 if body["problem_id"] == "known" else 404
        told = {"session_id": "s", "results": {"success": True}, "trace": [{"role": "assistant", "content": "done"}]}
        answer = json.dumps(told).encode()
        rest = f"content-type: application/json\r\ncontent-length: {len(answer)}\r\n\r\n"
        writer.write(f"HTTP/1.1 {status} x\r\n{rest}".encode() + answer)
        await writer.drain()
        writer.close()

    known, unknown = await desk.submit("known", agent_config={"agent": "gpt", "model": "m"}), await desk.submit("unknown")
    service = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with service:
        options = {"service_url": f"http://127.0.0.1:{service.sockets[0].getsockname()[1]}"}
        async with working(url, executor="service", options=options):
            good, bad = await ended(desk, known), await ended(desk, unknown)
    assert asked[0] == ("post /simulate http/1.1", {
        "problem_id": "known", "agent_name": "gpt", "agent": "gpt", "model": "m", "max_steps": 30,
    })  # fmt: skip
    assert good["status"] == "completed" and good["result"]["output"]["solved"] is True
    assert bad["status"] == "failed" and "/simulate did not run it" in bad["error_details"]
    [said] = (await desk.get(f"/tasks/{known}/conversation")).json()["messages"]
    assert said["content"] == "done"


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in ("Z", "X")


async def pids(file: Path) -> list[int]:
    def read() -> list[str]:
        return file.read_text().split() if file.exists() else []

    async def look() -> list[int] | None:
        found = read()
        return [int(one) for one in found] if len(found) == 2 else None

    return list(await until(look))


async def test_a_task_over_its_time_is_killed_with_all_it_started_and_the_next_one_runs(
    desk: Lab, url: str, folder: Path
) -> None:
    id = await desk.submit(timeout_minutes=1, agent_config={"pids": str(folder / "first")}, priority=9)
    following = await desk.submit(agent_config={"pids": str(folder / "second")})
    async with working(url, executor="lab_executor:stubborn"):
        both = await pids(folder / "first")
        for _ in range(3):
            # beats go on meanwhile; without them it would be lost, not late
            before = (await desk.worker("worker-001-kind"))["last_heartbeat"]
            await desk.advance(seconds=25)

            async def beaten(before: str = before) -> bool:
                worker = await desk.worker("worker-001-kind")
                return bool(worker["last_heartbeat"] > before)

            await until(beaten)
        # the last beat may have been on its way before the time went on
        assert (await ended(desk, id))["status"] == "timeout"

        async def over() -> bool:
            return all(gone(pid) for pid in both)

        await until(over)
        await pids(folder / "second")
        assert (await desk.task(following))["status"] == "running"
    assert (await desk.task(following))["error_details"] == "its worker was stopped"


async def test_a_cancelled_problem_is_interrupted_politely_first(desk: Lab, url: str, folder: Path) -> None:
    id = await desk.submit(agent_config={"note": str(folder / "note")})
    async with working(url, executor="lab_executor:polite", grace=20):

        async def begun() -> bool:
            return bool((await desk.task(id, include_logs="true"))["logs"])

        await until(begun)
        assert (await desk.delete(f"/tasks/{id}")).json()["error_details"] == "cancelled by request"

        async def noted() -> bool:
            return (folder / "note").exists() and (folder / "note").read_text() == "cleaned up"

        await until(noted)
        assert (await desk.task(id))["error_details"] == "cancelled by request"


async def test_a_killed_worker_is_offline_its_task_lost_and_its_processes_gone(desk: Lab, url: str, folder: Path) -> None:
    id = await desk.submit(agent_config={"pids": str(folder / "pids")})
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "weft.cli", "aiopslab", "worker", "--id", "worker-001-kind", "--server", url, "--poll", "0.1",
        "--executor", "lab_executor:stubborn", stderr=asyncio.subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name != "WEFT_KEY"},
    )  # fmt: skip
    try:
        both = await pids(folder / "pids")
        process.send_signal(signal.SIGKILL)
        await process.wait()

        async def over() -> bool:
            return all(gone(pid) for pid in both)

        await until(over)
        assert (await desk.task(id))["status"] == "running", "nobody knows yet"
        await desk.advance(seconds=61)
        task = await desk.task(id)
        assert (task["status"], task["error_details"], task["worker_id"]) == ("failed", "worker lost", "worker-001-kind")
        assert (await desk.worker("worker-001-kind"))["status"] == "offline"
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    # started anew under its name it goes on
    again = await desk.submit("no-fault-detection-1", agent_config={"pace": 0})
    async with working(url, executor="simulated"):
        assert (await ended(desk, again))["status"] == "completed"


async def test_a_worker_started_anew_gives_up_what_it_finds_left_behind(desk: Lab, url: str) -> None:
    left = await desk.submit()
    assert await desk.claim(await desk.register()) == left
    async with working(url, executor="simulated"):
        task = await ended(desk, left)
    assert (task["status"], task["error_details"]) == ("failed", "its worker was started anew")
