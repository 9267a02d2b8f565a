"""`weft audit`: the audit trail of an org."""

from typing import Any

import click

from weft.cli import connecting, listing, loop, output
from weft.cli.connecting import Where
from weft.cli.main import FAILED


@click.group(epilog="\b\nExample:\n  weft audit list --action queue.set")
def audit() -> None:
    """Who did what, what was refused, and whether that record is whole."""


@audit.command("list", epilog="\b\nExamples:\n  weft audit list --actor key:deploy\n  weft audit list --org '*'")
@click.option("--actor", metavar="WHO", help="Only what they did, as in key:deploy.")
@click.option("--action", metavar="WHAT", help="Only this: queue.set, key.create, access.denied.")
@click.option("--type", "object_type", metavar="TYPE", help="Only what was done to things of this type.")
@click.option("--object", "object_id", metavar="ID", help="Only what was done to this.")
@click.option("--since", metavar="TIME", help="Only from then on: 2h, or 2026-01-05T09:30.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many.")
@output.as_json
@connecting.options
def list_entries(
    *, actor: str | None, action: str | None, object_type: str | None, object_id: str | None, since: str | None, limit: int,
    as_json: bool, where: Where,
) -> None:  # fmt: skip
    """List what was done and refused, newest first. --org '*' shows denials of those whom nobody knows."""
    query = {
        "actor": actor, "action": action, "object_type": object_type, "object_id": object_id,
        "since": None if since is None else listing.moment(since, name="--since"),
    }  # fmt: skip
    found = loop.run(_list(where, query, limit))
    if as_json:
        output.write_json(found)
        return
    rows = [
        (output.moment(one["at"]), one["actor"], one["action"], f"{one['object_type']} {one['object_id']}",
         output.short(_change(one)), one["request_id"])
        for one in found
    ]  # fmt: skip
    headings = ("at", "actor", "action", "object", "change", "request")
    output.console().print(output.rows(headings, rows, empty="nothing yet"))


@audit.command(epilog="\b\nExample:\n  weft audit verify --head \"$(cat /safe/place/weft-head)\"")
@click.option("--head", metavar="HEAD", help="A head that an earlier call printed: is it still in the chain?")
@output.as_json
@connecting.options
def verify(*, head: str | None, as_json: bool, where: Where) -> None:
    """Check that no entry was changed, taken out, put in or moved. Exit code 1 if one was.

    Prints the head of the chain: keep it where whoever owns the database cannot write.
    """
    found = loop.run(_verify(where, head))
    if as_json:
        output.write_json(found)
    else:
        for one in found["findings"]:
            click.echo(f"entry {one['number']}: {one['fault']}: {one['message']}")
        click.echo(f"{found['entries']} entries, {len(found['findings']) or 'no'} findings")
        if found["unsealed"]:
            click.echo(f"{found['unsealed']} newer ones are not sealed yet; a running server or worker does that")
        click.echo(f"head {found['head']}")
    if found["findings"]:
        click.get_current_context().exit(FAILED)


async def _list(where: Where, query: dict[str, Any], limit: int) -> list[Any]:
    async with connecting.connected(where) as server:
        return [one async for one in server.pages("/v1/audit", query=query, most=limit)]


async def _verify(where: Where, head: str | None) -> dict[str, Any]:
    entries, findings = 0, []
    query: dict[str, Any] = {"head": head}
    async with connecting.connected(where) as server:
        while True:
            part = await server.get("/v1/audit/verify", query=query)
            entries += part["entries"]
            findings += part["findings"]
            if part["next"] is None:
                return {"entries": entries, "unsealed": part["unsealed"], "findings": findings, "head": part["head"]}
            query = {"after": part["next"]}


def _change(one: dict[str, Any]) -> str:
    if one["before"] is None:
        return "" if one["after"] is None else str(one["after"])
    return f"{one['before']} → {one['after']}"
