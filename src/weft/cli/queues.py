"""`weft queues`: what is in them, pausing and limiting them."""

from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from weft.base import durations, errors, names
from weft.cli import connecting, listing, loop, output, showing
from weft.cli.connecting import Where
from weft.cli.listing import Gathered, Listing
from weft.client import client as clients
from weft.client.client import Client

LIFTED = "none"


@click.group(cls=Listing)
def queues() -> None:
    """Look at queues, pause, resume and limit them. `weft queues` alone lists."""


@queues.command(name="list", epilog="Example: weft queues list --watch")
@listing.limit(100)
@showing.watching
@connecting.options
@output.as_json
def list_queues(*, limit: int, watch: bool, every: float, where: Where, as_json: bool) -> None:
    """Show queues with what waits and runs in them, and their limits."""

    async def look(client: Client) -> Gathered:
        return await listing.gather(client, "/v1/queues", query={}, most=limit)

    showing.present(look, _table, where=where, every=every if watch else None, as_json=as_json)


@queues.command(epilog="Example: weft queues show email")
@click.argument("name")
@showing.watching
@connecting.options
@output.as_json
def show(*, name: str, watch: bool, every: float, where: Where, as_json: bool) -> None:
    """Show one queue."""
    wanted = names.check(name, what="queue")

    async def look(client: Client) -> Any:
        return await client.get(clients.path("/v1/queues/{}", wanted))

    showing.present(
        look, lambda one: _table(Gathered([one])), where=where, every=every if watch else None, as_json=as_json
    )  # fmt: skip


@queues.command(epilog="Example: weft queues pause email")
@click.argument("name")
@connecting.options
@output.as_json
def pause(*, name: str, where: Where, as_json: bool) -> None:
    """Start nothing of this queue from now on; what runs goes on."""
    _change(name, {"paused": True}, where=where, as_json=as_json)


@queues.command(epilog="Example: weft queues resume email")
@click.argument("name")
@connecting.options
@output.as_json
def resume(*, name: str, where: Where, as_json: bool) -> None:
    """Start the work of a paused queue again."""
    _change(name, {"paused": False}, where=where, as_json=as_json)


@queues.command(
    epilog="""\b
Examples:
  weft queues limit email --max-running 10
  weft queues limit email --rate 100/1m --burst 20
  weft queues limit email --rate none"""
)
@click.argument("name")
@click.option("--max-running", metavar="N|none", help="At most so many at a time; none lifts it.")
@click.option("--rate", metavar="N/DURATION|none", help="At most so many starts per time, e.g. 100/1m; none lifts it.")
@click.option("--burst", type=click.IntRange(min=1), metavar="N", help="With --rate: at most so many at once.")
@connecting.options
@output.as_json
def limit(
    *, name: str, max_running: str | None, rate: str | None, burst: int | None, where: Where, as_json: bool
) -> None:
    """Bound how much of a queue runs at a time, or starts per time."""
    change: dict[str, Any] = {}
    if max_running is not None:
        change["max_running"] = None if max_running == LIFTED else _whole(max_running, name="--max-running")
    if rate is not None:
        change["rate"] = None if rate == LIFTED else {**parse_rate(rate), "burst": burst}
    if burst is not None and not change.get("rate"):
        raise click.UsageError("--burst belongs to --rate; give both, e.g. --rate 100/1m --burst 20")
    if not change:
        raise click.UsageError("say what to limit: --max-running 10, or --rate 100/1m; none lifts a limit")
    _change(name, change, where=where, as_json=as_json)


def parse_rate(text: str) -> dict[str, Any]:
    """`100/1m` as the API takes it."""
    number, slash, period = text.partition("/")
    seconds = durations.parse(period, name="the time of --rate").total_seconds() if slash else 1.0
    return {"limit": _whole(number, name="--rate"), "period": seconds}


def _whole(text: str, *, name: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise errors.InvalidInput(f"{name} {text!r} is not a whole number, nor {LIFTED!r}")
    return int(text)


def _change(name: str, change: dict[str, Any], *, where: Where, as_json: bool) -> None:
    wanted = names.check(name, what="queue")

    async def changed() -> Any:
        async with connecting.connected(where) as client:
            return await client.patch(clients.path("/v1/queues/{}", wanted), change)

    answer = loop.run(changed())
    output.write_json(answer) if as_json else output.console().print(_table(Gathered([answer])))


def _table(found: Gathered) -> RenderableType:
    rows = [
        (
            one["name"], Text("paused", style="yellow") if one["paused"] else "",
            *(listing.count(one[state]) for state in ("ready", "scheduled", "blocked", "running")),
            output.span(one["oldest_ready"]) if one["oldest_ready"] else "", listing.count(one["finished_last_minute"]),
            listing.count(one["failed_last_hour"]), _limits(one),
        )
        for one in found.items
    ]  # fmt: skip
    headings = ("queue", "", "ready", "scheduled", "blocked", "running", "oldest", "ended/min", "failed/h", "limits")
    return output.rows(headings, rows, empty="no queues: one exists as soon as a task names it")


def _limits(queue: Any) -> str:
    said = []
    for whose, settings in (("", queue["settings"]), ("everybody: ", queue["operator"])):
        if settings["max_running"] is not None:
            said.append(f"{whose}{settings['max_running']} at a time")
        if (rate := settings["rate"]) is not None:
            said.append(f"{whose}{rate['limit']} per {output.span(rate['period'])}")
    return ", ".join(said)
