"""`weft runner`: runs of AFL's workflows: start them, watch them, steer and mend them."""

import uuid
from collections.abc import Callable
from typing import Any, TypeVar

import click
from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from weft.base import errors
from weft.cli import connecting, listing, loop, output, showing
from weft.cli.connecting import Where
from weft.cli.listing import Gathered, Listing
from weft.cli.run import given, run_id
from weft.client import client as clients
from weft.client.client import Client

F = TypeVar("F", bound=Callable[..., Any])

STATES = ("created", "running", "paused", "completed", "failed", "cancelled")
_ID = "0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55"
_STEP = "0198c5f0-2f6e-7c3a-9d43-3b1f8d3c1a56"


@click.group(cls=Listing)
def runner() -> None:
    """Start runs of AFL's workflows, watch them, steer and mend them. `weft runner` alone lists."""


@runner.command(name="list", epilog="\b\nExamples:\n  weft runner list --watch\n  weft runner list --state failed")
@click.option("--state", "states", multiple=True, type=click.Choice(STATES), help="Only of this state. Repeatable.")
@click.option("--workflow", metavar="NAME", help="Only runs of this workflow, by its qualified name.")
@listing.limit()
@showing.watching
@connecting.options
@output.as_json
def list_runners(
    *, states: tuple[str, ...], limit: int, watch: bool, every: float, where: Where, as_json: bool, **given: Any
) -> None:
    """Show runs of workflows, newest first."""
    query = listing.filters({**given, "state": list(states) or None})

    async def look(client: Client) -> Gathered:
        return await listing.gather(client, "/v1/runners", query=query, most=limit)

    showing.present(look, _table, where=where, every=every if watch else None, as_json=as_json)


@runner.command(epilog="\b\nExamples:\n  weft runner start hello SayHello '{\"name\": \"Ada\"}'\n"
                       "  weft runner start geo --task-list slow --idempotency-key 2026-01-15")  # fmt: skip
@click.argument("flow")
@click.argument("workflow", required=False)
@click.argument("params", metavar="[JSON]", required=False)
@click.option("--task-list", metavar="QUEUE", help="The queue that its work goes to.")
@click.option("--idempotency-key", metavar="KEY", help="A run of this workflow with this key is started only once.")
@connecting.options
@output.as_json
def start(
    *, flow: str, workflow: str | None, params: str | None, task_list: str | None, idempotency_key: str | None,
    where: Where, as_json: bool,
) -> None:  # fmt: skip
    """Start a run of a WORKFLOW of a FLOW, and print its id. A flow with one workflow needs no name of it."""
    body = {
        "flow": flow, "workflow": workflow, "params": given(params, what="PARAMS") or {}, "task_list": task_list,
        "idempotency_key": idempotency_key,
    }  # fmt: skip
    _post("/v1/runners", body, said=None, where=where, as_json=as_json)


@runner.command(epilog=f"\b\nExamples:\n  weft runner show {_ID}\n  weft runner show {_ID} --watch")
@click.argument("id")
@showing.watching
@connecting.options
@output.as_json
def show(*, id: str, watch: bool, every: float, where: Where, as_json: bool) -> None:
    """A run as the tree of its steps, with their ids; live with --watch."""
    wanted = run_id(id)

    async def look(client: Client) -> Any:
        found = await client.get(clients.path("/v1/runners/{}", wanted))
        return {**found, **await client.get(clients.path("/v1/runners/{}/tree", wanted))}

    showing.present(look, _shown, where=where, every=every if watch else None, as_json=as_json)


@runner.command(epilog=f"Example: weft runner explain {_ID}")
@click.argument("id")
@connecting.options
@output.as_json
def explain(*, id: str, where: Where, as_json: bool) -> None:
    """Say why a run does not go on."""
    path = clients.path("/v1/runners/{}/explain", run_id(id))
    showing.explain(lambda client: client.get(path), where=where, as_json=as_json)


@runner.command(epilog=f"Example: weft runner pause {_ID}")
@click.argument("id")
@connecting.options
@output.as_json
def pause(*, id: str, where: Where, as_json: bool) -> None:
    """Start nothing more of a run; what runs already ends."""
    _post(clients.path("/v1/runners/{}/pause", run_id(id)), None, said="paused", where=where, as_json=as_json)


@runner.command(epilog=f"Example: weft runner resume {_ID}")
@click.argument("id")
@connecting.options
@output.as_json
def resume(*, id: str, where: Where, as_json: bool) -> None:
    """Let a paused run go on."""
    _post(clients.path("/v1/runners/{}/resume", run_id(id)), None, said="it goes on", where=where, as_json=as_json)


@runner.command(epilog=f"Example: weft runner cancel {_ID}")
@click.argument("id")
@connecting.options
@output.as_json
def cancel(*, id: str, where: Where, as_json: bool) -> None:
    """End a run: nothing more of it is started, and what runs is told."""
    _post(clients.path("/v1/runners/{}/cancel", run_id(id)), None, said="cancelled", where=where, as_json=as_json)


