"""`weft run`: runs of DAGs and workflows, and what can be done to those of workflows."""

import asyncio
import time
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from weft.base import errors, json
from weft.cli import connecting, listing, loop, output, showing
from weft.cli.connecting import Where
from weft.cli.listing import Gathered, Listing
from weft.client import client as clients
from weft.client.client import Client
from weft.flows.model import OVER

as_json = click.option("--json", "as_json", is_flag=True, help="Write JSON.")
STATES = (
    "created", "running", "waiting", "paused", "completed", "failed", "compensating", "compensated", "cancelled", "blocked",
)  # fmt: skip
_ID = "0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55"


@click.group(cls=Listing)
def run() -> None:
    """Look at runs, send them signals, cancel, pause, retry and fork them. `weft run` alone lists."""


@run.command(name="list", epilog="\b\nExamples:\n  weft run list --watch\n  weft run list --state failed --name checkout")
@click.option("--state", "states", multiple=True, type=click.Choice(STATES), help="Only of this state. Repeatable.")
@click.option("--name", metavar="NAME", help="Only runs of this workflow or DAG.")
@click.option("--kind", type=click.Choice(["workflow", "dag", "flow"]), help="Only of this kind.")
@listing.limit()
@showing.watching
@connecting.options
@as_json
def list_runs(
    *, states: tuple[str, ...], limit: int, watch: bool, every: float, where: Where, as_json: bool, **given: Any
) -> None:
    """Show runs, newest first."""
    query = listing.filters({**given, "state": list(states) or None})

    async def look(client: Client) -> Gathered:
        return await listing.gather(client, "/v1/runs", query=query, most=limit)

    showing.present(look, _table, where=where, every=every if watch else None, as_json=as_json)


@run.command(epilog=f"\b\nExamples:\n  weft run show {_ID}\n  weft run show {_ID} --watch")
@click.argument("id")
@showing.watching
@connecting.options
@as_json
def show(*, id: str, watch: bool, every: float, where: Where, as_json: bool) -> None:
    """A run as a tree of what it has done, live with --watch."""
    wanted = run_id(id)

    async def look(client: Client) -> Any:
        found = await client.get(clients.path("/v1/runs/{}", wanted))
        if found["kind"] == "workflow":
            answer = await client.get(clients.path("/v1/runs/{}/checkpoints", wanted))
            state = await client.get(clients.path("/v1/runs/{}/state", wanted))
            return {**found, "checkpoints": answer["items"], "published": state["state"], "running": state["running"]}
        path = clients.path("/v1/runs/{}/steps", wanted)
        return {**found, "steps": [step async for step in client.pages(path, most=1000)]}

    showing.present(look, _tree, where=where, every=every if watch else None, as_json=as_json)


