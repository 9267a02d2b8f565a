"""`weft worker-protocol check`: whether a server, and a worker in any language, keep to the protocol."""

from collections.abc import Sequence

import click
from rich.table import Table

from weft.base import errors
from weft.cli import output, running
from weft.cli.main import FAILED
from weft.net.session import Session
from weft.testing import conformance, conformance_server, conformance_worker
from weft.testing.conformance import Probe, Result, Rule


@click.group("worker-protocol")
def worker_protocol() -> None:
    """What workers and servers say to each other over HTTP, and whether they do."""


@worker_protocol.command(
    epilog="""\b
Examples:
  weft worker-protocol check http://127.0.0.1:8712 --key weftw_… --api-key weft_…
  weft worker-protocol check $URL --worker 'node examples/worker.mjs'
  weft worker-protocol check $URL --worker 'weft worker weft.cli.conformance_app:app --http $WEFT_SERVER -q $WEFT_QUEUES'

\b
The worker is told by WEFT_SERVER, WEFT_KEY and WEFT_QUEUES (serve only these), and offers three kinds:
  conformance.echo   {"value": …}    answers {"value": …}
  conformance.fail   {"message": …}  fails with this message
  conformance.sleep  {"seconds": …}  takes so long, stops when told to; answers "slept" """
)
@click.argument("url", metavar="URL")
@click.option("--key", envvar="WEFT_KEY", required=True, metavar="KEY", help="A worker key of the server.")
@click.option("--api-key", envvar="WEFT_API_KEY", required=True, metavar="KEY",
              help="A writer's key of the same org: tasks are enqueued with it.")  # fmt: skip
@click.option("--worker", metavar="COMMAND", help="Check this worker, instead of the server.")
@click.option("--only", metavar="TEXT", default="", help="Only rules whose name has this text in it.")
@output.as_json
@click.pass_context
def check(
    ctx: click.Context, *, url: str, key: str, api_key: str, worker: str | None, only: str, as_json: bool
) -> None:  # fmt: skip
    """Try every rule of the worker protocol against the server at URL, or against a worker that works for it.

    Each rule makes its own tasks in a queue of its own; nothing else is touched. Exit code 1 if a rule is broken.
    """
    rules: Sequence[Rule] = conformance_server.RULES
    if worker is not None:
        rules = conformance_worker.rules(conformance_worker.Command(worker, server=url))
    chosen = [rule for rule in rules if only.lower() in rule.name.lower()]
    if not chosen:
        raise errors.InvalidInput(f"no rule has {only!r} in its name")
    suite = "server" if worker is None else "worker"
    results = running.run(_tried(suite, chosen, url=url, key=key, api_key=api_key))
    if as_json:
        output.write_json({"suite": suite, "url": url, "passed": _passed(results), "rules": results})
    else:
        _show(results, suite=suite)
    if not _passed(results):
        ctx.exit(FAILED)


async def _tried(
    suite: str, rules: Sequence[Rule], *, url: str, key: str, api_key: str
) -> list[Result]:  # fmt: skip
    session = Session(url.rstrip("/"), headers={"user-agent": "weft worker-protocol"})
    results: list[Result] = []
    try:
        with output.progress("trying the rules", total=len(rules)) as advance:
            async for result in conformance.run(suite, rules, lambda: Probe(session, key, api_key)):
                results.append(result)
                advance(1)
    finally:
        await session.close()
    return results


def _passed(results: Sequence[Result]) -> bool:
    return all(result.problem is None for result in results)


def _show(results: Sequence[Result], *, suite: str) -> None:
    table = Table(title=f"Worker protocol: {suite}", title_justify="left")
    for heading in ("rule", "", "seconds", "problem"):
        table.add_column(heading, justify="right" if heading == "seconds" else "left")
    for result in results:
        held = "[green]pass[/]" if result.problem is None else "[red]FAIL[/]"
        table.add_row(output.escape(result.rule), held, f"{result.seconds:.1f}", output.escape(result.problem or ""))
    console = output.console()
    console.print(table)
    broken = sum(result.problem is not None for result in results)
    console.print(f"{len(results)} rules, {broken} broken" if broken else f"{len(results)} rules, all kept")
