"""`weft hosts`: what the operator lets an org's tasks call. Needs the database: it is not an org's own to say."""

import uuid

import click

from weft.access import hosts as kernel
from weft.access import orgs
from weft.app import App
from weft.base import ids
from weft.cli import connecting, loop, output
from weft.db.tx import Tx

_ORG = click.option("--org", metavar="SLUG", help="Whose tasks. Default: default.")


@click.group(epilog="\b\nExample:\n  weft hosts allow api.internal:8080 --org example")
def hosts() -> None:
    """Private hosts that an org's tasks may call in spite of the guard."""


@hosts.command(epilog="\b\nExample:\n  weft hosts allow 10.1.0.0/16 --org example")
@click.argument("entry")
@_ORG
@output.as_json
def allow(*, entry: str, org: str | None, as_json: bool) -> None:
    """Let an org's tasks call ENTRY: a host, host:port, *.domain, an address or a network."""
    loop.run(_allow(entry, org))
    _tell(entry, allowed=True, as_json=as_json)


@hosts.command(epilog="\b\nExample:\n  weft hosts forbid 10.1.0.0/16 --org example")
@click.argument("entry")
@_ORG
@output.as_json
def forbid(*, entry: str, org: str | None, as_json: bool) -> None:
    """Take ENTRY off an org's list."""
    loop.run(_forbid(entry, org))
    _tell(entry, allowed=False, as_json=as_json)


@hosts.command("list", epilog="\b\nExample:\n  weft hosts list --org example")
@_ORG
@output.as_json
def list_hosts(*, org: str | None, as_json: bool) -> None:
    """List what an org's tasks may call besides public hosts and those of WEFT_ALLOW_HOSTS."""
    found = loop.run(_list(org))
    if as_json:
        output.write_json(found)
    else:
        output.console().print(output.rows(("host",), [(one,) for one in found], empty="only public hosts"))


def _tell(entry: str, *, allowed: bool, as_json: bool) -> None:
    if as_json:
        output.write_json({"entry": entry, "allowed": allowed})
    else:
        click.echo(f"{entry} may {'' if allowed else 'not '}be called; workers know within ten seconds")


async def _allow(entry: str, org: str | None) -> None:
    async with App() as app, app.tx() as tx:
        await kernel.allow(tx, org=await _org(tx, org), entry=entry, actor=connecting.actor())


async def _forbid(entry: str, org: str | None) -> None:
    async with App() as app, app.tx() as tx:
        await kernel.forbid(tx, org=await _org(tx, org), entry=entry, actor=connecting.actor())


async def _list(org: str | None) -> tuple[str, ...]:
    async with App() as app, app.tx() as tx:
        return await kernel.of(tx, await _org(tx, org))


async def _org(tx: Tx, slug: str | None) -> uuid.UUID:
    return ids.DEFAULT_ORG if slug is None else await orgs.find(tx, slug)
