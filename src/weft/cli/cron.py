"""`weft cron`: what an expression means, without a server."""

import datetime as dt
import zoneinfo

import click
from rich.console import RenderableType

from weft.cli import output
from weft.cron import schedule, words, zones


@click.group()
def cron() -> None:
    """Look at cron expressions."""


@cron.command(
    epilog="""\b
Examples:
  weft cron preview "0 9 * * MON-FRI" --tz America/New_York
  weft cron preview @hourly --count 3 --json
  weft cron preview "30 2 * * *" --tz Europe/Berlin --from 2026-03-28"""
)
@click.argument("expression")
@click.option("--tz", default="UTC", show_default=True, metavar="ZONE", help="The time zone, by its IANA name.")
@click.option("-n", "--count", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N",
              help="How many times to show.")  # fmt: skip
@click.option("--from", "start", metavar="TIME", help="After this time instead of now: 2026-03-28, 2026-03-28T12:00Z.")
@output.as_json
def preview(*, expression: str, tz: str, count: int, start: str | None, as_json: bool) -> None:
    """Say what EXPRESSION means, and when it fires next."""
    parsed, zone = schedule.parse(expression), zones.zone(tz)
    info = zoneinfo.ZoneInfo(zone.name)
    moment = _moment(start, info)
    times: list[dt.datetime] = []
    following = schedule.after(parsed, zone, moment)
    while following is not None and len(times) < count:
        times.append(following)
        following = schedule.after(parsed, zone, following)
    said = words.describe(parsed)
    if as_json:
        shown = [{"utc": at, "local": at.astimezone(info).isoformat()} for at in times]
        output.write_json({"expression": expression, "timezone": zone.name, "words": said, "times": shown})
        return
    click.echo(f"{said} ({zone.name})\n")
    output.console().print(_table(times, info))


def _table(times: list[dt.datetime], info: zoneinfo.ZoneInfo) -> RenderableType:
    rows = []
    offset = None
    for at in times:
        local = at.astimezone(info)
        changed = offset is not None and local.utcoffset() != offset
        offset = local.utcoffset()
        rows.append((f"{local:%a %Y-%m-%d %H:%M %Z}", f"{at:%Y-%m-%dT%H:%MZ}", "the clock was changed" if changed else ""))
    return output.rows(("local", "UTC", ""), rows, empty="never")


def _moment(text: str | None, info: zoneinfo.ZoneInfo) -> dt.datetime:
    if text is None:
        return dt.datetime.now(dt.UTC)
    try:
        found = dt.datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"{text!r} is not a time; write 2026-03-28 or 2026-03-28T12:00Z") from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=info)
    if not 1972 < found.year < 2190:
        raise click.UsageError(f"{text!r} is too far away; give a time from 1973 to 2189")
    return found.astimezone(dt.UTC)
