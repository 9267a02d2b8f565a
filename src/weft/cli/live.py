"""`weft live`: what something is, and again whenever that changed."""

import asyncio
import contextlib

import click
import msgspec

from weft.base import errors, json
from weft.cli import connecting, loop, output, showing
from weft.cli.connecting import Where
from weft.client import refusal
from weft.net.guard import Unreachable

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 10.0


@click.command(epilog="\b\nExamples:\n  weft live counts\n  weft live task id=01890f3e-7b2c-7cc0-98c4-dc0c0c07398f\n"
                      "  weft live queue name=email --times 3 --json")  # fmt: skip
@click.argument("subject")
@click.argument("args", metavar="[NAME=VALUE]...", nargs=-1)
@click.option("--times", type=click.IntRange(1), metavar="N", help="Stop after so many.")
@connecting.options
@output.as_json
def live(*, subject: str, args: tuple[str, ...], times: int | None, where: Where, as_json: bool) -> None:
    """Watch SUBJECT: print what it is, and again whenever that changed.

    Subjects are task, log, run, job, queue, counts, tasks, the lists runs, jobs, queues, nodes, dead, audit and definitions,
    overview, and query:NAME for a live query of the server's app; what each takes is in docs/reference/live.md. One line of
    JSON each time; Ctrl-C stops it. When the server goes away it is tried again, and nothing is missed.
    """
    loop.run(_watch(subject, _arguments(args), times=times, where=where))


async def _watch(subject: str, args: dict[str, object], *, times: int | None, where: Where) -> None:
    query: dict[str, object] = {"subject": subject}
    shown, tries, last = 0, 0, ""
    async with connecting.connected(where) as client:
        while True:
            # a server ends a stream after an hour, or when it stops: then go on where it was
            query["args"] = msgspec.json.encode(args).decode()
            try:
                async with contextlib.aclosing(client.stream("/v1/live/sse", query=query)) as events:
                    async for event in events:
                        tries = 0
                        if event.name == "error":
                            raise refusal.named(event.data["code"], event.data["message"])
                        if event.name != "data":
                            continue
                        if subject == "log":
                            args["after"] = event.data[-1]["id"] if event.data else args.get("after", 0)
                        elif event.id:
                            query["cursor"] = int(event.id)
                        said = showing.compact(event.data)
                        if said == last and subject != "log":
                            continue  # seen before the connection broke
                        click.echo(said)
                        shown, last = shown + 1, said
                        if shown == times:
                            return
            except (Unreachable, errors.Unavailable) as error:
                if not shown:
                    raise
                if not tries:
                    click.echo(f"trying again: {error.message}", err=True)
                tries += 1
                await asyncio.sleep(min(_FIRST_PAUSE * 2**tries, _LONGEST_PAUSE))


def _arguments(given: tuple[str, ...]) -> dict[str, object]:
    """`name=value`, the value as JSON where it is some, else as text."""
    found: dict[str, object] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not name or not equals:
            raise errors.InvalidInput(f"{one!r} is not NAME=VALUE; write e.g. id=01890f3e-7b2c-7cc0-98c4-dc0c0c07398f")
        try:
            found[name] = json.parsed(value, what=name)
        except ValueError:
            found[name] = value
    return found
