"""`weft user`: the people of an org, as the configured issuer of tokens knows them."""

import uuid
from typing import Any

import click
from rich.console import RenderableType

from weft.base import errors
from weft.cli import connecting, listing, loop, output, showing
from weft.cli.connecting import Where
from weft.cli.listing import Gathered, Listing
from weft.client import client as clients
from weft.client.client import Client

ROLES = ("reader", "writer", "admin")


@click.group(cls=Listing)
def user() -> None:
    """Look at an org's users, make, change and remove them. `weft user` alone lists."""


@user.command(name="list", epilog="\b\nExamples:\n  weft user list\n  weft user list --role finance")
@click.option("--role", metavar="SLUG", help="Only who has this role of the org's own.")
@listing.limit(100)
@connecting.options
@output.as_json
def list_users(*, role: str | None, limit: int, where: Where, as_json: bool) -> None:
    """Show users, newest first."""

    async def look(client: Client) -> Gathered:
        return await listing.gather(client, "/v1/users", query={} if role is None else {"role": role}, most=limit)

    showing.present(look, _table, where=where, every=None, as_json=as_json)


@user.command(epilog="Example: weft user show ada@example.com")
@click.argument("which", metavar="USER")
@connecting.options
@output.as_json
def show(*, which: str, where: Where, as_json: bool) -> None:
    """Show a USER by id or email."""

    async def look(client: Client) -> Any:
        return await client.get(clients.path("/v1/users/{}", await found(client, which)))

    showing.present(look, lambda one: _table(Gathered([one])), where=where, every=None, as_json=as_json)


@user.command(epilog="Example: weft user create 'auth0|5f7c' --role writer --email ada@example.com")
@click.argument("external_id")
@click.option("--role", type=click.Choice(ROLES), required=True,
              help="reader looks, writer enqueues and steers, admin also lets others in.")  # fmt: skip
@click.option("--email", metavar="ADDRESS", help="How people know them.")
@connecting.options
@output.as_json
def create(*, external_id: str, role: str, email: str | None, where: Where, as_json: bool) -> None:
    """Make a user: EXTERNAL_ID is the `sub` of their tokens."""
    body = {"external_id": external_id, "role": role, "email": email}

    async def made() -> Any:
        async with connecting.connected(where) as client:
            return await client.post("/v1/users", body)

    _say(loop.run(made()), as_json=as_json)


@user.command(epilog="Example: weft user change ada@example.com --role admin")
@click.argument("which", metavar="USER")
@click.option("--role", type=click.Choice(ROLES), help="What they may do from now on.")
@click.option("--email", metavar="ADDRESS", help="How people know them; none: no longer so.")
@connecting.options
@output.as_json
def change(*, which: str, role: str | None, email: str | None, where: Where, as_json: bool) -> None:
    """Change what a USER (id or email) may do. It holds everywhere within a second."""
    body: dict[str, Any] = {} if role is None else {"role": role}
    if email is not None:
        body["email"] = None if email == "none" else email
    if not body:
        raise click.UsageError("say what to change: --role or --email")

    async def changed() -> Any:
        async with connecting.connected(where) as client:
            return await client.patch(clients.path("/v1/users/{}", await found(client, which)), body)

    _say(loop.run(changed()), as_json=as_json)


@user.command(epilog="Example: weft user remove ada@example.com")
@click.argument("which", metavar="USER")
@connecting.options
@output.as_json
def remove(*, which: str, where: Where, as_json: bool) -> None:
    """Remove a USER (id or email): their tokens open nothing any more, everywhere within a second."""

    async def removed() -> None:
        async with connecting.connected(where) as client:
            await client.delete(clients.path("/v1/users/{}", await found(client, which)))

    loop.run(removed())
    output.write_json({"removed": which}) if as_json else click.echo(f"removed {which}")


async def found(client: Client, which: str) -> str:
    """The id of a user by their email, or as it was given."""
    try:
        return str(uuid.UUID(which))
    except ValueError:
        pass
    if "@" not in which:
        raise errors.InvalidInput(f"{which!r} is neither an email nor the id of a user")
    listed = [one async for one in client.pages("/v1/users", query={"email": which}, most=2)]
    if len(listed) != 1:
        raise errors.NotFound(f"{'no user has' if not listed else 'several users have'} the email {which}; give an id")
    return str(listed[0]["id"])


def _say(one: Any, *, as_json: bool) -> None:
    output.write_json(one) if as_json else click.echo(f"{one['email'] or one['external_id']} is {one['role']} ({one['id']})")


def _table(listed: Gathered) -> RenderableType:
    rows = [
        (one["id"], one["email"], one["external_id"], one["role"], ", ".join(one["org_roles"]),
         output.moment(one["created_at"]))
        for one in listed.items
    ]  # fmt: skip
    return output.rows(("id", "email", "external id", "role", "org's roles", "since"), rows, empty="no users yet")
