"""`weft key`: the keys that open the API."""

from typing import Any

import click

from weft.base import durations
from weft.cli import connecting, loop, output
from weft.cli.connecting import Where
from weft.client import client

ROLES = ("reader", "writer", "admin", "operator", "worker")


@click.group(epilog="\b\nExample:\n  weft key create deploy --role writer --expires 90d")
def key() -> None:
    """Make, list and revoke the keys that open the API."""


@key.command(epilog="\b\nExamples:\n  weft key create deploy --role writer\n  weft key create builder --role worker --json")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True,
              help="reader looks, writer enqueues and steers, admin also lets others in, operator also runs orgs, "
                   "worker runs tasks.")  # fmt: skip
@click.option("--expires", metavar="DURATION", help="After so long it opens nothing: 12h, 90d. Default: never.")
@click.option("--scope", "scopes", metavar="ACTION", multiple=True,
              help="Hold it to this action of its role, task.read or task.*; may be given again.")  # fmt: skip
@click.option("--request-rate", type=click.IntRange(1, 1_000_000), metavar="N", help="Requests a second.")
@click.option("--request-burst", type=click.IntRange(1, 1_000_000), metavar="N", help="Requests at once.")
@output.as_json
@connecting.options
def create(
    *, name: str, role: str, expires: str | None, scopes: tuple[str, ...], request_rate: int | None,
    request_burst: int | None, as_json: bool, where: Where,
) -> None:  # fmt: skip
    """Make a key called NAME and print it: it cannot be shown again."""
    body: dict[str, Any] = {"name": name, "role": role, "scopes": list(scopes)}
    body |= {"request_rate": request_rate, "request_burst": request_burst}
    if expires is not None:
        body["expires_in"] = durations.parse(expires, name="--expires").total_seconds()
    made = loop.run(_post(where, body))
    if as_json:
        output.write_json(made)
        return
    click.echo(made["key"])
    click.echo("Keep it: it is not shown again.", err=True)


@key.command("list", epilog="\b\nExample:\n  weft key list")
@output.as_json
@connecting.options
def list_keys(*, as_json: bool, where: Where) -> None:
    """List the org's keys, newest first, without their secrets."""
    found = loop.run(_list(where))
    if as_json:
        output.write_json(found)
        return
    rows = [
        (one["id"], one["name"], one["role"], ", ".join(one["scopes"]), f"{one['prefix']}…", _state(one),
         output.moment(one["last_used_at"]))
        for one in found
    ]  # fmt: skip
    headings = ("id", "name", "role", "scopes", "key", "state", "last used")
    output.console().print(output.rows(headings, rows, empty="no keys yet"))


@key.command(epilog="\b\nExample:\n  weft key revoke 01890f3e-7b2c-7cc0-98c4-dc0c0c07398f")
@click.argument("id", type=click.UUID)
@output.as_json
@connecting.options
def revoke(*, id: object, as_json: bool, where: Where) -> None:
    """Revoke the key with this ID: it opens nothing any more, everywhere within a second."""
    gone = loop.run(_delete(where, str(id)))
    if as_json:
        output.write_json(gone)
    else:
        click.echo(f"revoked {gone['name']} ({gone['prefix']}…)")


async def _post(where: Where, body: dict[str, Any]) -> Any:
    async with connecting.connected(where) as server:
        return await server.post("/v1/keys", body)


async def _list(where: Where) -> list[Any]:
    async with connecting.connected(where) as server:
        return [one async for one in server.pages("/v1/keys")]


async def _delete(where: Where, id: str) -> Any:
    async with connecting.connected(where) as server:
        return await server.delete(client.path("/v1/keys/{}", id))


def _state(one: dict[str, Any]) -> str:
    if one["revoked_at"] is not None:
        return f"revoked {output.moment(one['revoked_at'])}"
    return "valid" if one["expires_at"] is None else f"until {output.moment(one['expires_at'])}"
