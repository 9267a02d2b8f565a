"""weft dag, on what is saved: in process and against a real server process, with the same answers; and on a terminal."""

import asyncio
import contextlib
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import AsyncIterator, Iterator
from fcntl import ioctl
from pathlib import Path

import cli_process
import pytest
import shell
from shell import Shell

from weft import App
from weft.testing import inline as testing

FILE = """\
name: nightly
cron_expression: "0 2 1 1 *"
params: {good: false}
tasks:
  - {name: extract, payload: {task: extract}, max_retries: 0}
  - {name: clean, payload: {task: clean, args: {good: "${params.good}"}}, max_retries: 0, dependencies: [extract]}
  - {name: load, payload: {task: load}, max_retries: 0, dependencies: [clean]}
"""


@pytest.fixture(params=["here", "server"])
async def either(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[Shell]:
    if request.param == "here":
        yield Shell(DATABASE_URL=database_url)
    else:
        async with shell.served(database_url) as remote:
            yield remote


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:

        @made.task(name="extract")
        async def extract() -> int:
            return 1

        @made.task(name="clean")
        async def clean(good: bool) -> int:
            if not good:
                raise ValueError("not good")
            return 2

        @made.task(name="load")
        async def load() -> int:
            return 3

        yield made


@pytest.fixture
def file(folder: Path) -> Iterator[str]:
    path = folder / "nightly.yaml"
    path.write_text(FILE)
    yield str(path)


async def test_a_dag_from_create_to_delete(either: Shell, file: str) -> None:
    made = await either.json("dag", "create", file)
    code, said = await either("dag", "create", "-", stdin=f"{FILE}max_active_runs: 1\n".encode())
    assert (code, said.startswith("nightly: 3 tasks, version 2 (")) == (0, True)
    assert [one["number"] for one in await either.json("dag", "versions", "nightly")] == [2, 1]
    code, said = await either("dag", "versions", made["dag_id"])
    assert code == 0 and made["version"][:12] in said
    assert (await either("dag", "pause", "nightly"))[1] == "nightly is PAUSED\n"
    run = await either.json(
        "dag", "trigger", "nightly", "--at", "2026-01-15T02:00Z", "--queue", "slow", "--priority", "80", "--timeout", "1h",
        "--tag", "a", "--tag", "b", "--once", "k", "-p", "good=true",
    )  # fmt: skip
    assert (run["scheduled_time"], run["tags"], run["params"]) == ("2026-01-15T02:00:00Z", ["a", "b"], {"good": True})
    assert run["config"] == {"queue": "slow", "priority": 80, "timeout_seconds": 3600.0}
    assert (await either("dag", "resume", "nightly"))[1].startswith("nightly is ACTIVE, next at")
    waits = await either.json("dag", "trigger", "nightly")
    assert (await either("dag", "explain", waits["dag_run_id"]))[0] == 0
    assert await either("dag", "delete", "nightly") == (0, "deleted nightly\n")
    code, said = await either("dag", "pause", "nightly")
    assert (code, "there is no DAG 'nightly'" in said) == (1, True)
    assert (await either.json("dag", "show", waits["dag_run_id"]))["status"] == "CANCELLED"
    assert (await either.json("dag", "show", run["dag_run_id"]))["status"] == "RUNNING"


async def test_a_run_is_explained_held_mended_and_ended(either: Shell, file: str, app: App) -> None:
    await either.json("dag", "create", file)
    run = (await either.json("dag", "trigger", "nightly"))["dag_run_id"]
    assert (await either("dag", "pause-run", run)) == (0, f"{run}  paused\n")
    code, said = await either("dag", "explain", run)
    assert code == 0 and "paused" in said
    assert (await either.json("dag", "explain", run))["code"] == "paused"
    assert (await either("dag", "resume-run", run)) == (0, f"{run}  running\n")
    await testing.run_pending(app)
    code, said = await either("dag", "show", run)
    assert code == 0 and "✗ clean" in said and "not good" in said and "· load" in said
    code, said = await either("dag", "rerun", run)
    assert (code, said) == (0, f"{run}  running: clean, load\n")
    await testing.run_pending(app)
    assert (await either("dag", "mark", run, "clean", "COMPLETED", "--output", "5"))[0] == 0
    await testing.run_pending(app)
    assert (await either.json("dag", "show", run))["status"] == "COMPLETED"
    code, said = await either("dag", "clear", run, "load")
    assert (code, said) == (0, f"{run}  running: load\n")
    code, said = await either("dag", "clear", run, "lod")
    assert (code, "did you mean 'load'" in said or "it has ended" in said or "running" in said) == (1, True)
    assert (await either("dag", "cancel", run)) == (0, f"{run}  cancelled\n")
    [listed] = await either.json("dag", "runs", "nightly", "--status", "CANCELLED")
    assert listed["dag_run_id"] == run


class Screen:
    """A terminal with a program on it."""

    def __init__(self, descriptor: int) -> None:
        self.said = ""
        self._descriptor = descriptor
        self._grew = asyncio.Event()
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # the other end was closed
            self.said += os.read(self._descriptor, 65536).decode(errors="replace")
        self._grew.set()

    async def shows(self, pattern: str) -> None:
        async with asyncio.timeout(cli_process.PATIENCE):
            while not re.search(pattern, self.said):
                self._grew.clear()
                await self._grew.wait()


async def test_a_run_is_drawn_in_place_on_a_terminal_until_it_ends(file: str, app: App, database_url: str) -> None:
    await app.dags.create(file)
    run = await app.dags.trigger("nightly", {"good": True})
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "weft.cli", "dag", "show", str(run.id), "--watch", "--every", "0.1",
            stdin=theirs, stdout=theirs, stderr=theirs,
            env={**os.environ, "DATABASE_URL": database_url, "TERM": "xterm", "XDG_CONFIG_HOME": shell.NOWHERE},
        )  # fmt: skip
        screen = Screen(ours)
        await screen.shows("○ extract|◐ extract")
        await testing.run_pending(app)
        async with asyncio.timeout(cli_process.PATIENCE):
            assert await process.wait() == 0
        await screen.shows(r"● load[^\n]*completed")
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        os.close(ours)
        os.close(theirs)
    assert re.search(r"\x1b\[\d*A", screen.said), "it goes up, and draws over what it drew"
    assert "COMPLETED" in screen.said or "completed" in screen.said
