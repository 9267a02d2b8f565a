"""`weft aiopslab serve` and `weft aiopslab worker`: the processes."""

import asyncio
import logging
import os
import re

import click

from weft.api import browser, server, serving
from weft.app import App
from weft.base import errors
from weft.cli import running
from weft.cli import serving as processes
from weft.cli.stopping import Stopping
from weft.cli.worker import LEVELS
from weft.client.client import Client
from weft.cluster import leaders
from weft.contrib.aiopslab import worker as workers
from weft.contrib.aiopslab.application import APPLICATION, OPERATIONS, PREFIX
from weft.contrib.aiopslab.speech import AIOPSLAB

PORT = 8713
_ID = re.compile(r"worker-[0-9]{3}-kind")


@click.command(epilog="\b\nExamples:\n  weft aiopslab serve\n  weft aiopslab serve --port 8000")
@click.option("--host", metavar="ADDRESS", default=processes.HOST, show_default=True,
              help="Where to listen. Other than loopback only if a key exists.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: any free one.")
@click.option("--lead/--no-lead", default=True, show_default=True, help="Whether this server may lead upkeep.")
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help="What to log.")
def serve(*, host: str, port: int, lead: bool, log_level: str) -> None:
    """Serve the AIOpsLab API alone, at the root: POST /tasks. (`weft server` serves it below /aiopslab.)

    As long as no key exists everybody on this machine may come in; with the first key, only those who have one.
    """
    processes.set_up_logging(log_level)
    running.run(_serve(App(), host=host, port=port, lead=lead))


async def _serve(app: App, *, host: str, port: int, lead: bool) -> None:
    stopping = Stopping()
    stopping.install()
    async with app:
        database = await app.open()
        await serving.must_be_guarded(database, host=host)
        listener = serving.listen(host, port)
        rules = browser.Rules(browser.hosts(host, told=app.settings.hosts))
        roles = ("gateway", leaders.SCHEDULER) if lead else ("gateway",)
        async with app.node(roles=roles, http_port=listener.getsockname()[1]) as hub:
            # below its prefix too, where the other commands look for it
            application = server.build(
                database, hub=hub, rules=rules, operations=OPERATIONS, dialect=AIOPSLAB, applications=[APPLICATION]
            )
            async with serving.serving(application, listener=listener):
                where = serving.address(listener)
                logging.getLogger("weft.cli").info("AIOpsLab is ready at %s; Ctrl-C stops it", where)
                await stopping.asked.wait()


def _agents(_ctx: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for one in value:
        name, equals, target = one.partition("=")
        if not equals or not name or ":" not in target:
            raise click.BadParameter(f"{one!r} is not NAME=module:Class")
        found[name] = target
    return found


@click.command(
    epilog="""\b
Examples:
  weft aiopslab worker --id worker-001-kind --backend-type default
  weft aiopslab worker --id worker-002-kind --executor orchestrator --agent gpt=my_agents:Gpt --kubeconfig ~/.kube/kind-2
  weft aiopslab worker --id worker-003-kind --executor service --service-url http://lab:1818"""
)
@click.option("--id", "id", required=True, metavar="ID", help="worker-001-kind: the name of its cluster.")
@click.option("--backend-type", default="default", show_default=True, metavar="NAME", help="What kind of backend it has.")
@click.option("--server", metavar="URL", envvar="WEFT_AIOPSLAB_SERVER",
              default=f"http://{processes.HOST}:{processes.PORT}{PREFIX}", show_default=True,
              help="Where the API is: below /aiopslab of a Weft server, or the root of `weft aiopslab serve`.")  # fmt: skip
@click.option("--key", envvar="WEFT_KEY", metavar="KEY", help="A worker key; better in WEFT_KEY, where nobody sees it.")
@click.option("--executor", default="simulated", show_default=True, metavar="NAME",
              help="simulated, orchestrator, service, or your own as module:function.")  # fmt: skip
@click.option("--parallel", type=click.IntRange(1, 1000), default=1, show_default=True, help="Problems at a time.")
@click.option("--problem", "problems", multiple=True, metavar="GLOB", help="Only such problems, e.g. 'k8s_*'. Repeatable.")
@click.option("--agent", "agents", multiple=True, callback=_agents, metavar="NAME=MODULE:CLASS",
              help="An agent tasks may ask for, with --executor orchestrator. Repeatable; the first is usual.")  # fmt: skip
@click.option("--service-url", metavar="URL", help="The AIOpsLab service, with --executor service.")
@click.option("--cluster", metavar="NAME", help="AIOPSLAB_CLUSTER of the problems. Default: the worker's id.")
@click.option("--kubeconfig", metavar="FILE", help="KUBECONFIG of the problems. Default: the worker's own.")
@click.option("--env", "passed", multiple=True, metavar="NAME", help="A variable that problems get too. Repeatable.")
@click.option("--grace", type=click.FloatRange(0.1, 600), default=5.0, show_default=True, metavar="SECONDS",
              help="Between SIGINT, SIGTERM and SIGKILL to a problem that must end.")  # fmt: skip
@click.option("--patience", type=click.FloatRange(0, 86400), default=30.0, show_default=True, metavar="SECONDS",
              help="How long problems may go on after a stop signal.")  # fmt: skip
@click.option("--poll", type=click.FloatRange(0.05, 60), default=2.0, show_default=True, metavar="SECONDS",
              help="How often to ask for work when there is none.")  # fmt: skip
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help="What to log.")
def worker(
    *, id: str, server: str, key: str | None, executor: str, parallel: int, problems: tuple[str, ...], patience: float,
    agents: dict[str, str], service_url: str | None, log_level: str, **told: object,
) -> None:  # fmt: skip
    """Run problems for a server, each in a process of its own, until stopped.

    SIGTERM or Ctrl-C: no more is claimed, and what runs may finish. What does not within --patience is ended, and has
    failed: a problem is never begun twice.
    """
    if not _ID.fullmatch(id):
        raise errors.InvalidInput(f"{id!r} is no worker's id; write worker-001-kind")
    if executor not in ("simulated", "orchestrator", "service") and ":" not in executor:
        raise errors.InvalidInput(f"there is no executor {executor!r}: simulated, orchestrator, service or module:function")
    processes.set_up_logging(log_level)
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    options = {"agents": agents, **({"service_url": service_url} if service_url else {})}
    setup = workers.Setup(id=id, executor=executor, places=parallel, problems=problems, options=options, **told)  # type: ignore[arg-type]
    # what it is told by the environment is not for the problems
    os.environ.pop("WEFT_KEY", None)
    running.run(_work(server, key, setup=setup, patience=patience))


async def _work(server: str, key: str | None, *, setup: workers.Setup, patience: float) -> None:
    stopping = Stopping()
    stopping.install()
    async with Client(server, key, tries=1) as client:
        working = workers.Worker(client, setup)
        logging.getLogger("weft.cli").info("%s works for %s; Ctrl-C stops it", setup.id, server)
        run = asyncio.create_task(working.run(patience=patience))
        asked = asyncio.create_task(stopping.asked.wait())
        stopping.hurry = run.cancel  # type: ignore[assignment]
        await asyncio.wait([run, asked], return_when=asyncio.FIRST_COMPLETED)
        working.stop()
        asked.cancel()
        try:
            await run
        except asyncio.CancelledError:
            logging.getLogger("weft.cli").warning("what still ran was ended")