@runner.command(epilog=f"\b\nExamples:\n  weft runner repair {_ID} --dry-run\n  weft runner repair {_ID}")
@click.argument("id")
@click.option("--dry-run", is_flag=True, help="Only say what would be done again.")
@connecting.options
@output.as_json
def repair(*, id: str, dry_run: bool, where: Where, as_json: bool) -> None:
    """Do again what failed in a run; what went well is kept."""
    _post(clients.path("/v1/runners/{}/repair", run_id(id)), {"dry_run": dry_run}, said="", where=where, as_json=as_json)


@runner.command(epilog=f"Example: weft runner retry {_ID} {_STEP}")
@click.argument("id")
@click.argument("step")
@connecting.options
@output.as_json
def retry(*, id: str, step: str, where: Where, as_json: bool) -> None:
    """Do a failed step again, or what failed in the block it opened."""
    _post(_of_step(id, step, "retry"), None, said="", where=where, as_json=as_json)


@runner.command(epilog=f"Example: weft runner rerun {_ID} {_STEP}")
@click.argument("id")
@click.argument("step")
@connecting.options
@output.as_json
def rerun(*, id: str, step: str, where: Where, as_json: bool) -> None:
    """Run again from a step on, however it ended."""
    _post(_of_step(id, step, "rerun"), None, said="", where=where, as_json=as_json)


@runner.command(epilog=f"Example: weft runner reset {_ID} {_STEP}")
@click.argument("id")
@click.argument("step")
@connecting.options
@output.as_json
def reset(*, id: str, step: str, where: Where, as_json: bool) -> None:
    """Run the block that a step has opened from its beginning."""
    _post(_of_step(id, step, "reset"), None, said="", where=where, as_json=as_json)


@runner.command(epilog=f"\b\nExamples:\n  weft runner mark {_ID} {_STEP} completed '{{\"greeting\": \"hi\"}}'\n"
                       f"  weft runner mark {_ID} {_STEP} failed")  # fmt: skip
@click.argument("id")
@click.argument("step")
@click.argument("state", type=click.Choice(["completed", "failed"]))
@click.argument("result", metavar="[JSON]", required=False)
@connecting.options
@output.as_json
def mark(*, id: str, step: str, state: str, result: str | None, where: Where, as_json: bool) -> None:
    """Say how a step ended; the run goes on from there."""
    body = {"state": state, "output": given(result, what="OUTPUT")}
    _post(_of_step(id, step, "mark"), body, said=f"marked as {state}", where=where, as_json=as_json)


def _of_step(id: str, step: str, verb: str) -> str:
    try:
        wanted = str(uuid.UUID(step))
    except ValueError:
        raise errors.InvalidInput(f"{step!r} is not a step id (a UUID); `weft runner show` has them") from None
    return clients.path(f"/v1/runners/{{}}/steps/{{}}/{verb}", run_id(id), wanted)


def _post(path: str, body: Any, *, said: str | None, where: Where, as_json: bool) -> None:
    async def act() -> Any:
        async with connecting.connected(where) as client:
            return await client.post(path, body)

    answer = loop.run(act())
    if as_json:
        output.write_json(answer)
    elif "steps" in answer:
        for one in answer["steps"]:
            click.echo(f"{one['id']}  {showing.plain(one['path'])}  {one['state']}  {showing.plain(one['error'] or '')}")
        if not answer["steps"]:
            click.echo("nothing")
    else:
        click.echo(answer["id"] if said is None else said)


def _table(found: Gathered) -> RenderableType:
    rows = [
        (one["id"], output.moment(one["created_at"]), one["name"], showing.run_state(one)) for one in found.items
    ]
    table = output.rows(("id", "made", "workflow", ""), rows, empty="no runs")
    return Group(table, Text(note, style="dim")) if (note := showing.more(found)) else table


def _shown(found: Any) -> RenderableType:
    tree = Tree(Text.assemble(f"{found['name']}  ", showing.run_state(found)))
    for one in found["steps"]:
        _add(tree, one)
    if found["more"]:
        tree.add(Text("… and more", style="dim"))
    for name in ("output", "error"):
        if found[name] is not None:
            told = found[name].get("message") if name == "error" else showing.compact(found[name])
            tree.add(Text(f"{name}: {showing.plain(told or '')}", style="red" if name == "error" else ""))
    return tree


def _add(tree: Tree, one: Any) -> None:
    name = one["node"] + (f"[{one['element']}]" if one["element"] >= 0 else "") + (" (catch)" if one["catching"] else "")
    wrong = (one["error"] or {}).get("message", "")
    line = Text.assemble(showing.plain(name), "  ", showing.state(one["state"]), f"  {showing.plain(wrong)[:100]}  ",
                         Text(one["id"], style="dim"))  # fmt: skip
    branch = tree.add(line)
    for inner in one["steps"]:
        _add(branch, inner)
