"""`weft workflow` and `weft deploy check`: durable workflows, and whether code fits the runs that are under way."""

import dataclasses
import uuid
from typing import Any

import click
from rich.console import RenderableType

from weft.cli import connecting, listing, loop, output, run, running, showing
from weft.cli.connecting import Where
from weft.cli.listing import Gathered, Listing
from weft.client import client as clients
from weft.client.client import Client
from weft.flows import fitting, workflows
from weft.flows.fitting import Fit

as_json = click.option("--json", "as_json", is_flag=True, help="Write JSON.")


@click.group(cls=Listing)
def workflow() -> None:
    """Look at workflows, start them, replay their runs. `weft workflow` alone lists."""


@workflow.command(name="list", epilog="Example: weft workflow list")
@listing.limit(100)
@connecting.options
@as_json
def list_workflows(*, limit: int, where: Where, as_json: bool) -> None:
    """Show the workflows that workers have declared, with their versions."""

    async def look(client: Client) -> Gathered:
        return await listing.gather(client, "/v1/workflows", query={}, most=limit)

    showing.present(look, _table, where=where, every=None, as_json=as_json)


@workflow.command(epilog="\b\nExamples:\n  weft workflow start checkout '{\"order\": \"o-17\"}'\n"
                         "  weft workflow start checkout '{\"order\": \"o-17\"}' --idempotency-key o-17")  # fmt: skip
@click.argument("name")
@click.argument("arguments", metavar="[JSON]", required=False)
@click.option("--version", metavar="VERSION", help="The newest, if not given.")
@click.option("--idempotency-key", "start_key", metavar="KEY",
              help="Answer the run that was started with this key, if there is one.")  # fmt: skip
@click.option("--queue", metavar="QUEUE", help="Another than it was declared with.")
@click.option("--priority", type=click.IntRange(0, 100), metavar="0-100", help="Another than it was declared with.")
@connecting.options
@as_json
def start(
    *, name: str, arguments: str | None, start_key: str | None, where: Where, as_json: bool, **options: Any
) -> None:
    """Start a run of a workflow with the arguments in JSON, and print its id."""
    body = {"arguments": run.given(arguments, what="ARGUMENTS") or {}, "key": start_key, **options}

    async def started() -> Any:
        async with connecting.connected(where) as client:
            return await client.post(clients.path("/v1/workflows/{}/start", name), body)

    answer = loop.run(started())
    output.write_json(answer) if as_json else click.echo(answer["run_id"])


@workflow.command(epilog="Example: weft workflow replay app:app 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@click.argument("target", metavar="MODULE:APP")
@click.argument("id", metavar="RUN")
@as_json
@click.pass_context
def replay(ctx: click.Context, /, *, target: str, id: str, as_json: bool) -> None:
    """Replay a run's history against the code in front of you (exit 1 if it does not fit); nothing is executed."""
    wanted = uuid.UUID(run.run_id(id))

    async def replayed() -> Fit:
        async with running.opened(target) as app:
            found = await app.runs.get(wanted)
            code = app.declared.latest(found.name)
            async with app.tx() as tx:
                loaded = (await workflows.load(tx, [str(wanted)], over=True)).get(str(wanted))
            if code is None or loaded is None:
                raise click.UsageError(f"{target} declares no workflow {found.name!r}")
            misfit = fitting.fits(loaded, code)
            return Fit(1, [] if misfit is None else [misfit])

    _report(ctx, loop.run(replayed()), as_json=as_json)


@click.group()
def deploy() -> None:
    """Before you deploy: does the new code fit what is under way?"""


@deploy.command(epilog="\b\nExamples:\n  weft deploy check app:app\n  weft deploy check shop.flows:app --json")
@click.argument("target", metavar="MODULE:APP")
@as_json
@click.pass_context
def check(ctx: click.Context, /, *, target: str, as_json: bool) -> None:
    """Replay every unfinished run against the code in front of you; list those that would break (exit 1)."""

    async def checked() -> Fit:
        async with running.opened(target) as app, app.tx() as tx:
            return await fitting.check(tx, app.declared)

    _report(ctx, loop.run(checked()), as_json=as_json)


def _report(ctx: click.Context, fit: Fit, *, as_json: bool) -> None:
    if as_json:
        output.write_json(dataclasses.asdict(fit))
    else:
        for one in fit.misfits:
            click.echo(showing.plain(f"{one.run}  {one.name} {one.version}: {one.message}"))
        click.echo(f"{fit.checked} unfinished runs, {len(fit.misfits)} would break")
    ctx.exit(1 if fit.misfits else 0)


def _table(found: Gathered) -> RenderableType:
    rows = [
        (one["name"], one["version"], one["queue"], "any" if one["signals"] is None else ", ".join(one["signals"]),
         output.moment(one["declared_at"]))
        for one in found.items
    ]  # fmt: skip
    return output.rows(("workflow", "version", "queue", "signals", "declared"), rows, empty="no workflows are declared")
