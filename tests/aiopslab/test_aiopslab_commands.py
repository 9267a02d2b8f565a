"""`weft aiopslab …`: the commands as people type them, on a database of their own and with a real worker process."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from weft.cli import main

ENV = {"XDG_CONFIG_HOME": "/nonexistent/weft-tests", "WEFT_SERVER": None, "WEFT_KEY": None, "WEFT_PROFILE": None,
       "WEFT_FOLDER": None}  # fmt: skip


@pytest.fixture
def runner(database_url: str) -> CliRunner:
    return CliRunner(env={**ENV, "DATABASE_URL": database_url})


def run(runner: CliRunner, *arguments: str, code: int = 0) -> str:
    done = runner.invoke(main.weft, ["aiopslab", *arguments], prog_name="weft")
    assert done.exit_code == code, (done.output, done.exception)
    return done.output


def told(runner: CliRunner, *arguments: str, code: int = 0) -> Any:
    return json.loads(run(runner, *arguments, "--json", code=code))


def test_a_task_is_submitted_seen_and_cancelled(runner: CliRunner) -> None:
    made = told(runner, "submit", "k8s_x", "--priority", "9", "--agent", "gpt", "--metadata", '{"team": "sre"}')
    assert made["parameters"]["agent_config"] == {"agent": "gpt"} and made["parameters"]["priority"] == 9
    other = run(runner, "submit", "other").strip()
    assert re.fullmatch(r"[0-9a-f-]{36}", other)
    listed = told(runner, "list", "--sort=-priority")
    assert [one["id"] for one in listed["tasks"]] == [made["id"], other]
    assert "2 in all" in run(runner, "list", "--limit", "1") and "k8s_x" in run(runner, "list", "--problem", "k8s_x")
    shown = run(runner, "show", made["id"], "--conversation")
    assert "pending" in shown and '{"team":"sre"}' in shown
    assert run(runner, "cancel", made["id"]) == "cancelled by request\n"
    assert "has ended" in run(runner, "cancel", made["id"], code=1)
    assert "there is no task" in run(runner, "show", "0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55", code=1)
    assert told(runner, "list", "--status", "failed")["total"] == 1
    assert run(runner, "logs", made["id"]) == "" and "no workers" in run(runner, "workers")
    found = told(runner, "stats")
    assert (found["total"], found["failed"], found["pending"]) == (2, 1, 1)
    assert re.search(r"success rate\s+0%", run(runner, "stats"))


@pytest.fixture
async def served(database_url: str) -> AsyncIterator[str]:
    """`weft aiopslab serve` and a worker, as processes; answers the address."""
    env = {**{name: value for name, value in os.environ.items() if name not in ENV}, "DATABASE_URL": database_url}
    weft = [sys.executable, "-m", "weft.cli", "aiopslab"]
    reading: list[asyncio.Task[bytes]] = []
    processes = [
        await asyncio.create_subprocess_exec(*weft, "serve", "--port", "0", env=env, stderr=asyncio.subprocess.PIPE)
    ]
    try:
        async with asyncio.timeout(60):
            assert processes[0].stderr is not None
            while not (found := re.search(rb"ready at (http://\S+);", line := await processes[0].stderr.readline())):
                assert line, "the server ended"
        url = found[1].decode()
        # what it says must be read, or it waits for us
        reading.append(asyncio.create_task(processes[0].stderr.read()))
        processes.append(await asyncio.create_subprocess_exec(
            *weft, "worker", "--id", "worker-007-kind", "--server", url, "--poll", "0.1", env=env,
            stderr=asyncio.subprocess.DEVNULL,
        ))  # fmt: skip
        yield url
    finally:
        for one in reversed(processes):
            if one.returncode is None:
                one.terminate()
            async with asyncio.timeout(60):
                await one.wait()
        await asyncio.gather(*reading, return_exceptions=True)
    assert [one.returncode for one in processes] == [0, 0]


def _here(url: str) -> Iterator[CliRunner]:
    yield CliRunner(env={**ENV, "DATABASE_URL": None, "WEFT_SERVER": url})


async def test_a_problem_is_watched_from_its_submission_to_its_solution(served: str) -> None:
    [runner] = _here(served)
    quick = ("--agent-config", '{"pace": 0}')

    def watch() -> None:
        solved = told(runner, "submit", "auth-missing-analysis-1", "--watch", *quick)
        assert solved["status"] == "completed" and solved["result"]["output"]["solved"] is True
        shown = run(runner, "submit", "port-misconfig-detection-1", "--watch", *quick)
        assert "completed" in shown and "submitted 'yes'" in shown
        assert "has no problem 'nothing'" in run(runner, "submit", "nothing", "--watch", code=1)
        lines = [json.loads(line) for line in run(runner, "logs", solved["id"], "--watch", "--json").splitlines()]
        assert lines[-1]["context"]["action"] == "submit"
        assert "assistant: exec_shell" in run(runner, "show", solved["id"], "--conversation")
        [worker] = told(runner, "workers")["workers"]
        assert (worker["id"], worker["tasks_completed"], worker["tasks_failed"]) == ("worker-007-kind", 2, 1)
        assert "worker-007-kind" in run(runner, "workers") and "completed" in run(runner, "list")

    async with asyncio.timeout(180):
        await asyncio.to_thread(watch)
