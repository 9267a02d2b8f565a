"""`weft locks`: named locks that are held."""

from typing import Any

import click
from rich.console import RenderableType

from weft.base import names
from weft.cli import connecting, listing, loop, output, showing
from weft.cli.connecting import Where
from weft.cli.listing import Gathered, Listing
from weft.client import client as clients
from weft.client.client import Client


@click.group(cls=Listing)
def locks() -> None:
    """Look at named locks that are held, and release them. `weft locks` alone lists."""


@locks.command(name="list", epilog="Example: weft locks list --watch")
@listing.limit(100)
@showing.watching
@connecting.options
@output.as_json
def list_locks(*, limit: int, watch: bool, every: float, where: Where, as_json: bool) -> None:
    """Show locks that are held, by name."""

    async def look(client: Client) -> Gathered:
        return await listing.gather(client, "/v1/locks", query={}, most=limit)

    showing.present(look, _table, where=where, every=every if watch else None, as_json=as_json)


@locks.command(epilog="Example: weft locks show nightly")
@click.argument("name")
@connecting.options
@output.as_json
def show(*, name: str, where: Where, as_json: bool) -> None:
    """Show who holds a lock."""
    wanted = names.check_key(name, what="the lock's name")

    async def look(client: Client) -> Any:
        return await client.get(clients.path("/v1/locks/{}", wanted))

    showing.present(look, lambda one: _table(Gathered([one])), where=where, every=None, as_json=as_json)


@locks.command(epilog="\b\nExamples:\n  weft locks release nightly --force\n"
                      "  weft locks release nightly --token 0f8fad5b-d9cb-469f-a165-70867728950e")  # fmt: skip
@click.argument("name")
@click.option("--token", type=click.UUID, metavar="TOKEN", help="What its holder was given.")
@click.option("--force", is_flag=True, help="Whoever holds it: its holder may still be at work. For admins.")
@connecting.options
@output.as_json
def release(*, name: str, token: object, force: bool, where: Where, as_json: bool) -> None:
    """Release a lock, with its token or by force."""
    if (token is None) is not force:
        raise click.UsageError("give the lock's --token, or --force to release it whoever holds it")
    wanted = names.check_key(name, what="the lock's name")
    query = {"force": True} if force else {"token": token}

    async def released() -> None:
        async with connecting.connected(where) as client:
            await client.delete(clients.path("/v1/locks/{}", wanted), query=query)

    loop.run(released())
    output.write_json({"released": name}) if as_json else click.echo(f"released {name}")


def _table(found: Gathered) -> RenderableType:
    rows = [
        (one["name"], one["owner"], output.moment(one["acquired_at"]), output.moment(one["expires_at"]),
         showing.compact(one["metadata"]) if one["metadata"] else "")
        for one in found.items
    ]  # fmt: skip
    return output.rows(("lock", "owner", "since", "until", ""), rows, empty="no locks are held")
