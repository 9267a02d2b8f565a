"""What the commands that look at something have in common: once or again and again, as a table or as JSON."""

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click
import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from weft.base import plain as safe
from weft.cli import connecting, loop, output
from weft.cli.connecting import Where
from weft.cli.listing import Gathered
from weft.client.client import Client

F = TypeVar("F", bound=Callable[..., Any])
Look = Callable[[Client], Awaitable[Any]]
Show = Callable[[Any], RenderableType]

COLOURS = {
    "completed": "green", "failed": "red", "timed_out": "red", "cancelled": "yellow", "running": "cyan",
    "ready": "white", "scheduled": "blue", "blocked": "magenta", "active": "green", "draining": "yellow",
    "dead": "red", "starting": "cyan", "waiting": "blue", "compensating": "yellow", "compensated": "yellow",
    "paused": "magenta", "skipped": "yellow", "pending": "white", "queued": "white", "timeout": "red",
}  # fmt: skip


def watching(command: F) -> F:
    """Adds --watch and --every."""
    command = click.option("--every", type=click.FloatRange(0.1, 3600), default=1.0, show_default=True, metavar="SECONDS",
                           help="With --watch: how often.")(command)  # fmt: skip
    return click.option("-w", "--watch", is_flag=True, help="Show it again and again, until Ctrl-C.")(command)


def present(look: Look, show: Show, *, where: Where, every: float | None, as_json: bool) -> None:
    """Looks and shows: once, or every so many seconds; JSON is then one object a line."""

    async def presented() -> None:
        async with connecting.connected(where) as client:
            if every is None:
                found = await look(client)
                output.write_json(_plain(found)) if as_json else output.console().print(show(found))
            elif as_json:
                await output.again(lambda: _line(look, client), every=every)
            else:
                await output.watch(lambda: _shown(look, show, client), every=every)

    # Ctrl-C is how one stops watching
    with contextlib.suppress(KeyboardInterrupt) if every is not None else contextlib.nullcontext():
        loop.run(presented())


def explain(look: Look, *, where: Where, as_json: bool) -> None:
    """Why something does not go on: what was found, a reason a line."""
    present(look, lambda found: Text(plain("\n".join(found["reasons"]))), where=where, every=None, as_json=as_json)


async def _shown(look: Look, show: Show, client: Client) -> RenderableType:
    return show(await look(client))


async def _line(look: Look, client: Client) -> None:
    click.echo(compact(_plain(await look(client))))


def _plain(found: Any) -> Any:
    """As JSON a list is its items."""
    return found.items if isinstance(found, Gathered) else found


def more(found: Gathered) -> str:
    """Whether there is more than what is shown, and how to see it."""
    if not found.more:
        return ""
    if found.until is not None:
        return f"looked back to {output.moment(found.until)}; narrow it (--since, --queue, --state) or raise --limit"
    return "there are more: --limit N"


def noted(table: RenderableType, found: Gathered) -> RenderableType:
    """A list with, below it, whether there is more."""
    return Group(table, Text(note, style="dim")) if (note := more(found)) else table


def fields(found: Any, *, without: tuple[str, ...] = ()) -> Table:
    """The fields of an answer that say something, one below the other."""
    table = output.grid()
    for name, given in found.items():
        if given not in (None, [], {}) and given is not False and name not in without:
            table.add_row(Text(name, style="dim"), value(name, given))
    return table


def compact(value: object) -> str:
    """JSON in one line."""
    return safe.json(msgspec.json.encode(value).decode())


def state(word: str) -> Text:
    """A state in its colour, however a document spells it."""
    return Text(word, style=COLOURS.get(word.lower(), ""))


def run_state(run: Any, word: str = "state") -> Text:
    """The state of a run, with what no state says: that it stands still."""
    shown = state(run[word])
    # a server of the version before does not say
    return shown if run.get("stalled_at") is None else Text.assemble(shown, ", ", ("stands still", "red"))


def value(name: str, given: Any) -> Text:
    """A field of an answer for people: times short, JSON compact, states in colour."""
    if name in ("state", "status"):
        return state(str(given))
    if name.endswith(("_at", "_time")):
        return Text(output.moment(given))
    return Text(plain(given if isinstance(given, str) else compact(given)))


def log_line(line: Any) -> str:
    fields = f"  {compact(line['fields'])}" if line["fields"] else ""
    text = f"{output.moment(line['at'])} attempt {line['attempt']} {line['level']:<8} {line['message']}{fields}"
    return plain(text)


def plain(value: object) -> str:
    """Text of one or several lines in which nothing is left that a terminal obeys: it comes from anywhere."""
    return safe.lines(str(value))
