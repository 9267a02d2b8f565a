"""How commands write: JSON for programs, tables for people, tables that stay up to date, bars for long work."""

import asyncio
import contextlib
import datetime as dt
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, NoReturn

import click
import msgspec
from rich.console import Console, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from weft.base import plain

_ENDLESS = 10_000
_KEPT_WHOLE = 36
"""Characters of a column that are never cut: an id must be there to be copied."""

as_json = click.option("--json", "as_json", is_flag=True, help="Write JSON.")

__all__ = [
    "again", "as_json", "console", "escape", "grid", "moment", "progress", "rows", "short", "span", "steps", "watch",
    "write_json",
]  # fmt: skip


def write_json(value: object) -> None:
    """A value on stdout as indented JSON; ids, times and dataclasses become text and objects."""
    click.echo(plain.json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()))


def console(*, stderr: bool = False) -> Console:
    """Where to write. A file or a pipe has no width: nothing is folded or cut there."""
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(highlight=False, soft_wrap=True, stderr=stderr, width=None if terminal else _ENDLESS)


def grid() -> Table:
    """A table without lines or headings."""
    return Table.grid(padding=(0, 2))


def rows(headings: Sequence[str], found: Sequence[Sequence[object]], *, empty: str) -> RenderableType:
    """A table as most commands show it: a dim heading, a row each, everything taken as plain text."""
    if not found:
        return Text(empty)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    cells = [[one if isinstance(one, Text) else Text(_plain(one)) for one in row] for row in found]
    for number, heading in enumerate(headings):
        widest = max(len(heading), *(row[number].cell_len for row in cells))
        table.add_column(heading, no_wrap=True, overflow="ellipsis", min_width=min(widest, _KEPT_WHOLE))
    for row in cells:
        table.add_row(*row)
    return table


async def watch(look: Callable[[], Awaitable[RenderableType]], *, every: float) -> None:
    """Shows the same again and again: on a terminal in place, else one after another."""
    out = console()
    if not out.is_terminal:
        await again(lambda: _printed(out, look), every=every)
    with Live(console=out, auto_refresh=False, vertical_overflow="crop") as live:
        await again(lambda: _updated(live, look), every=every)


async def again(act: Callable[[], Awaitable[None]], *, every: float) -> NoReturn:
    """Does it, rests, does it. A Ctrl-C in the middle of it is heard, even if whoever was at work took no notice."""
    task = asyncio.current_task()
    while True:
        await act()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        await asyncio.sleep(every)


async def _printed(out: Console, look: Callable[[], Awaitable[RenderableType]]) -> None:
    out.print(await look())


async def _updated(live: Live, look: Callable[[], Awaitable[RenderableType]]) -> None:
    live.update(await look(), refresh=True)


@contextlib.contextmanager
def progress(what: str, *, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while something long goes on; nothing where stderr is no terminal. Yields `advance(by)`."""
    if not sys.stderr.isatty():
        yield lambda _by: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda by: bar.advance(task, by)


@contextlib.contextmanager
def steps(total: int) -> Iterator[Callable[[str], None]]:
    """A bar of steps with the name of the one that runs; nothing where stderr is no terminal. Yields `begin(name)`."""
    if not sys.stderr.isatty():
        yield lambda _name: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        begun = 0

        def begin(name: str) -> None:
            nonlocal begun
            bar.update(task, description=name, completed=begun)
            begun += 1

        yield begin


def moment(value: Any) -> str:
    """A time of the API as people read it: of today without the day, in this machine's timezone."""
    if value is None:
        return ""
    at = value if isinstance(value, dt.datetime) else msgspec.convert(value, dt.datetime)
    local = at.astimezone()
    today = local.date() == dt.datetime.now().astimezone().date()
    return f"{local:%H:%M:%S}" if today else f"{local:%Y-%m-%d %H:%M:%S}"


def span(seconds: float) -> str:
    """Seconds as people say them."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def short(value: object, *, most: int = 80) -> str:
    """In one line of so many characters, none of which a terminal obeys."""
    text = plain.line(" ".join(str(value).split()))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _plain(value: object) -> str:
    """Names and messages come from anywhere."""
    return "" if value is None else plain.line(str(value))
