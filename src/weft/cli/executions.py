"""What became of a job's times: `weft jobs executions|execution|logs|cancel|backfill|backfills|cancel-backfill`."""

import contextlib
import uuid
from typing import Any

import click
from rich.console import RenderableType

from weft.base import errors
from weft.cli import connecting, listing, loop, output, showing, tasks
from weft.cli.connecting import Where
from weft.cli.listing import Gathered
from weft.client import client as clients
from weft.client.client import Client

STATUS = ("PENDING", "QUEUED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")
@click.command(epilog="\b\nExamples:\n  weft jobs executions nightly\n  weft jobs executions nightly --status FAILED")
@click.argument("job", metavar="NAME|ID")
@click.option("--status", type=click.Choice(STATUS), help="Only of this status.")
@listing.limit(20)
@showing.watching
@connecting.options
@output.as_json
def executions(
    *, job: str, status: str | None, limit: int, watch: bool, every: float, where: Where, as_json: bool
) -> None:
    """Show a job's executions, latest time first."""

    async def look(client: Client) -> Gathered:
        path = clients.path("/v1/jobs/{}/executions", await find(client, job))
        return await listing.gather(client, path, query={"status": status}, most=limit)

    showing.present(look, listed, where=where, every=every if watch else None, as_json=as_json)


@click.command(epilog="Example: weft jobs execution 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@click.argument("id")
@connecting.options
@output.as_json
def execution(*, id: str, where: Where, as_json: bool) -> None:
    """Everything about one execution."""
    wanted = connecting.task_id(id)

    async def look(client: Client) -> Any:
        return await client.get(clients.path("/v1/executions/{}", wanted))

    showing.present(look, showing.fields, where=where, every=None, as_json=as_json)


@click.command(epilog="\b\nExamples:\n  weft jobs logs 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55\n"
                      "  weft jobs logs 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55 --follow")  # fmt: skip
@click.argument("id")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is logged from now on, until it ends.")
@connecting.options
@output.as_json
def logs(*, id: str, follow: bool, where: Where, as_json: bool) -> None:
    """What an execution logged, a line each; with --json a JSON object each."""
    with contextlib.suppress(KeyboardInterrupt):
        loop.run(
            tasks.write_logs(connecting.task_id(id), of="executions", follow=follow, where=where, as_json=as_json)
        )


@click.command(epilog="Example: weft jobs cancel 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@click.argument("id")
@connecting.options
@output.as_json
def cancel(*, id: str, where: Where, as_json: bool) -> None:
    """End an execution: at once if it waits, by telling its worker if it runs."""
    wanted = connecting.task_id(id)

    async def cancelled() -> Any:
        async with connecting.connected(where) as client:
            return await client.post(clients.path("/v1/executions/{}/cancel", wanted))

    answer = loop.run(cancelled())
    if as_json:
        output.write_json(answer)
    else:
        click.echo("it is running; its worker was told" if answer["cancelling"] else "cancelled")


@click.command(epilog="\b\nExamples:\n  weft jobs backfill nightly --from 2026-01-01T00:00Z --to 2026-01-31T00:00Z\n"
                      "  weft jobs backfill nightly --from 7d --to 1d --max-active 4")  # fmt: skip
@click.argument("job", metavar="NAME|ID")
@click.option("--from", "start", metavar="WHEN", required=True, help="The first time: 7d (ago) or 2026-01-05T09:30Z.")
@click.option("--to", "end", metavar="WHEN", required=True, help="The last time: 1d (ago) or 2026-01-06T09:30Z.")
@click.option("--max-active", type=click.IntRange(1, 1000), default=1, show_default=True, metavar="N",
              help="So many unfinished at a time.")  # fmt: skip
@connecting.options
@output.as_json
def backfill(*, job: str, start: str, end: str, max_active: int, where: Where, as_json: bool) -> None:
    """Execute a job for its past times, a few at a time."""
    first, last = listing.moment(start, name="--from"), listing.moment(end, name="--to")
    body = {"start": first.isoformat(), "end": last.isoformat(), "max_active": max_active}

    async def made() -> Any:
        async with connecting.connected(where) as client:
            path = clients.path("/v1/jobs/{}/backfills", await find(client, job))
            return await client.post(path, body, repeat=True)

    answer = loop.run(made())
    if as_json:
        output.write_json(answer)
    else:
        click.echo(f"{answer['backfill_id']}  begins with {output.moment(answer['next_time'])}")


@click.command(epilog="Example: weft jobs backfills nightly")
@click.argument("job", metavar="NAME|ID")
@listing.limit(20)
@connecting.options
@output.as_json
def backfills(*, job: str, limit: int, where: Where, as_json: bool) -> None:
    """Show a job's backfills, newest first."""

    async def look(client: Client) -> Gathered:
        path = clients.path("/v1/jobs/{}/backfills", await find(client, job))
        return await listing.gather(client, path, query={}, most=limit)

    def shown(found: Gathered) -> RenderableType:
        rows = [
            (one["backfill_id"], showing.state(one["status"].lower()), output.moment(one["start"]),
             output.moment(one["end"]), one["executions"], output.moment(one["next_time"]))
            for one in found.items
        ]  # fmt: skip
        table = output.rows(("backfill", "", "from", "to", "made", "next"), rows, empty="no backfills")
        return showing.noted(table, found)

    showing.present(look, shown, where=where, every=None, as_json=as_json)


@click.command(epilog="Example: weft jobs cancel-backfill 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@click.argument("id")
@connecting.options
@output.as_json
def cancel_backfill(*, id: str, where: Where, as_json: bool) -> None:
    """Make no more of a backfill's times; what was made goes on."""
    wanted = connecting.an_id(id, of="backfill")

    async def cancelled() -> Any:
        async with connecting.connected(where) as client:
            return await client.post(clients.path("/v1/backfills/{}/cancel", wanted))

    answer = loop.run(cancelled())
    output.write_json(answer) if as_json else click.echo(f"{answer['backfill_id']} is {answer['status']}")


async def find(client: Client, job: str) -> str:
    """The id of a job by its name, or the id itself."""
    try:
        return str(uuid.UUID(job))
    except ValueError:
        pass
    async for one in client.pages("/v1/jobs", query={"name": job, "sort": "name"}):
        if one["name"] == job:
            return str(one["job_id"])
        break
    raise errors.JobNotFound(f"there is no job named {job!r}; weft jobs list shows those there are")


def listed(found: Gathered) -> RenderableType:
    """Executions as a table."""
    rows = [
        (one["execution_id"], output.moment(one["scheduled_time"]),
         showing.state(one["status"].lower()), one["trigger"], one["attempt_number"], _took(one),
         output.short(one["error_message"] or ""))
        for one in found.items
    ]  # fmt: skip
    table = output.rows(("execution", "time", "", "by", "attempt", "took", ""), rows, empty="no executions")
    return showing.noted(table, found)


def _took(one: Any) -> str:
    return "" if one["duration_ms"] is None else output.span(one["duration_ms"] / 1000)
