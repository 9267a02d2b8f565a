"""`weft dead`: tasks that used up their attempts, or their workers, and what becomes of them."""

from collections.abc import Sequence
from typing import Any

import click

from weft.base import errors
from weft.cli import connecting, listing, loop, output, showing, tasks
from weft.cli.connecting import Where
from weft.cli.listing import Gathered, Listing
from weft.client.client import Client

_BATCH = 500

every_one = click.option("--all", "everything", is_flag=True, help="All that match, instead of naming ids.")
which = listing.options("kind", "queue", "tag", "error_type", "since", "before")


@click.group(cls=Listing)
def dead() -> None:
    """The dead letter list: look, redrive, discard. `weft dead` alone lists."""


@dead.command(name="list", epilog="Example: weft dead list --kind send_email --error ConnectionError")
@which
@listing.limit()
@showing.watching
@connecting.options
@output.as_json
def list_dead(*, limit: int, watch: bool, every: float, where: Where, as_json: bool, **given: Any) -> None:
    """Show dead tasks, newest first."""
    query = listing.filters(given)

    async def look(client: Client) -> Gathered:
        return await listing.gather(client, "/v1/dead", query=query, most=limit)

    def show(found: Gathered) -> Any:
        return tasks.listed(found) if found.items or found.more else "nothing is dead"

    showing.present(look, show, where=where, every=every if watch else None, as_json=as_json)


@dead.command(epilog="\b\nExamples:\n  weft dead redrive 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55\n"
                     "  weft dead redrive --all --kind send_email --since 1d")  # fmt: skip
@click.argument("task_ids", metavar="[ID]...", nargs=-1)
@every_one
@which
@connecting.options
@output.as_json
def redrive(**given: Any) -> None:
    """Queue dead tasks again; their attempts are counted anew."""
    _change("redrive", word="redriven", **given)


@dead.command(epilog="Example: weft dead discard 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@click.argument("task_ids", metavar="[ID]...", nargs=-1)
@every_one
@which
@connecting.options
@output.as_json
def discard(**given: Any) -> None:
    """Take tasks off the dead letter list for good; their history stays."""
    _change("discard", word="discarded", **given)


def _change(
    what: str, *, word: str, task_ids: Sequence[str], everything: bool, where: Where, as_json: bool, **given: Any
) -> None:
    query = listing.filters(given)
    if bool(task_ids) == everything:
        raise click.UsageError("name the ids of the tasks, or pass --all (with --kind, --queue, … to choose)")
    if task_ids and query:
        raise click.UsageError("--kind, --queue and the like choose among --all; leave them out when you name ids")
    wanted = [connecting.task_id(one) for one in task_ids]
    done = loop.run(_changed(what, wanted, query=query, where=where))
    output.write_json({word: done}) if as_json else click.echo(f"{done} {word}")
    if done < len(wanted):
        raise errors.NotFound(f"{len(wanted) - done} of these tasks are not on the dead letter list")


async def _changed(what: str, wanted: Sequence[str], *, query: dict[str, Any], where: Where) -> int:
    """The named tasks, or all that match, a batch and a transaction at a time; answers how many were changed."""
    done = 0
    async with connecting.connected(where) as client:
        if wanted:
            for start in range(0, len(wanted), _BATCH):
                answer = await _post(client, what, {"ids": wanted[start : start + _BATCH]})
                done += int(answer["done"])
            return done
        body: dict[str, Any] = {"filter": query}
        with output.progress(what, total=None) as advance:
            while True:
                answer = await _post(client, what, body)
                done += int(answer["done"])
                advance(answer["done"])
                if answer["next_cursor"] is None:
                    return done
                body["cursor"] = answer["next_cursor"]


async def _post(client: Client, what: str, body: dict[str, Any]) -> Any:
    return await client.post(f"/v1/dead/{what}", body, repeat=True)