@run.command(epilog=f"\b\nExamples:\n  weft run wait {_ID}\n  weft run wait {_ID} --for waiting --timeout 60")
@click.argument("id")
@click.option("--for", "states", multiple=True, type=click.Choice(STATES),
              help="Wait for this state, not for the end. Repeatable.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(0), default=600.0, metavar="SECONDS", help="How long to wait (600).")
@connecting.options
@as_json
def wait(*, id: str, states: tuple[str, ...], timeout: float, where: Where, as_json: bool) -> None:
    """Wait until a run has completed, or is in a state; an error, if it ends otherwise or not in time."""
    found = loop.run(_reached(run_id(id), states or ("completed",), timeout=timeout, where=where))
    output.write_json(found) if as_json else click.echo(found["state"])


@run.command(epilog=f"Example: weft run state {_ID}")
@click.argument("id")
@connecting.options
@as_json
def state(*, id: str, where: Where, as_json: bool) -> None:
    """Print what a workflow's run says of itself (`app.set_state`), as JSON."""
    path = clients.path("/v1/runs/{}/state", run_id(id))

    async def ask() -> Any:
        async with connecting.connected(where) as client:
            return await client.get(path)

    found = loop.run(ask())
    output.write_json(found) if as_json else click.echo(json.dumps(found["state"]).decode())


@run.command(epilog=f"\b\nExamples:\n  weft run signal {_ID} approval true\n  weft run signal {_ID} paid '{{\"cents\": 5}}'")
@click.argument("id")
@click.argument("name")
@click.argument("value", metavar="[JSON]", required=False)
@connecting.options
@as_json
def signal(*, id: str, name: str, value: str | None, where: Where, as_json: bool) -> None:
    """Send a signal to a workflow's run; it is kept until the run takes it."""
    body = {"name": name, "value": given(value, what="VALUE")}
    _post(id, "signal", body, said=f"sent {name}", where=where, as_json=as_json)


@run.command(epilog=f"Example: weft run update {_ID} address '\"Elm Street 5\"' --wait 60")
@click.argument("id")
@click.argument("name")
@click.argument("value", metavar="[JSON]", required=False)
@click.option("--wait", type=click.FloatRange(0, 60), default=20.0, metavar="SECONDS", help="How long to wait for it.")
@connecting.options
@as_json
def update(*, id: str, name: str, value: str | None, wait: float, where: Where, as_json: bool) -> None:
    """Send a signal to a workflow's run and print its answer; an error, if there is none in time."""
    path = clients.path("/v1/runs/{}/update", run_id(id))
    body = {"name": name, "value": given(value, what="VALUE"), "wait": wait}

    async def ask() -> Any:
        async with connecting.connected(where) as client:
            return await client.post(path, body, timeout=wait + 30)

    found = loop.run(ask())
    if as_json:
        output.write_json(found)
    elif found["answered"]:
        click.echo(json.dumps(found["value"]).decode())
    if not found["answered"]:
        raise errors.ResultTimeout(f"no answer within {wait:g} s; it may still come (update_id {found['update_id']})")


@run.command(epilog=f"\b\nExamples:\n  weft run cancel {_ID}\n  weft run cancel {_ID} --no-compensate")
@click.argument("id")
@click.option("--no-compensate", "compensate", is_flag=True, flag_value=False, default=True,
              help="Leave what it did as it is.")  # fmt: skip
@connecting.options
@as_json
def cancel(*, id: str, compensate: bool, where: Where, as_json: bool) -> None:
    """Cancel a workflow's run, and undo what it did."""
    _post(id, "cancel", {"compensate": compensate}, said="it will end", where=where, as_json=as_json)


@run.command(epilog=f"Example: weft run pause {_ID}")
@click.argument("id")
@connecting.options
@as_json
def pause(*, id: str, where: Where, as_json: bool) -> None:
    """Let a workflow's run stand still."""
    _post(id, "pause", None, said="paused", where=where, as_json=as_json)


@run.command(epilog=f"Example: weft run resume {_ID}")
@click.argument("id")
@connecting.options
@as_json
def resume(*, id: str, where: Where, as_json: bool) -> None:
    """Let a paused run go on, or one that was blocked by code that is mended now."""
    _post(id, "resume", None, said="it goes on", where=where, as_json=as_json)


@run.command(epilog=f"Example: weft run explain {_ID}")
@click.argument("id")
@connecting.options
@as_json
def explain(*, id: str, where: Where, as_json: bool) -> None:
    """Say why a run of any kind does not go on."""
    path = clients.path("/v1/runs/{}/explain", run_id(id))
    showing.explain(lambda client: client.get(path), where=where, as_json=as_json)


@run.command(epilog=f"\b\nExamples:\n  weft run repair {_ID} --dry-run\n  weft run repair {_ID}")
@click.argument("id")
@click.option("--dry-run", is_flag=True, help="Only say which steps would be done again.")
@connecting.options
@as_json
def repair(*, id: str, dry_run: bool, where: Where, as_json: bool) -> None:
    """Set a run going again that stands still, or do again what failed in a DAG's or a flow's."""
    path, body = clients.path("/v1/runs/{}/repair", run_id(id)), {"dry_run": dry_run}

    async def act() -> Any:
        async with connecting.connected(where) as client:
            return await client.post(path, body)

    found = loop.run(act())
    if as_json:
        output.write_json(found)
        return
    for one in found["steps"]:
        click.echo(showing.plain(f"{one['path']}  {one['state']}  {one['error'] or ''}".rstrip()))
    click.echo("nothing was changed" if dry_run else "it goes on")


@run.command(epilog=f"Example: weft run retry {_ID}")
@click.argument("id")
@connecting.options
@as_json
def retry(*, id: str, where: Where, as_json: bool) -> None:
    """Go on with a failed run from the step that failed."""
    _post(id, "retry", None, said="it goes on from where it failed", where=where, as_json=as_json)


@run.command(epilog=f"Example: weft run skip {_ID} ship#3 '\"by hand\"'")
@click.argument("id")
@click.argument("step")
@click.argument("result", metavar="[JSON]", required=False)
@connecting.options
@as_json
def skip(*, id: str, step: str, result: str | None, where: Where, as_json: bool) -> None:
    """Count a step that failed the run as done, with a result, and go on."""
    body = {"step": step, "result": given(result, what="RESULT")}
    _post(id, "skip", body, said=f"skipped {step}", where=where, as_json=as_json)


@run.command(epilog=f"\b\nExamples:\n  weft run fork {_ID} --step ship#3\n"
                    f"  weft run fork {_ID} --output charge#1='\"p-2\"'\n"
                    f"  weft run fork {_ID} --arguments '{{\"n\": 1}}'")  # fmt: skip
@click.argument("id")
@click.option("--step", metavar="STEP", help="Run this step and what comes after it again.")
@click.option("--arguments", metavar="JSON", help="Other arguments: everything is run again.")
@click.option("--output", "outputs", multiple=True, metavar="STEP=JSON", help="What a step shall have answered. Repeatable.")
@connecting.options
@as_json
def fork(*, id: str, step: str | None, arguments: str | None, outputs: tuple[str, ...], where: Where, as_json: bool) -> None:
    """Start a new run with the history of another up to a step, and print its id."""
    edited = {}
    for one in outputs:
        node, separator, text = one.partition("=")
        if not separator:
            raise click.UsageError(f"--output {one!r} must be STEP=JSON")
        edited[node] = given(text, what="--output")
    body = {"step": step, "arguments": given(arguments, what="--arguments"), "outputs": edited}
    _post(id, "fork", body, said=None, where=where, as_json=as_json)


@run.command(epilog=f"Example: weft run diff {_ID} 0198c5f0-3a11-7d21-8c02-9f3b7a1d2e44")
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@connecting.options
@as_json
def diff(*, left: str, right: str, where: Where, as_json: bool) -> None:
    """Compare two runs of workflows, step by step."""
    path = clients.path("/v1/runs/{}/diff/{}", run_id(left), run_id(right))

    async def look(client: Client) -> Any:
        return (await client.get(path))["items"]

    showing.present(look, _differences, where=where, every=None, as_json=as_json)


def run_id(text: str) -> str:
    """A run's id as the API takes it; InvalidInput if it is none."""
    return connecting.an_id(text, of="run")


def given(text: str | None, *, what: str) -> Any:
    """JSON of the command line."""
    if text is None:
        return None
    try:
        return json.parsed(text, what=what)
    except ValueError as error:
        raise errors.InvalidInput(f"{what} is not JSON: {error}; quote texts: '\"like this\"'") from None


async def _reached(id: str, states: tuple[str, ...], *, timeout: float, where: Where) -> Any:
    pause, ends = 0.1, time.monotonic() + timeout
    async with connecting.connected(where) as client:
        while True:
            found = await client.get(clients.path("/v1/runs/{}", id))
            if found["state"] in states:
                return found
            if found["state"] in OVER:
                raise errors.Conflict(f"the run is {found['state']}; see what became of it with: weft run show {id}")
            if time.monotonic() >= ends:
                raise errors.ResultTimeout(f"run {id} is {found['state']} after {timeout:g} s; it goes on")
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 1.0)


