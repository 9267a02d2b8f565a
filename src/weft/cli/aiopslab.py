"""`weft aiopslab`: problems for agents, from all sides."""

import asyncio
import contextlib
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from weft.cli import connecting, given, loop, output, showing
from weft.cli.aiopslab_processes import serve, worker
from weft.cli.connecting import Where
from weft.client import client as clients
from weft.client.client import Client
from weft.contrib.aiopslab.application import PREFIX

STATUSES = ("pending", "running", "completed", "failed", "timeout")
_ENDED = ("completed", "failed", "timeout")
_COLOURS = {**showing.COLOURS, "idle": "green", "busy": "cyan", "offline": "red"}
_STEPS = 100


@click.group()
def aiopslab() -> None:
    """Problems for AIOps agents: submit them, watch them, run the workers that solve them."""


aiopslab.add_command(serve)
aiopslab.add_command(worker)


@aiopslab.command(epilog="\b\nExamples:\n  weft aiopslab submit port-misconfig-detection-1 --watch\n"
                         "  weft aiopslab submit pod-crash-mitigation-1 --max-steps 20 --priority 9")  # fmt: skip
@click.argument("problem", metavar="PROBLEM_ID")
@click.option("--max-steps", type=click.IntRange(1, 1000), default=30, show_default=True, help="Steps it may do.")
@click.option("--timeout", "timeout_minutes", type=click.IntRange(1, 180), default=30, show_default=True, metavar="MINUTES",
              help="How long it may run.")  # fmt: skip
@click.option("--priority", type=click.IntRange(0, 10), default=5, show_default=True, help="Higher first.")
@click.option("--agent", metavar="NAME", help="Which of its worker's agents; short for --agent-config '{\"agent\": …}'.")
@click.option("--agent-config", metavar="JSON", default="{}", help="Settings of the agent, a JSON object.")
@click.option("--metadata", metavar="JSON", default="{}", help="Anything of yours, a JSON object.")
@click.option("--callback", "callback_url", metavar="URL", help="Where to tell that it has ended.")
@click.option("--watch", "-w", is_flag=True, help="Stay until it has ended, and show how it goes.")
@connecting.options
@output.as_json
@click.pass_context
def submit(
    ctx: click.Context, /, *, problem: str, agent: str | None, agent_config: str, metadata: str, watch: bool, where: Where,
    as_json: bool, **told: Any,
) -> None:  # fmt: skip
    """Submit a problem. With --watch the exit code is 0 if it was completed, 1 if not."""
    config = given.mapping(agent_config, "--agent-config")
    body = {
        "problem_id": problem, "agent_config": config if agent is None else {**config, "agent": agent},
        "metadata": given.mapping(metadata, "--metadata"),
        **{name: value for name, value in told.items() if value is not None},
    }  # fmt: skip

    async def act() -> Any:
        async with connecting.connected(where) as client:
            made = await client.post(f"{PREFIX}/tasks", body, repeat=True)
            if not watch:
                return made
            if not as_json:
                click.echo(made["id"])
            return await _follow(client, made["id"], silent=as_json)

    task = loop.run(act())
    if as_json:
        output.write_json(task)
    else:
        output.console().print(_one(task) if watch else Text(task["id"]))
    ctx.exit(1 if watch and task["status"] != "completed" else 0)


@aiopslab.command(name="list", epilog="\b\nExamples:\n  weft aiopslab list --watch\n"
                                      "  weft aiopslab list --status failed --sort=-priority --limit 100")  # fmt: skip
@click.option("--status", type=click.Choice(STATUSES), help="Only of this status.")
@click.option("--problem", "problem_id", metavar="ID", help="Only of this problem.")
@click.option("--worker", "worker_id", metavar="ID", help="Only those that this worker took.")
@click.option("-n", "--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="At most so many.")
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True, help="Leave out so many.")
@click.option("--sort", metavar="ORDER", default="-created_at", show_default=True,
              help="created_at, priority, or both with a comma; - turns an order round.")  # fmt: skip
@showing.watching
@connecting.options
@output.as_json
def list_tasks(*, watch: bool, every: float, where: Where, as_json: bool, **query: Any) -> None:
    """Show tasks, newest first."""

    async def look(client: Client) -> Any:
        return await client.get(f"{PREFIX}/tasks", query=query)

    showing.present(look, _listed, where=where, every=every if watch else None, as_json=as_json)


@aiopslab.command(epilog="Example: weft aiopslab show 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55 --conversation")
@click.argument("id")
@click.option("--conversation", is_flag=True, help="Also what the agent and its model said to each other.")
@showing.watching
@connecting.options
@output.as_json
def show(*, id: str, conversation: bool, watch: bool, every: float, where: Where, as_json: bool) -> None:
    """Everything about one task, with its log."""
    wanted = connecting.task_id(id)

    async def look(client: Client) -> Any:
        task = await client.get(_path(wanted), query={"include_logs": True})
        if conversation:
            task["conversation"] = (await client.get(_path(wanted, "/conversation")))["messages"]
        return task

    showing.present(look, _one, where=where, every=every if watch else None, as_json=as_json)


@aiopslab.command(epilog="\b\nExamples:\n  weft aiopslab logs 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55 --watch\n"
                         "  weft aiopslab logs 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55 --level error")  # fmt: skip
