"""A server in this process: the API on a port, and a node that may lead upkeep."""

import contextlib
import logging
from collections.abc import AsyncIterator

from weft.api import browser, server, serving
from weft.api.demo import Stage
from weft.api.server import LogRequestId
from weft.app import App
from weft.base import plain
from weft.cli import running
from weft.cli.stopping import Stopping
from weft.cluster import leaders
from weft.contrib.aiopslab.application import APPLICATION
from weft.web import bundle
from weft.web.pages import Pages

PORT = 8712
HOST = "127.0.0.1"

_FORMAT = "%(asctime)s %(levelname)-7s %(name)s %(request_id)s: %(message)s"


@contextlib.asynccontextmanager
async def served(
    app: App, *, host: str = HOST, port: int = PORT, lead: bool = True, demo: Stage | None = None
) -> AsyncIterator[str]:
    """The API of an app's database while the block lasts; answers its address."""
    database = await app.open()
    await serving.must_be_guarded(database, host=host)
    listener = serving.listen(host, port)
    rules = browser.Rules(browser.hosts(host, told=app.settings.hosts))
    roles = ("gateway", leaders.SCHEDULER) if lead else ("gateway",)
    with contextlib.closing(listener):
        port = listener.getsockname()[1]
        async with app.node(roles=roles, http_port=port) as hub:
            built = server.build(
                database, hub=hub, rules=rules, applications=[APPLICATION], queries=app.queries, node=app.node_id,
                pages=Pages(bundle.load(), policy=browser.PAGE), demo=demo,
            )  # fmt: skip
            async with serving.serving(built, listener=listener):
                yield serving.address(listener)


async def serve(app: App, *, host: str, port: int, lead: bool, greet: str) -> None:
    """Serves until a signal comes."""
    stopping = Stopping()
    stopping.install()
    async with app, served(app, host=host, port=port, lead=lead) as url:
        running.ready()
        logging.getLogger("weft.cli").info("%s at %s; Ctrl-C stops it", greet, url)
        await stopping.asked.wait()


def set_up_logging(level: str) -> None:
    """Lines on stderr, each with the id of the request it belongs to."""
    handler = logging.StreamHandler()
    handler.setFormatter(plain.Formatter(_FORMAT))
    handler.addFilter(LogRequestId())
    logging.basicConfig(level=level.upper(), handlers=[handler])
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
