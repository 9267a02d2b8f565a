"""`weft role`: roles that an org makes up itself, and who has them."""

from typing import Any

import click
from rich.console import RenderableType

from weft.cli import connecting, listing, loop, output, showing
from weft.cli import user as users
from weft.cli.connecting import Where
from weft.cli.listing import Gathered, Listing
from weft.client import client as clients
from weft.client.client import Client


@click.group(cls=Listing)
def role() -> None:
    """Make roles of the org's own (role:finance) and assign them. `weft role` alone lists."""


@role.command(name="list", epilog="Example: weft role list")
@listing.limit(100)
@connecting.options
@output.as_json
def list_roles(*, limit: int, where: Where, as_json: bool) -> None:
    """Show the org's own roles."""

    async def look(client: Client) -> Gathered:
        return await listing.gather(client, "/v1/roles", query={}, most=limit)

    showing.present(look, _table, where=where, every=None, as_json=as_json)


@role.command(epilog="Example: weft role show finance")
@click.argument("slug")
@connecting.options
@output.as_json
def show(*, slug: str, where: Where, as_json: bool) -> None:
    """Show a role. Who has it: `weft user list --role SLUG`."""

    async def look(client: Client) -> Any:
        return await client.get(clients.path("/v1/roles/{}", slug))

    showing.present(look, lambda one: _table(Gathered([one])), where=where, every=None, as_json=as_json)


@role.command(epilog="Example: weft role create finance --name Finance")
@click.argument("slug")
@click.option("--name", metavar="NAME", help="What people call it. Default: its slug.")
@connecting.options
@output.as_json
def create(*, slug: str, name: str | None, where: Where, as_json: bool) -> None:
    """Make a role called SLUG; lists of who may see what name it role:SLUG."""

    async def made() -> Any:
        async with connecting.connected(where) as client:
            return await client.post("/v1/roles", {"slug": slug, "name": name or slug})

    answer = loop.run(made())
    output.write_json(answer) if as_json else click.echo(f"made role:{answer['slug']}")


@role.command(epilog="Example: weft role remove finance")
@click.argument("slug")
@connecting.options
@output.as_json
def remove(*, slug: str, where: Where, as_json: bool) -> None:
    """Remove a role: whoever had it has it no more."""

    async def removed() -> None:
        async with connecting.connected(where) as client:
            await client.delete(clients.path("/v1/roles/{}", slug))

    loop.run(removed())
    output.write_json({"removed": slug}) if as_json else click.echo(f"removed role:{slug}")


@role.command(epilog="Example: weft role assign finance ada@example.com")
@click.argument("slug")
@click.argument("which", metavar="USER")
@connecting.options
@output.as_json
def assign(*, slug: str, which: str, where: Where, as_json: bool) -> None:
    """Give a USER (id or email) a role."""

    async def assigned() -> None:
        async with connecting.connected(where) as client:
            await client.put(clients.path("/v1/roles/{}/members/{}", slug, await users.found(client, which)))

    loop.run(assigned())
    output.write_json({"assigned": slug, "user": which}) if as_json else click.echo(f"{which} has role:{slug}")


@role.command(epilog="Example: weft role unassign finance ada@example.com")
@click.argument("slug")
@click.argument("which", metavar="USER")
@connecting.options
@output.as_json
def unassign(*, slug: str, which: str, where: Where, as_json: bool) -> None:
    """Take a role from a USER (id or email)."""

    async def unassigned() -> None:
        async with connecting.connected(where) as client:
            await client.delete(clients.path("/v1/roles/{}/members/{}", slug, await users.found(client, which)))

    loop.run(unassigned())
    output.write_json({"unassigned": slug, "user": which}) if as_json else click.echo(f"{which} no longer has role:{slug}")


def _table(listed: Gathered) -> RenderableType:
    rows = [(f"role:{one['slug']}", one["name"], one["members"], output.moment(one["created_at"])) for one in listed.items]
    return output.rows(("role", "name", "members", "since"), rows, empty="no roles of the org's own yet")
