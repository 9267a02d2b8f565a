"""What the commands with lists have in common: a group that lists by itself, filters, and pages gathered up."""

import dataclasses
import datetime as dt
from collections.abc import Callable
from typing import Any, TypeVar

import click

from weft.base import durations, errors
from weft.client.client import Client

F = TypeVar("F", bound=Callable[..., Any])

_PAGE = 500
_SHORT_PAGES = 25
"""Pages that found little before a list gives up looking further back."""


class Listing(click.Group):
    """A group of which the bare name, or the name with options, means `list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@dataclasses.dataclass
class Gathered:
    """Items of a list. `more`: there are others behind them; `until`: only back to this instant was looked."""

    items: list[Any] = dataclasses.field(default_factory=list)
    more: bool = False
    until: str | None = None


async def gather(client: Client, path: str, *, query: dict[str, Any], most: int) -> Gathered:
    """The first so many items. A filter that matches few may need many pages; it looks back so far and says so."""
    found = Gathered()
    asked = {**query, "limit": min(most, _PAGE)}
    for _ in range(_SHORT_PAGES + most // _PAGE):
        page = await client.get(path, query=asked)
        found.items += page["items"][: most - len(found.items)]
        cursor, found.until = page["next_cursor"], page.get("scanned_until")
        found.more = cursor is not None
        if cursor is None or len(found.items) >= most:
            return found
        asked["cursor"] = cursor
    return found


def limit(default: int = 50) -> Callable[[F], F]:
    return click.option("-n", "--limit", type=click.IntRange(1, 100_000), default=default, show_default=True, metavar="N",
                        help="At most so many.")  # fmt: skip


def options(*which: str) -> Callable[[F], F]:
    """Filters, by name."""
    known = {
        "kind": click.option("--kind", metavar="NAME", help="Only tasks of this kind."),
        "queue": click.option("-q", "--queue", metavar="NAME", help="Only tasks of this queue."),
        "tag": click.option("--tag", metavar="NAME", help="Only tasks with this tag."),
        "error_type": click.option("--error", "error_type", metavar="TYPE", help="Only of this error, e.g. ValueError."),
        "since": click.option("--since", metavar="WHEN", help="Made since then: 2h (ago) or 2026-01-05T09:30Z."),
        "before": click.option("--before", metavar="WHEN", help="Made before then: 2h (ago) or 2026-01-05T09:30Z."),
    }

    def add(command: F) -> F:
        for name in reversed(which):
            command = known[name](command)
        return command

    return add


def filters(given: dict[str, Any]) -> dict[str, Any]:
    """Options as the API's filter; what was not given is left out."""
    found = {name: value for name, value in given.items() if value is not None and name not in ("since", "before")}
    for name, meant in (("since", "created_after"), ("before", "created_before")):
        if given.get(name) is not None:
            found[meant] = moment(given[name], name=f"--{name}").isoformat()
    return found


def moment(text: str, *, name: str, now: dt.datetime | None = None) -> dt.datetime:
    """An instant: a time with or without its zone (then this machine's), or how long ago."""
    try:
        return dt.datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        pass
    try:
        return (now or dt.datetime.now(dt.UTC)) - durations.parse(text, name=name)
    except (errors.InvalidInput, OverflowError):
        raise errors.InvalidInput(f"{name} {text!r} is not a time; write 2h (ago) or 2026-01-05T09:30Z") from None


def count(given: Any) -> str:
    """A count of the API: exact, or `10,000+`."""
    return f"{given['count']:,}{'+' if given['at_least'] else ''}"
