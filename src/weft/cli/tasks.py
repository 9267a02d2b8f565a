"""`weft tasks` and `weft explain`: tasks from all sides, and what can be done to them."""

import contextlib
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from weft.base import errors
from weft.cli import connecting, listing, loop, output, screen, showing
from weft.cli.connecting import Where
from weft.cli.listing import Gathered, Listing
from weft.client import client as clients
from weft.client.client import Client

STATES = ("queued", "scheduled", "blocked", "ready", "running", "completed", "failed", "timed_out", "cancelled")


@click.group(cls=Listing)
def tasks() -> None:
    """Look at tasks, their logs, cancel or redrive them. `weft tasks` alone lists."""


@tasks.command(name="list", epilog="\b\nExamples:\n  weft tasks list --watch\n"
                                   "  weft tasks list --state failed --kind send_email --since 2h --limit 500")  # fmt: skip
@click.option("--state", "states", multiple=True, type=click.Choice(STATES),
              help="Only of this state; `queued` is scheduled, blocked and ready. Repeatable.")  # fmt: skip
@listing.options("kind", "queue", "tag", "since", "before")
@listing.limit()
@showing.watching
@connecting.options
@output.as_json
def list_tasks(
    *, states: Sequence[str], limit: int, watch: bool, every: float, where: Where, as_json: bool, **given: Any
) -> None:
    """Show tasks, newest first: what waits, what runs and what has ended."""
    query = listing.filters({**given, "state": list(states) or None})

    async def look(client: Client) -> Gathered:
        return await listing.gather(client, "/v1/tasks", query=query, most=limit)

    showing.present(look, listed, where=where, every=every if watch else None, as_json=as_json)


@tasks.command(epilog="\b\nExamples:\n  weft tasks show 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55\n"
                      "  weft tasks show 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55 --watch")  # fmt: skip
@click.argument("id")
@showing.watching
@connecting.options
@output.as_json
def show(*, id: str, watch: bool, every: float, where: Where, as_json: bool) -> None:
    """Everything about one task, finished or not, with what its handler logged."""
    wanted = connecting.task_id(id)

    async def look(client: Client) -> Any:
        task = await client.get(clients.path("/v1/tasks/{}", wanted))
        path = clients.path("/v1/tasks/{}/logs", wanted)
        return {**task, "log": [line async for line in client.pages(path, most=1000)]}

    showing.present(look, _one, where=where, every=every if watch else None, as_json=as_json)


@tasks.command(epilog="\b\nExamples:\n  weft tasks logs 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55\n"
                      "  weft tasks logs 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55 --follow")  # fmt: skip
@click.argument("id")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is logged from now on, until the task ends.")
@connecting.options
@output.as_json
def logs(*, id: str, follow: bool, where: Where, as_json: bool) -> None:
    """What a task's handler logged, a line each; with --json a JSON object each."""
    with contextlib.suppress(KeyboardInterrupt):
        loop.run(write_logs(connecting.task_id(id), follow=follow, where=where, as_json=as_json))


