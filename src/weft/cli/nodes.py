"""`weft nodes`: the processes that are Weft's: workers and servers."""

from typing import Any

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from weft.base import errors
from weft.cli import connecting, listing, output, showing
from weft.cli.connecting import Where
from weft.cli.listing import Gathered, Listing
from weft.client import client as clients
from weft.client.client import Client

STATUSES = ("starting", "active", "draining", "dead")


@click.group(cls=Listing)
def nodes() -> None:
    """Look at the processes that are Weft's: workers and servers. `weft nodes` alone lists."""


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
    try:
        wanted = connecting.task_id(id)
    except errors.InvalidInput:
        raise errors.InvalidInput(f"{id!r} is not a node id (a UUID); `weft nodes` shows them") from None

    async def look(client: Client) -> Any:
        return await client.get(clients.path("/v1/nodes/{}", wanted))

    showing.present(look, _one, where=where, every=every if watch else None, as_json=as_json)


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
