"""`weft demo crash`: a worker is killed in the middle of a task, and one sees what becomes of the task."""

import asyncio
import contextlib
import os
import re
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from typing import Any

import click
from rich.console import Console

from weft.app import App
from weft.base import errors
from weft.cli import connecting, loop, output, running
from weft.client import client as clients
from weft.client.client import Client
from weft.cluster import leaders, nodes
from weft.db import statements

SQL = statements.load("weft.cli")

APP = "weft.cli.demo_app:app"
QUEUE = "crash"
_KILL_AT = 40
_LOOK_EVERY = 0.03
_PATIENCE = 60.0


class Story:
    """What happens, told as it does, with times."""

    def __init__(self, console: Console, *, silent: bool) -> None:
        self.events: list[dict[str, Any]] = []
        self._console = console
        self._silent = silent
        self._began = time.monotonic()

    def tell(self, what: str, *, style: str = "") -> float:
        at = time.monotonic() - self._began
        self.events.append({"seconds": round(at, 3), "what": what})
        if not self._silent:
            self._console.print(f"{at:7.2f} s  {what}", style=style or None, markup=False)
        return at


@click.group()
def demo() -> None:
    """Show what Weft does when things go wrong."""


@demo.command(epilog="Example: weft demo crash")
@output.as_json
def crash(*, as_json: bool) -> None:
    """Kill a worker (SIGKILL) in the middle of a task, and watch the task being rescued.

    Two real worker processes on the embedded PostgreSQL in WEFT_FOLDER. The one that has the task is killed; the
    other finishes it. The exit code is 0 if it does.
    """
    story = Story(output.console(), silent=as_json)
    summary = loop.run(_crash(story))
    if as_json:
        output.write_json({**summary, "events": story.events})
        return
    click.echo(
        f"\nkilled after {summary['progress_when_killed']} %, rescued {summary['rescue_seconds']:.1f} s later, "
        f"finished {summary['finish_seconds']:.1f} s later. It was begun {summary['attempts']} times and finished once; "
        f"the loss used up no attempt.\nSee it: weft tasks show {summary['id']}"
    )


async def _crash(story: Story) -> dict[str, Any]:
    app = running.load_app(APP)
    story.tell("starting PostgreSQL and two workers")
    async with app, app.node(roles=(leaders.SCHEDULER,)), connecting.here(app) as client, _two_workers(app) as workers:
        story.tell(f"workers: processes {' and '.join(str(one.pid) for one in workers)}")
        if await _server_age(app) < nodes.QUIET.total_seconds():
            story.tell("PostgreSQL has just started: a broken connection proves nothing yet, so the lease (10 s) decides")
        made = await client.post("/v1/tasks", {"kind": "careful", "queue": QUEUE}, repeat=True)
        story.tell(f"enqueued a task of ten steps: {made['id']}")
        async with asyncio.timeout(_PATIENCE):
            return await _follow(client, made["id"], workers=workers, story=story)


async def _follow(client: Client, id: str, *, workers: dict[Process, str], story: Story) -> dict[str, Any]:
    """Watches the task, kills its worker half-way, and says how it went on."""
    path, by_node = clients.path("/v1/tasks/{}", id), {node: process for process, node in workers.items()}
    killed: float | None = None
    rescued: float | None = None
    progress_when_killed = 0
    before: dict[str, Any] = {}
    while True:
        task = await client.get(path)
        holder = by_node.get(str(task["node_id"]))
        if task["attempt"] != before.get("attempt") and task["state"] == "running" and holder is not None:
            at = story.tell(f"process {holder.pid} runs it, attempt {task['attempt']}", style="cyan")
            if killed is not None and rescued is None:
                rescued = at
        elif task["progress"] != before.get("progress") and task["state"] == "running":
            story.tell(f"  {task['progress_message']}")
        elif task["state"] == "ready" and before.get("state") == "running":
            story.tell("nobody holds it any more: it is ready again, and counts as lost, not as failed", style="yellow")
        if killed is None and holder is not None and (task["progress"] or 0) >= _KILL_AT:
            os.kill(holder.pid, signal.SIGKILL)
            progress_when_killed = task["progress"]
            killed = story.tell(f"SIGKILL to process {holder.pid}, which is in the middle of it", style="bold red")
        if task["finished_at"] is not None:
            ended = story.tell(f"{task['state']}: {task['result']}", style="green")
            if task["state"] != "completed" or killed is None or rescued is None:
                raise errors.TaskFailed(f"the demo did not go as it should; see: weft tasks show {id}")
            return {
                "id": id, "state": task["state"], "attempts": task["attempt"], "losses": task["losses"],
                "progress_when_killed": progress_when_killed, "rescue_seconds": round(rescued - killed, 3),
                "finish_seconds": round(ended - killed, 3),
            }  # fmt: skip
        before = task
        await asyncio.sleep(_LOOK_EVERY)


@contextlib.asynccontextmanager
async def _two_workers(app: App) -> AsyncIterator[dict[Process, str]]:
    """Two real processes with the ids of their nodes; ended with the block."""
    line = [sys.executable, "-m", "weft.cli", "worker", APP, "-q", QUEUE, "-c", "1", "--no-lead", "--supervised"]
    line += ["--log-level", "error", "--grace", "1"]
    environ = {**os.environ, "WEFT_FOLDER": str(app.settings.folder.absolute())}
    started: list[Process] = []
    try:
        for _ in range(2):
            started.append(
                await asyncio.create_subprocess_exec(
                    *line, stdin=PIPE, stdout=DEVNULL, stderr=PIPE, env=environ, start_new_session=True
                )
            )
        async with asyncio.timeout(_PATIENCE):
            for one in started:
                await _ready(one)
        yield {one: await _node(app, pid=one.pid) for one in started}
    finally:
        for one in started:
            with contextlib.suppress(ProcessLookupError):
                one.terminate()
        for one in started:
            await one.communicate()


async def _ready(process: Process) -> None:
    """Waits for its first words; TaskFailed with what it said if it ends instead."""
    assert process.stderr is not None
    said = ""
    async for line in process.stderr:
        said += line.decode(errors="replace")
        if re.search(r"worker is ready", said):
            return
    raise errors.WeftError(f"a worker of the demo could not start: {said.strip()}")


async def _node(app: App, *, pid: int) -> str:
    """The id under which a process of this machine is known."""
    async with app.tx() as tx:
        return next(one.node.id for one in await nodes.known(tx) if one.node.pid == pid and one.status == "active")


async def _server_age(app: App) -> float:
    async with app.tx() as tx:
        return float(await tx.value(SQL.server_age))
