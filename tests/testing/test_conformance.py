"""The conformance suite: our server and both our workers keep every rule, and planted faults are found."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from weft import App
from weft.access import keys
from weft.api import server
from weft.base import ids
from weft.cli import serving
from weft.net.session import Session
from weft.testing import conformance, conformance_server, conformance_worker
from weft.testing.conformance import Probe, Result, Rule

ROOT = Path(__file__).parent.parent.parent
NODE = f"node {ROOT / 'examples' / 'worker.mjs'}"

SILENT = f"""{sys.executable} -c 'import time; time.sleep(1000)'"""

Made = tuple[Session, str, str, str]


@pytest.fixture
async def made(app: App) -> AsyncIterator[Made]:
    """A session with a real server, its address, a worker key and a writer's."""
    async with (await app.open()).tx() as tx:
        _, worker = await keys.create(tx, org=ids.DEFAULT_ORG, name="w", role="worker", actor="test")
        _, writer = await keys.create(tx, org=ids.DEFAULT_ORG, name="a", role="writer", actor="test")
    async with serving.served(app, port=0) as url:
        session = Session(url, headers={})
        yield session, url, worker, writer
        await session.close()


async def tried(
    rules: Sequence[Rule], made: Made, *, at_once: int = 4, session: Session | None = None
) -> dict[str, str | None]:
    """Rule → its problem. Several at a time: each has a queue of its own."""
    room = asyncio.Semaphore(at_once)

    async def one(rule: Rule) -> Result:
        async with room:
            [result] = [
                found async for found in conformance.run("t", [rule], lambda: Probe(session or made[0], made[2], made[3]))
            ]
        return result

    results = await asyncio.gather(*(one(rule) for rule in rules))
    return {result.rule: result.problem for result in results}


def kept(rules: Sequence[Rule]) -> dict[str, None]:
    return {rule.name: None for rule in rules}


@pytest.fixture
def weft_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


async def test_our_server_keeps_every_rule(made: Made) -> None:
    assert await tried(conformance_server.RULES, made) == kept(conformance_server.RULES)


async def test_our_python_worker_keeps_every_rule(made: Made, weft_on_path: None) -> None:
    rules = conformance_worker.rules(conformance_worker.Command(conformance_worker.PYTHON, server=made[1]))
    assert await tried(rules, made) == kept(rules)


@pytest.mark.skipif(
    shutil.which("node") is None, reason="NODE IS MISSING: the worker in another language is NOT tested here"
)
async def test_the_node_example_keeps_every_rule(made: Made) -> None:
    rules = conformance_worker.rules(conformance_worker.Command(NODE, server=made[1]))
    assert await tried(rules, made) == kept(rules)


def test_the_node_example_is_short() -> None:
    assert len((ROOT / "examples" / "worker.mjs").read_text().splitlines()) <= 60


def planted(app: Any, path: str, change: Any) -> Any:
    """The server with a fault: what `change` makes of the status of answers at `path`."""

    async def faulty(scope: Any, receive: Any, send: Any) -> None:
        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start" and scope["path"] == path:
                message["status"] = change(message["status"])
            await send(message)

        await app(scope, receive, sent)

    return faulty


@pytest.mark.parametrize(
    ("path", "change", "found"),
    [
        ("/v1/task/complete", lambda status: 200 if status == 409 else status, "a stale lease is refused"),
        ("/v1/task/log", lambda status: 401 if status == 403 else status, "another task's token"),
        ("/v1/task/heartbeat", lambda status: 400 if status == 401 else status, "a bad token"),
        ("/v1/task/claim", lambda status: 200 if status == 400 else status, "a malformed claim"),
        ("/v1/task/claim", lambda status: 401 if status == 403 else status, "a claim needs a worker key"),
    ],
)
async def test_a_server_with_a_fault_is_found_out(made: Made, app: App, path: str, change: Any, found: str) -> None:
    faulty = Session("http://weft", headers={}, app=planted(server.build(await app.open()), path, change))
    rules = [rule for rule in conformance_server.RULES if rule.name.startswith(found)]
    [(_, problem)] = (await tried(rules, made, session=faulty)).items()
    assert problem is not None
    await faulty.close()


DEAF = """
import json, os, time, urllib.request

def say(verb, key, body):
    asked = urllib.request.Request(os.environ["WEFT_SERVER"] + "/v1/task/" + verb, json.dumps(body).encode(),
                                   {"authorization": "Bearer " + key, "content-type": "application/json"})
    return json.load(urllib.request.urlopen(asked))

while True:
    kinds = ["conformance.echo", "conformance.sleep"]
    asked = {"worker": "deaf", "kinds": kinds, "queues": [os.environ["WEFT_QUEUES"]], "wait": 5}
    for task in say("claim", os.environ["WEFT_KEY"], asked)["tasks"]:
        result = task["payload"]
        if task["kind"] == "conformance.sleep":
            time.sleep(task["payload"]["seconds"])
            result = "slept"
        say("complete", task["token"], {"result": result})
"""
"""A worker that says no heartbeat, does not listen, and falls over when it is refused."""


async def test_a_worker_with_faults_is_found_out(made: Made, tmp_path: Path) -> None:
    program = tmp_path / "deaf.py"
    program.write_text(DEAF)
    command = conformance_worker.Command(f"{sys.executable} {program}", server=made[1])
    rules = conformance_worker.rules(command)
    chosen = [rule for rule in rules if rule.name.startswith(("it claims and", "its heartbeats", "on SIGTERM it gives"))]
    problems = await tried(chosen, made)
    assert [problem is None for problem in problems.values()] == [True, False, False], problems