@click.argument("id")
@click.option("--level", type=click.Choice(("debug", "info", "warning", "error", "critical")), help="Only of this level.")
@click.option("--watch", "-w", is_flag=True, help="Go on until the task has ended.")
@connecting.options
@output.as_json
def logs(*, id: str, level: str | None, watch: bool, where: Where, as_json: bool) -> None:
    """What a task logged, a line each; with --json a JSON object each."""
    wanted = connecting.task_id(id)

    async def act() -> None:
        async with connecting.connected(where) as client:
            seen: set[str] = set()
            while True:
                # asked before: what it logged until it ended is then read once more
                status = (await client.get(_path(wanted)))["status"]
                found = (await client.get(_path(wanted, "/logs"), query={"level": level}))["logs"]
                for line in found:
                    if line["id"] not in seen:
                        click.echo(showing.compact(line) if as_json else _line(line))
                seen |= {line["id"] for line in found}
                if not watch or status in _ENDED:
                    return
                await asyncio.sleep(0.5)

    with contextlib.suppress(KeyboardInterrupt):
        loop.run(act())


@aiopslab.command(epilog="Example: weft aiopslab cancel 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@click.argument("id")
@connecting.options
@output.as_json
def cancel(*, id: str, where: Where, as_json: bool) -> None:
    """End a task: at once if it waits; if it runs, its worker stops it."""
    wanted = connecting.task_id(id)

    async def act() -> Any:
        async with connecting.connected(where) as client:
            return await client.delete(_path(wanted))

    task = loop.run(act())
    output.write_json(task) if as_json else click.echo(showing.plain(task["error_details"]))


@aiopslab.command(epilog="\b\nExamples:\n  weft aiopslab workers --watch\n  weft aiopslab workers --status offline")
@click.option("--status", type=click.Choice(("idle", "busy", "offline")), help="Only of this status.")
@click.option("--backend-type", metavar="NAME", help="Only of this backend.")
@showing.watching
@connecting.options
@output.as_json
def workers(*, watch: bool, every: float, where: Where, as_json: bool, **query: Any) -> None:
    """Show workers and what they do."""

    async def look(client: Client) -> Any:
        return await client.get(f"{PREFIX}/workers", query=query)

    showing.present(look, _fleet, where=where, every=every if watch else None, as_json=as_json)


@aiopslab.command(epilog="\b\nExamples:\n  weft aiopslab stats\n  weft aiopslab stats --watch")
@showing.watching
@connecting.options
@output.as_json
def stats(*, watch: bool, every: float, where: Where, as_json: bool) -> None:
    """Count the tasks of the last 24 hours."""

    async def look(client: Client) -> Any:
        return await client.get(f"{PREFIX}/tasks/stats")

    showing.present(look, _stats, where=where, every=every if watch else None, as_json=as_json)


async def _follow(client: Client, id: str, *, silent: bool) -> Any:
    """Until it has ended, with a bar of its steps."""
    shown = 0
    with output.progress("waiting for a worker", total=None) if not silent else contextlib.nullcontext(_nothing) as advance:
        while True:
            task = await client.get(_path(id), query={"include_logs": True})
            steps = max((line["context"].get("step", 0) for line in task["logs"]), default=0)
            advance(steps - shown)
            shown = steps
            if task["status"] in _ENDED:
                return task
            await asyncio.sleep(0.5)


def _nothing(_by: int) -> None:
    return None


def _path(id: str, rest: str = "") -> str:
    return clients.path(f"{PREFIX}/tasks/{{}}", id) + rest


def _status(word: str) -> Text:
    return Text(word, style=_COLOURS.get(word, ""))


def _listed(page: Any) -> RenderableType:
    rows = [
        (one["id"], output.moment(one["created_at"]), one["problem_id"], one["parameters"]["priority"],
         one.get("worker_id"), _status(one["status"]))
        for one in page["tasks"]
    ]  # fmt: skip
    table = output.rows(("id", "made", "problem", "priority", "worker", "status"), rows, empty="no tasks")
    shown = page["offset"] + len(page["tasks"])
    return Group(table, Text(f"{page['total']:,} in all", style="dim")) if shown < page["total"] else table


def _one(task: Any) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for name, value in task.items():
        if value not in (None, [], {}) and name not in ("logs", "conversation", "result"):
            shown = _status(value) if name == "status" else showing.value(name, value)
            table.add_row(Text(name, style="dim"), shown)
    for name in ("output", "metrics"):
        if found := task.get("result", {}).get(name):
            table.add_row(Text(name, style="dim"), showing.value(name, found))
    said = [Text(showing.plain(f"  {one['role']}: {one['content']}")) for one in task.get("conversation", ())]
    return Group(table, *(Text("  " + _line(line)) for line in task["logs"][-_STEPS:]), *said)


def _line(line: Any) -> str:
    step = f" step {line['context']['step']}" if "step" in line["context"] else ""
    return showing.plain(f"{output.moment(line['timestamp'])} {line['level']:<8}{step} {line['message']}")


def _fleet(found: Any) -> RenderableType:
    rows = [
        (one["id"], one["backend_type"], _status(one["status"]), output.moment(one["last_heartbeat"]),
         ", ".join(one["running_task_ids"]), one["tasks_completed"], one["tasks_failed"])
        for one in found["workers"]
    ]  # fmt: skip
    names = ("id", "backend", "status", "heartbeat", "runs", "completed", "failed")
    return output.rows(names, rows, empty="no workers: start one with weft aiopslab worker --id worker-001-kind")


def _stats(found: Any) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for name, value in found.items():
        shown = f"{value:.0%}" if name == "success_rate" else output.span(value) if name == "avg_duration" else str(value)
        table.add_row(Text(name.replace("_", " "), style="dim"), Text(shown))
    return table
