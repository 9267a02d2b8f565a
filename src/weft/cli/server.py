"""`weft server`: the API and upkeep. Run as many as you like; one leads."""

import click

from weft.app import App
from weft.cli import running, serving
from weft.cli.worker import LEVELS


@click.command(epilog="\b\nExamples:\n  weft server\n  weft server app:app\n"
                      "  weft server --host 0.0.0.0 --port 80 --log-level warning")  # fmt: skip
@click.argument("target", metavar="[MODULE:APP]", required=False)
@click.option("--host", metavar="ADDRESS", default=serving.HOST, show_default=True,
              help="Where to listen. Other than loopback only if a key exists.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=serving.PORT, show_default=True, help="0: any free one.")
@click.option("--lead/--no-lead", default=True, show_default=True, help="Whether this server may lead upkeep.")
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help="What to log.")
def server(*, target: str | None, host: str, port: int, lead: bool, log_level: str) -> None:
    """Serve the HTTP API, and lead upkeep if nobody else does.

    Every request needs a key: `weft key create NAME --role writer`. What there is to ask for: GET /v1/openapi.json. With
    MODULE:APP it also answers the live queries of that app.
    """
    serving.set_up_logging(log_level)
    app = App() if target is None else running.load_app(target)
    running.run(serving.serve(app, host=host, port=port, lead=lead, greet="weft server is ready"))
