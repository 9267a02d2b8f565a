"""`weft up`: a server and a worker in one process."""

import click

from weft.app import App
from weft.cli import running, serving, working
from weft.cli.worker import LEVELS
from weft.cli.working import Work


@click.command(epilog="\b\nExamples:\n  weft up app:app\n  weft up app:app --port 80 --concurrency 200")
@click.argument("target", metavar="MODULE:APP")
@click.option("--host", metavar="ADDRESS", default=serving.HOST, show_default=True,
              help="Where to listen. Other than loopback only if a key exists.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=serving.PORT, show_default=True, help="0: any free one.")
@click.option("-c", "--concurrency", type=click.IntRange(1, 10_000), default=50, show_default=True,
              help="Tasks to run at a time.")  # fmt: skip
@click.option("--grace", type=click.FloatRange(0), default=30.0, show_default=True,
              help="Seconds that running tasks have to end when this is stopped.")  # fmt: skip
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help="What to log.")
def up(*, target: str, host: str, port: int, concurrency: int, grace: float, log_level: str) -> None:
    """Serve the HTTP API and run the tasks of MODULE:APP, in one process.

    The first signal stops the server and drains the worker. For more than one process: weft server, weft worker.
    """
    app = running.load_app(target)
    serving.set_up_logging(log_level)
    told = Work(target=target, concurrency=concurrency, grace=grace)
    running.run(_up(app, told, host=host, port=port))
    working.leave_threads()


async def _up(app: App, told: Work, *, host: str, port: int) -> None:
    async with app, serving.served(app, host=host, port=port, lead=False) as url:
        click.echo(f"weft server is ready at {url}", err=True)
        await working.serve(app, told, stay=True)
