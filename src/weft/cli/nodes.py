"""`weft nodes`: the processes that are Weft's: workers and servers."""

from typing import Any

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from weft.base import errors
from weft.cli import connecting, listing, loop, output, showing
from weft.cli.connecting import Where
from weft.cli.listing import Gathered, Listing
from weft.client import client as clients
from weft.client.client import Client

STATUSES = ("starting", "active", "draining", "dead")


@click.group(cls=Listing)
def nodes() -> None:
    """Look at the processes that are Weft's, workers and servers; drain a worker. `weft nodes` alone lists."""


@nodes.command(name="list", epilog="\b\nExamples:\n  weft nodes list --watch\n  weft nodes list --status dead")
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES),
              help="Only of this status; all but dead if not given. Repeatable.")  # fmt: skip
@listing.limit(100)
@showing.watching
@connecting.options
@output.as_json
def list_nodes(
    *, statuses: tuple[str, ...], limit: int, watch: bool, every: float, where: Where, as_json: bool
) -> None:
    """Show nodes, the youngest first."""
    query = {"status": list(statuses)} if statuses else {}

    async def look(client: Client) -> Gathered:
        return await listing.gather(client, "/v1/nodes", query=query, most=limit)

    showing.present(look, _table, where=where, every=every if watch else None, as_json=as_json)


@nodes.command(epilog="Example: weft nodes show 0f8fad5b-d9cb-469f-a165-70867728950e")
@click.argument("id")
@showing.watching
@connecting.options
@output.as_json
def show(*, id: str, watch: bool, every: float, where: Where, as_json: bool) -> None:
    """Everything about one node."""
    wanted = _id(id)

    async def look(client: Client) -> Any:
        return await client.get(clients.path("/v1/nodes/{}", wanted))

    showing.present(look, _one, where=where, every=every if watch else None, as_json=as_json)


@nodes.command(epilog="Example: weft nodes drain 0f8fad5b-d9cb-469f-a165-70867728950e")
@click.argument("id")
@connecting.options
@output.as_json
def drain(*, id: str, where: Where, as_json: bool) -> None:
    """Let a worker take no more tasks, end those it has, and stop.

    What it cannot end within its --grace is given back and run elsewhere. A worker over HTTP gets nothing more; stop it
    yourself. There is no way back: start another one.
    """
    wanted = _id(id)

    async def drained() -> Any:
        async with connecting.connected(where) as client:
            return await client.post(clients.path("/v1/nodes/{}/drain", wanted))

    node = loop.run(drained())
    said = f"{node['hostname']}:{node['pid']} drains; tasks it still runs: {node['running']}"
    output.write_json(node) if as_json else click.echo(said)


def _id(text: str) -> str:
    try:
        return connecting.task_id(text)
    except errors.InvalidInput:
        raise errors.InvalidInput(f"{text!r} is not a node id (a UUID); `weft nodes` shows them") from None


def _table(found: Gathered) -> RenderableType:
    rows = [
        (
            one["id"], f"{one['hostname']}:{one['pid']}", showing.state(one["status"]), ", ".join(one["roles"]),
            ", ".join(one["queues"]) or ("all" if "worker" in one["roles"] else ""),
            f"{one['running']}/{one['concurrency']}" if one["concurrency"] else "",
            f"{output.span(one['beat_age'])} ago", output.moment(one["started_at"]), one["version"],
        )
        for one in found.items
    ]  # fmt: skip
    names = ("id", "process", "status", "roles", "queues", "running", "beat", "started", "version")
    return output.rows(names, rows, empty="no nodes: start a worker (weft worker MODULE:APP) or a server (weft server)")


def _one(node: Any) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for name, value in node.items():
        if value not in (None, [], {}):
            shown = ", ".join(value) if isinstance(value, list) else value
            table.add_row(Text(name, style="dim"), showing.value(name, shown))
    return table
