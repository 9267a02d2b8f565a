"""`weft agent`: runs an agent, which does the work of AFL's event facets."""

import click

from weft.agent import Agent
from weft.base import errors
from weft.cli import output, running
from weft.cli.worker import worker
from weft.sdk import loading

_NAMES = ("agent", "app")


@click.group()
def agent() -> None:
    """Run agents, which do the work of AFL's event facets."""


@agent.command(
    epilog="""\b
Examples:
  weft agent run geo
  weft agent run shop.agents:geo -q geo,default -c 20
  weft agent run geo --http https://weft.example.com --key weftw_…"""
)
@click.argument("module", metavar="MODULE[:AGENT]")
@click.pass_context
def run(ctx: click.Context, /, *, module: str, **told: object) -> None:
    """Run the Agent of MODULE (its `agent`, or the one named) until stopped. Task lists are queues: -q names those it
    serves."""
    target = found(module)
    ctx.invoke(worker, target=target, **told)


# everything that a worker can be told
run.params += [one for one in worker.params if isinstance(one, click.Option)]


@agent.command(epilog="\b\nExamples:\n  weft agent handlers geo\n  weft agent handlers shop.agents:geo --json")
@click.argument("module", metavar="MODULE[:AGENT]")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def handlers(module: str, as_json: bool) -> None:
    """Say what the Agent of MODULE handles. Nothing is run."""
    loaded = running.load_app(found(module))
    names = loaded.handlers() if isinstance(loaded, Agent) else sorted(loaded.registry.kinds())
    rows = [{"handler": name, "every": name in loaded.shorts} for name in names]
    if as_json:
        output.write_json(rows)
        return
    for name in names:
        click.echo(f"{name}  (every facet of this last name)" if name in loaded.shorts else name)


def found(module: str) -> str:
    """`module:name` of the agent that is meant."""
    if ":" in module:
        return module
    for name in _NAMES:
        try:
            loading.load(f"{module}:{name}")
        except errors.ConfigError as error:
            if "no module" in str(error):
                raise
            continue
        return f"{module}:{name}"
    raise errors.ConfigError(f"{module} has no agent; write `agent = Agent()` in it, or name yours: {module}:mine")
