"""`weft dag trigger|runs|show|…`: runs of DAGs on a server, or on the local database."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import click
from rich.console import RenderableType
from rich.live import Live

from weft.base import durations, errors, json
from weft.cli import connecting, dag_view, given, listing, loop, output, showing
from weft.cli.connecting import Where
from weft.cli.listing import Gathered
from weft.client import client as clients
from weft.client.client import Client

run_id = click.argument("id", metavar="RUN")

_OVER = ("COMPLETED", "FAILED", "CANCELLED")
STATUSES = ("PENDING", "RUNNING", *_OVER)


@click.command(epilog="\b\nExamples:\n  weft dag trigger nightly -p day=2026-01-15 --wait\n"
                      "  weft dag trigger nightly --params '{\"day\": \"2026-01-15\"}' --once 2026-01-15")  # fmt: skip
@click.argument("dag")
@click.option("-p", "--param", "given", multiple=True, metavar="NAME=VALUE", help="A param; JSON if it can be read as such.")
@click.option("--params", "whole", metavar="JSON", help="All params as one JSON object.")
@click.option("--once", metavar="KEY", help="Start nothing if a run of this DAG has had this key; answer that run.")
@click.option("--at", metavar="TIME", help="What the run is for, instead of now: 2026-01-15T02:00Z.")
@click.option("-q", "--queue", metavar="NAME", help="Another queue for its tasks.")
@click.option("--priority", type=click.IntRange(0, 100), help="Another priority for its tasks, 0 (last) to 100 (first).")
@click.option("--timeout", metavar="DURATION", help="Another time limit of the run: 30m.")
@click.option("--tag", "tags", multiple=True, metavar="NAME", help="A tag to find it by. Repeatable.")
@click.option("--wait", is_flag=True, help="Watch the run until it ends; exit 1 unless it completes.")
@connecting.options
@output.as_json
@click.pass_context
def trigger(
    ctx: click.Context, /, *, dag: str, given: Sequence[str], whole: str | None, once: str | None, at: str | None,
    queue: str | None, priority: int | None, timeout: str | None, tags: Sequence[str], wait: bool, where: Where,
    as_json: bool,
) -> None:  # fmt: skip
    """Start a run of a DAG, by its name or id, paused or not."""
    limit = None if timeout is None else durations.parse(timeout, name="--timeout").total_seconds()
    body = {
        "params": _params(given, whole), "config": {"queue": queue, "priority": priority, "timeout_seconds": limit},
        "idempotency_key": once, "scheduled_time": None if at is None else listing.moment(at, name="--at").isoformat(),
        "tags": list(tags),
    }  # fmt: skip

    async def act() -> tuple[Any, int]:
        async with connecting.connected(where) as client:
            run = await client.post(clients.path("/v1/dags/{}/trigger", dag), body)
            if wait:
                return await _watched(client, run["dag_run_id"], every=0.2, as_json=as_json)
            return run, 0

    run, code = loop.run(act())
    if not wait:
        output.write_json(run) if as_json else click.echo(f"{run['dag_run_id']}  {run['status']}")
    ctx.exit(code)


@click.command(epilog="Example: weft dag runs nightly --status FAILED")
@click.argument("dag")
@click.option("--status", type=click.Choice(STATUSES), help="Only those.")
@listing.limit(50)
@showing.watching
@connecting.options
@output.as_json
def runs(
    *, dag: str, status: str | None, limit: int, watch: bool, every: float, where: Where, as_json: bool
) -> None:
    """Show runs of a DAG, newest first."""

    async def look(client: Client) -> Gathered:
        query = {} if status is None else {"status": status}
        return await listing.gather(client, clients.path("/v1/dags/{}/runs", dag), query=query, most=limit)

    showing.present(look, dag_view.runs, where=where, every=every if watch else None, as_json=as_json)


@click.command(epilog="\b\nExamples:\n  weft dag show 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55\n"
                      "  weft dag show 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55 --watch")  # fmt: skip
@run_id
@click.option("-w", "--watch", is_flag=True, help="Draw it again and again until it ends; exit 1 unless it completes.")
@click.option("--every", type=click.FloatRange(0.1, 3600), default=0.5, show_default=True, metavar="SECONDS",
              help="With --watch: how often.")  # fmt: skip
@connecting.options
@output.as_json
@click.pass_context
def show(ctx: click.Context, /, *, id: str, watch: bool, every: float, where: Where, as_json: bool) -> None:
    """Draw a run: its tasks, how they stand, and why it does not go on."""
    wanted = connecting.an_id(id, of="run")

    async def act() -> tuple[Any, int]:
        async with connecting.connected(where) as client:
            if watch:
                return await _watched(client, wanted, every=every, as_json=as_json)
            return await _look(client, wanted), 0

    code = 0
    with contextlib.suppress(KeyboardInterrupt):
        found, code = loop.run(act())
        if not watch:
            output.write_json(found) if as_json else output.console().print(dag_view.run(found))
    ctx.exit(code)


@click.command(epilog="Example: weft dag explain 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@run_id
@connecting.options
@output.as_json
def explain(*, id: str, where: Where, as_json: bool) -> None:
    """Say why a run does not go on."""
    path = clients.path("/v1/dag-runs/{}/explain", connecting.an_id(id, of="run"))
    showing.explain(lambda client: client.get(path), where=where, as_json=as_json)


@click.command(epilog="Example: weft dag rerun 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@run_id
@connecting.options
@output.as_json
def rerun(*, id: str, where: Where, as_json: bool) -> None:
    """Run again what failed in a run, and all that hangs on it."""
    _do(id, "rerun", None, where=where, as_json=as_json)


@click.command(epilog="Example: weft dag clear 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55 transform load")
@run_id
@click.argument("tasks", metavar="TASK...", nargs=-1, required=True)
@connecting.options
@output.as_json
def clear(*, id: str, tasks: Sequence[str], where: Where, as_json: bool) -> None:
    """Run tasks of a run again, however they ended, and all after them."""
    _do(id, "clear", {"tasks": list(tasks)}, where=where, as_json=as_json)


@click.command(epilog="\b\nExamples:\n  weft dag mark 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55 extract COMPLETED\n"
                      "  weft dag mark 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55 extract FAILED")  # fmt: skip
@run_id
@click.argument("task")
@click.argument("status", type=click.Choice(["COMPLETED", "FAILED"]))
@click.option("--output", "said", metavar="JSON", help="What tasks after it see as its output.")
@connecting.options
@output.as_json
def mark(*, id: str, task: str, status: str, said: str | None, where: Where, as_json: bool) -> None:
    """Say how a task of a run ended, and let the run go on from there."""
    body = {"task": task, "status": status, "output": None if said is None else given.value(said, "--output")}
    _do(id, "mark", body, where=where, as_json=as_json)


@click.command(epilog="Example: weft dag cancel 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@run_id
@connecting.options
@output.as_json
def cancel(*, id: str, where: Where, as_json: bool) -> None:
    """End a run: nothing more of it is started, and what runs is told."""
    _do(id, "cancel", None, where=where, as_json=as_json)


@click.command(epilog="Example: weft dag pause-run 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@run_id
@connecting.options
@output.as_json
def pause_run(*, id: str, where: Where, as_json: bool) -> None:
    """Let nothing more of a run start; what runs already ends."""
    _do(id, "pause", None, where=where, as_json=as_json)


@click.command(epilog="Example: weft dag resume-run 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@run_id
@connecting.options
@output.as_json
def resume_run(*, id: str, where: Where, as_json: bool) -> None:
    """Let a paused run go on."""
    _do(id, "resume", None, where=where, as_json=as_json)


COMMANDS = (trigger, runs, show, explain, rerun, clear, mark, cancel, pause_run, resume_run)


def _do(id: str, verb: str, body: Any, *, where: Where, as_json: bool) -> None:
    wanted = connecting.an_id(id, of="run")

    async def look(client: Client) -> Any:
        return await client.post(clients.path(f"/v1/dag-runs/{{}}/{verb}", wanted), body)

    def shown(found: Any) -> RenderableType:
        run = found.get("run", found)
        again = f": {', '.join(found['tasks'])}" if "tasks" in found else ""
        return dag_view.line(f"{run['dag_run_id']}  {run['state']}{again}")

    showing.present(look, shown, where=where, every=None, as_json=as_json)


async def _look(client: Client, id: str) -> Any:
    """A run with all its tasks, what each waits for, and why it does not go on."""
    run = await client.get(clients.path("/v1/dag-runs/{}", id))
    if run["more_task_instances"]:
        pages = client.pages(clients.path("/v1/dag-runs/{}/tasks", id))
        run = {**run, "task_instances": [one async for one in pages], "more_task_instances": False}
    waits: dict[str, list[str]] = {}
    with contextlib.suppress(errors.NotFound):
        dag = await client.get(clients.path("/v1/dags/{}", run["dag_id"]))
        if dag["version"] == run["version"]:
            waits = {one["name"]: one["dependencies"] for one in dag["tasks"]}
    why = []
    if run["status"] not in _OVER:
        why = (await client.get(clients.path("/v1/dag-runs/{}/explain", id)))["reasons"]
    return {**run, "dependencies": waits, "reasons": why}


async def _watched(client: Client, id: str, *, every: float, as_json: bool) -> tuple[Any, int]:
    """Draws a run until it ends: in place on a terminal, else a line for each change."""
    console = output.console()
    seen: dict[str, str] = {}
    drawn = Live(console=console, auto_refresh=False, vertical_overflow="visible")
    with drawn if console.is_terminal and not as_json else contextlib.nullcontext():
        while True:
            found = await _look(client, id)
            over = found["status"] in _OVER
            if as_json:
                click.echo(showing.compact(found))
            elif console.is_terminal:
                drawn.update(dag_view.run(found), refresh=True)
            else:
                for one in found["task_instances"]:
                    if seen.get(one["name"]) != one["state"] and one["state"] != "pending":
                        click.echo(f"{showing.plain(one['name'])}  {one['state']}")
                    seen[one["name"]] = one["state"]
            if over:
                break
            await asyncio.sleep(every)
    if not as_json and not console.is_terminal:
        console.print(dag_view.run(found))
    return found, 0 if found["status"] == "COMPLETED" else 1


def _params(single: Sequence[str], whole: str | None) -> dict[str, Any]:
    found = {} if whole is None else given.mapping(whole, "--params")
    for one in single:
        name, equals, value = one.partition("=")
        if not equals:
            raise errors.InvalidInput(f"-p {one!r} is not NAME=VALUE")
        try:
            found[name] = json.parsed(value, what=f"-p {name}")
        except ValueError:
            found[name] = value
    return found