@tasks.command(epilog="Example: weft tasks cancel 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@connecting.options
@output.as_json
@click.pass_context
def cancel(ctx: click.Context, /, *, ids: Sequence[str], where: Where, as_json: bool) -> None:
    """End tasks: at once if they wait, by telling their worker if they run."""
    words = {
        "cancelled": "cancelled",
        "cancelling": "it is running; its worker was told",
        "finished": "too late: it has already ended",
        "unknown": "there is no such task",
    }
    _each(ctx, ids, verb="cancel", words=words, good=("cancelled", "cancelling"), where=where, as_json=as_json)


@tasks.command(epilog="Example: weft tasks redrive 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@connecting.options
@output.as_json
@click.pass_context
def redrive(ctx: click.Context, /, *, ids: Sequence[str], where: Where, as_json: bool) -> None:
    """Queue tasks again that failed, timed out or were cancelled; their attempts are counted anew."""
    words = {"redriven": "redriven", "unknown": "there is no such task"}
    _each(ctx, ids, verb="redrive", words=words, good=("redriven",), where=where, as_json=as_json)


@click.command(epilog="Example: weft explain 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@click.argument("id")
@connecting.options
@output.as_json
def explain(*, id: str, where: Where, as_json: bool) -> None:
    """Say why a task is not running, or a run does not go on: not due, paused, no worker, a full limit, its turn."""
    wanted = connecting.task_id(id)

    async def look(client: Client) -> Any:
        # the task of a workflow has its run's id, and says less of it
        try:
            return await client.get(clients.path("/v1/runs/{}/explain", wanted))
        except (errors.NotFound, errors.Forbidden):
            return await client.get(clients.path("/v1/tasks/{}/explain", wanted))

    showing.explain(look, where=where, as_json=as_json)


def listed(found: Gathered) -> RenderableType:
    """Tasks of a list as a table."""
    rows = [
        (one["id"], output.moment(one["created_at"]), one["kind"], one["queue"],
         Text(screen.said(one), style=showing.COLOURS[one["state"]]))
        for one in found.items
    ]  # fmt: skip
    table = output.rows(("id", "made", "kind", "queue", ""), rows, empty="no tasks")
    return showing.noted(table, found)


def _each(
    ctx: click.Context, ids: Sequence[str], *, verb: str, words: dict[str, str], good: Sequence[str], where: Where,
    as_json: bool,
) -> None:  # fmt: skip
    """Does something to each of the tasks; exits with 1 unless it was done to all."""
    wanted = [connecting.task_id(id) for id in ids]

    async def act() -> list[dict[str, str]]:
        async with connecting.connected(where) as client:
            with output.progress(verb, total=len(wanted)) as advance:
                answers = []
                for id in wanted:
                    answers.append({"id": id, "answer": await _act(client, id, verb=verb)})
                    advance(1)
                return answers

    answers = loop.run(act())
    if as_json:
        output.write_json(answers[0] if len(answers) == 1 else answers)
    else:
        for one in answers:
            said = words.get(one["answer"], one["answer"])
            click.echo(said if len(answers) == 1 else f"{one['id']}  {said}")
    ctx.exit(0 if all(one["answer"] in good for one in answers) else 1)


async def _act(client: Client, id: str, *, verb: str) -> str:
    try:
        answer = await client.post(clients.path(f"/v1/tasks/{{}}/{verb}", id))
    except errors.NotFound:
        return "unknown"
    except errors.Conflict as error:
        return error.message
    return str(answer["outcome"]) if verb == "cancel" else "redriven"


async def write_logs(id: str, *, of: str = "tasks", follow: bool, where: Where, as_json: bool) -> None:
    """The log of a task, or of whatever else has its id."""
    async with connecting.connected(where) as client:
        if not follow:
            async for line in client.pages(clients.path(f"/v1/{of}/{{}}/logs", id)):
                _say(line, as_json=as_json)
            return
        after = 0
        while True:
            # a server ends a stream after an hour, or when it stops: then go on where it ended
            path = clients.path(f"/v1/{of}/{{}}/logs/stream", id)
            async with contextlib.aclosing(client.stream(path, query={"after": after})) as events:
                async for event in events:
                    if event.name == "end":
                        return
                    after = event.data["id"]
                    _say(event.data, as_json=as_json)


def _say(line: Any, *, as_json: bool) -> None:
    if as_json:
        click.echo(showing.compact(line))
        return
    click.echo(showing.log_line(line))


def _one(task: Any) -> RenderableType:
    """A task: what it is, how its attempts went, what it logged."""
    table = Table.grid(padding=(0, 2))
    for name, value in task.items():
        if value not in (None, [], {}) and name not in ("attempts", "error", "log"):
            table.add_row(Text(name, style="dim"), showing.value(name, value))
    for one in task["attempts"]:
        problem = one.get("error") or {}
        said = f"attempt {one.get('attempt')} {one.get('outcome')}: {problem.get('type', '')} {problem.get('message', '')}"
        table.add_row(Text("earlier", style="dim"), Text(showing.plain(said)))
    if task["error"]:
        told = task["error"].get("traceback") or f"{task['error'].get('type')}: {task['error'].get('message')}"
        table.add_row(Text("error", style="dim"), Text(showing.plain(told.rstrip())))
    return Group(table, *(Text("  " + showing.log_line(line)) for line in task["log"]))
