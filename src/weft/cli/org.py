"""`weft org`: orgs, their quotas, and whether they may come in."""

import uuid
from typing import Any

import click
import msgspec
from rich.console import RenderableType

from weft.base import durations, errors, json
from weft.cli import connecting, listing, loop, output, showing
from weft.cli.connecting import Where
from weft.cli.listing import Gathered, Listing
from weft.client import client as clients
from weft.client.client import Client

TIERS = ("free", "standard", "enterprise")


def _quotas(command: Any) -> Any:
    """Adds the options that `create` and `change` share; `none` lifts a limit."""
    known = (
        ("--tier", "TIER", f"{', '.join(TIERS)}: brings quotas, but for those given here."),
        ("--max-jobs", "N", "How many jobs it may have; none: no limit."),
        ("--max-concurrent", "N", "How many of its tasks run at once; none: no limit."),
        ("--request-rate", "N", "Requests a second over HTTP; none: the server's own."),
        ("--request-burst", "N", "Requests at once; none: the server's own."),
        ("--weight", "N", "Its share of turns when orgs compete, 1-100."),
        ("--retention", "DURATION", "How long finished tasks are kept, e.g. 30d; none: as the server says."),
        ("--settings", "JSON", "An object of your own."),
    )
    for name, metavar, meaning in reversed(known):
        command = click.option(name, metavar=metavar, help=meaning)(command)
    return command


@click.group(cls=Listing)
def org() -> None:
    """Look at orgs, make, limit and suspend them. `weft org` alone lists."""


@org.command(name="list", epilog="Example: weft org list")
@listing.limit(100)
@connecting.options
@output.as_json
def list_orgs(*, limit: int, where: Where, as_json: bool) -> None:
    """Show your org; to operators every org."""

    async def look(client: Client) -> Gathered:
        return await listing.gather(client, "/v1/orgs", query={}, most=limit)

    showing.present(look, _table, where=where, every=None, as_json=as_json)


@org.command(epilog="Example: weft org show example")
@click.argument("slug")
@connecting.options
@output.as_json
def show(*, slug: str, where: Where, as_json: bool) -> None:
    """Show an org by its SLUG or id."""

    async def look(client: Client) -> Any:
        return await client.get(clients.path("/v1/orgs/{}", await found(client, slug)))

    showing.present(look, _details, where=where, every=None, as_json=as_json)


@org.command(epilog="\b\nExamples:\n  weft org create example --name 'Example Ltd' --max-concurrent 50\n"
                    "  weft org create example --admin-key first")  # fmt: skip
@click.argument("slug")
@click.option("--name", metavar="NAME", help="What people call it. Default: its slug.")
@_quotas
@click.option("--admin-key", metavar="NAME", help="Make an admin key of this name for it, and print that.")
@connecting.options
@output.as_json
def create(*, slug: str, name: str | None, admin_key: str | None, where: Where, as_json: bool, **quotas: str | None) -> None:
    """Make an org called SLUG. For operators."""
    body = {"slug": slug, "name": name or slug, **_given(quotas)}
    if admin_key is not None:
        body["admin_key"] = admin_key
    made = loop.run(_post(where, body))
    if as_json:
        output.write_json(made)
        return
    click.echo(f"made {made['slug']} ({made['id']})", err=made["key"] is not None)
    if made["key"] is not None:
        click.echo(made["key"])
        click.echo("Keep the key: it is not shown again.", err=True)


@org.command(epilog="\b\nExamples:\n  weft org change example --max-concurrent 100 --request-rate none\n"
                    "  weft org change example --suspend")  # fmt: skip
@click.argument("slug")
@click.option("--name", metavar="NAME", help="What people call it.")
@_quotas
@click.option("--suspend/--resume", "suspended", default=None,
              help="Take no credential of this org any more, everywhere within a second; or take them again.")  # fmt: skip
@connecting.options
@output.as_json
def change(
    *, slug: str, name: str | None, suspended: bool | None, where: Where, as_json: bool, **quotas: str | None
) -> None:
    """Change an org. Admins may rename their own, all else is for operators."""
    body = {**({} if name is None else {"name": name}), **_given(quotas)}
    if suspended is not None:
        body["suspended"] = suspended
    if not body:
        raise click.UsageError("say what to change, e.g. --max-concurrent 50")

    async def changed() -> Any:
        async with connecting.connected(where) as client:
            return await client.patch(clients.path("/v1/orgs/{}", await found(client, slug)), body)

    answer = loop.run(changed())
    output.write_json(answer) if as_json else output.console().print(_details(answer))


async def found(client: Client, slug: str) -> str:
    """The id of an org by its slug, or as it was given."""
    try:
        return str(uuid.UUID(slug))
    except ValueError:
        pass
    async for one in client.pages("/v1/orgs"):
        if one["slug"] == slug:
            return str(one["id"])
    raise errors.NotFound(f"there is no org {slug!r}, or it is not yours; `weft org list` shows those there are")


async def _post(where: Where, body: dict[str, Any]) -> Any:
    async with connecting.connected(where) as client:
        return await client.post("/v1/orgs", body)


def _given(quotas: dict[str, str | None]) -> dict[str, Any]:
    """Options as the API takes them: numbers, seconds, JSON, and null for `none`."""
    body: dict[str, Any] = {}
    for name, text in quotas.items():
        option = f"--{name.replace('_', '-')}"
        if text is None:
            continue
        if name == "tier":
            if text not in TIERS:
                raise click.BadParameter(f"{text!r} is not one of {', '.join(TIERS)}", param_hint=option)
            body[name] = text
        elif name == "settings":
            try:
                body[name] = msgspec.convert(json.parsed(text, what=option), dict[str, Any])
            except ValueError:
                raise click.BadParameter("write a JSON object", param_hint=option) from None
        elif text == "none":
            body[name] = None
        elif name == "retention":
            body[name] = durations.parse(text, name=option).total_seconds()
        elif text.isdecimal():
            body[name] = int(text)
        else:
            raise click.BadParameter(f"{text!r} is neither a whole number nor none", param_hint=option)
    return body


def _table(listed: Gathered) -> RenderableType:
    rows = [
        (one["slug"], one["name"], one["tier"], _limit(one["max_concurrent"]), _limit(one["max_jobs"]), one["weight"],
         "suspended" if one["suspended_at"] else "", one["id"])
        for one in listed.items
    ]  # fmt: skip
    headings = ("org", "name", "tier", "concurrent", "jobs", "weight", "", "id")
    return output.rows(headings, rows, empty="no orgs")


def _limit(value: int | None) -> str:
    return "no limit" if value is None else f"{value:,}"


def _details(one: dict[str, Any]) -> RenderableType:
    grid = output.grid()
    for name, value in one.items():
        grid.add_row(name, "" if value is None else showing.value(name, value))
    return grid