def _post(id: str, verb: str, body: Any, *, said: str | None, where: Where, as_json: bool) -> None:
    wanted = run_id(id)

    async def act() -> Any:
        async with connecting.connected(where) as client:
            return await client.post(clients.path(f"/v1/runs/{{}}/{verb}", wanted), body)

    answer = loop.run(act())
    if as_json:
        output.write_json(answer if answer is not None else {"id": wanted, "done": verb})
    else:
        click.echo(answer["id"] if said is None else said)


def _table(found: Gathered) -> RenderableType:
    rows = [
        (one["id"], output.moment(one["created_at"]), one["kind"], f"{one['name']} {(one['version'] or '')[:12]}",
         showing.run_state(one))
        for one in found.items
    ]  # fmt: skip
    table = output.rows(("id", "made", "kind", "of", ""), rows, empty="no runs")
    return showing.noted(table, found)


def _tree(found: Any) -> RenderableType:
    """What a run has done; branches of a gather below the place that opened them."""
    title = Text.assemble(f"{found['name']} {(found['version'] or '')[:12]}  ", showing.run_state(found))
    tree = Tree(title)
    if found.get("stalled_at") is not None:
        since = f"nothing is running and nothing is awaited, since {output.moment(found['stalled_at'])}"
        tree.add(Text(f"{since}; set it going: weft run repair {found['id']}", style="red"))
    places: dict[str, Tree] = {}
    for one in found.get("checkpoints") or [{**step, "operation": ""} for step in found.get("steps", ())]:
        _, _, position = one["node"].rpartition("#")
        branch = position.rpartition(".")[0]
        if branch not in places:
            places[branch] = tree.add(Text(branch, style="dim")) if branch else tree
        places[branch].add(_line(one))
    for node in found.get("running", ()):
        tree.add(Text.assemble(showing.plain(node), "  ", showing.state("running")))
    if found.get("published") is not None:
        tree.add(Text(f"says: {showing.plain(showing.compact(found['published']))}"))
    for name in ("output", "error"):
        if found[name] is not None:
            told = found[name].get("message") if name == "error" else showing.compact(found[name])
            tree.add(Text(f"{name}: {showing.plain(told)}", style="red" if name == "error" else ""))
    return tree


def _line(one: Any) -> Text:
    outcome = showing.compact(one["output"]) if one["output"] is not None else (one["error"] or {}).get("message", "")
    return Text.assemble(showing.plain(one["node"]), "  ", showing.state(one["state"]), f"  {showing.plain(outcome)[:100]}")


def _differences(found: Any) -> RenderableType:
    rows = [(one["node"], *(_line(one[side]) if one[side] else "–" for side in ("left", "right"))) for one in found]
    return output.rows(("step", "A", "B"), rows, empty="no differences")
