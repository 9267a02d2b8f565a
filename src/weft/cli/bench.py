"""`weft bench`: Weft measured on your own database."""

import dataclasses

import click

from weft.app import App
from weft.base import config
from weft.cli import loop, measuring, output
from weft.cli.measuring import Measured


@click.command(epilog="\b\nExamples:\n  weft bench\n  DATABASE_URL=postgresql://… weft bench --tasks 20000 --yes")
@click.option("--tasks", type=click.IntRange(100, 1_000_000), default=10_000, show_default=True, metavar="N",
              help="How many to enqueue and run.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(1, 600), default=15.0, show_default=True, metavar="N",
              help="How long to count what an idle worker asks.")  # fmt: skip
@click.option("--yes", is_flag=True, help="Do not ask before using the database of DATABASE_URL.")
@output.as_json
def bench(*, tasks: int, seconds: float, yes: bool, as_json: bool) -> None:
    """Measure Weft on your database: how fast it is, and what it asks of it.

    One worker with the product's defaults runs tasks that do nothing. They stay in the history, as kind weft.bench.
    The comparison with other queues is `make bench` in Weft's own repository.
    """
    settings = config.load()
    if settings.database_url is not None and not yes:
        click.confirm(f"This leaves {tasks:,} finished tasks in the history of DATABASE_URL. Go on?", abort=True, err=True)
    measured = loop.run(_measure(App(settings=settings), tasks=tasks, seconds=seconds))
    output.write_json(dataclasses.asdict(measured)) if as_json else _show(measured)


async def _measure(app: App, *, tasks: int, seconds: float) -> Measured:
    with output.steps(5) as say:
        async with app:
            return await measuring.measure(app, tasks=tasks, seconds=seconds, say=say)


def _show(measured: Measured) -> None:
    table = output.grid()
    for what, value in (
        ("tasks enqueued per second, many at a time", f"{measured.enqueue_per_second:,.0f}"),
        ("tasks run per second, one worker process", f"{measured.drain_per_second:,.0f}"),
        ("enqueue to result, median", f"{measured.latency_median * 1000:.1f} ms"),
        ("enqueue to result, 99 %", f"{measured.latency_99 * 1000:.1f} ms"),
        ("transactions per 1,000 tasks run", f"{measured.transactions_per_thousand:,.0f}"),
        ("transactions per second of an idle worker that leads", f"{measured.idle_transactions_per_second:.1f}"),
        ("transactions per second of everybody else", f"{measured.others_per_second:.1f}"),
    ):
        table.add_row(what, value)
    output.console().print(table)
