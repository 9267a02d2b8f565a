"""`weft afl submit` and `weft afl run`: programs saved on a server or in the local database, and run right here."""

import asyncio
import contextlib
import datetime as dt
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import RenderableType
from rich.text import Text

from weft.afl.diagnostic import Diagnostic
from weft.app import App
from weft.base import errors, ids, json
from weft.cli import connecting, output, running, showing
from weft.cli.afl import program, tell
from weft.cli.connecting import Where
from weft.client.client import Client
from weft.flows import look, programs
from weft.flows.look import RunView, StepView
from weft.flows.model import OVER
from weft.flows.programs import Program
from weft.parts import afl_files
from weft.sdk import loading

_EVERY = 0.2
_PATIENCE = 3.0
"""Seconds without news after which it is said what is waited for."""
_PAGE = 500
_SHARE = 10
"""Of the time, at most one in so many is spent looking: to find what is new takes the longer the more steps there are."""
_MARKS = {"completed": "●", "failed": "✗", "timed_out": "✗", "cancelled": "–", "running": "◐"}
_AGENTS = ("agent", "app")


@click.command(epilog="\b\nExamples:\n  weft afl submit geocoding.afl\n  weft afl submit flows/ --name nightly")
@program
@click.option("--name", metavar="NAME", help="What the flow is called; the file's name, unless given.")
@connecting.options
@output.as_json
@click.pass_context
def submit(
    ctx: click.Context, /, *, files: tuple[Path, ...], libraries: tuple[Path, ...], search: tuple[Path, ...],
    allow_external: bool, name: str | None, where: Where, as_json: bool,
) -> None:  # fmt: skip
    """Save a program: a new flow, or a new version of the one of its name."""
    compiled = _compiled(ctx, files, libraries, search, allow_external, name)
    body = {
        "name": compiled.name, "path": compiled.path, "allow_external": allow_external,
        "sources": [{"name": one.name[-255:], "text": one.text, "library": one.library} for one in compiled.sources],
    }  # fmt: skip

    async def look(client: Client) -> Any:
        return await client.post("/v1/flows", body)

    def shown(found: Any) -> RenderableType:
        head = f"{found['name']}: version {found['version_number']} ({found['version'][:12]})"
        return Text("\n".join(map(showing.plain, [head, *(f"  {one}" for one in found["workflow_names"])])))

    showing.present(look, shown, where=where, every=None, as_json=as_json)


@click.command(epilog="\b\nExamples:\n  weft afl run hello.afl --agent agents -p name=Ada\n"
               "  weft afl run geocoding.afl --workflow Locate -p address=Ulm --agent geo --json")  # fmt: skip
@program
@click.option("--workflow", metavar="NAME", help="Which one, if there are several.")
@click.option("-p", "--param", "given", multiple=True, metavar="NAME=VALUE", help="A param; JSON if it can be read as such.")
@click.option("--params", "whole", metavar="JSON", help="All params as one JSON object.")
@click.option("--agent", metavar="MODULE[:NAME]", help="The agent or app whose handlers do the work, in this process.")
@click.option("--name", metavar="NAME", help="What the flow is called; the file's name, unless given.")
@click.option("--task-list", metavar="QUEUE", help="The queue its work goes to.")
@output.as_json
@click.pass_context
def run(
    ctx: click.Context, /, *, files: tuple[Path, ...], libraries: tuple[Path, ...], search: tuple[Path, ...],
    allow_external: bool, workflow: str | None, given: Sequence[str], whole: str | None, agent: str | None,
    name: str | None, task_list: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Save a program, run a workflow of it here, and print what it comes to; exit 1 unless it completes.

    What happens is told on stderr. The work is done by --agent, scripts and prompts by this process; what else there is
    waits for agents elsewhere. If you stop this, the run is not lost: any worker goes on with it.
    """
    params = _params(given, whole)
    compiled = _compiled(ctx, files, libraries, search, allow_external, name)

    async def act() -> RunView:
        async with running.opened(None if agent is None else _agent(agent)) as app:
            await app.flows.keep(compiled)
            async with app.worker(concurrency=10, grace=5.0):
                started = await app.flows.start(compiled.name, workflow, params, task_list=task_list)
                return await _followed(app, started.id)

    with contextlib.suppress(KeyboardInterrupt):
        found = running.run(act())
        if as_json:
            output.write_json({"run_id": found.id, "state": found.state, "output": found.output, "error": found.error})
        elif found.state == "completed":
            output.write_json(found.output)
        else:
            why = found.error or {}
            where = f" in {why.get('step', why['node'])!r}" if "node" in why else ""
            click.echo(showing.plain(f"{found.state}{where}: {why.get('type')}: {why.get('message')}"), err=True)
        ctx.exit(0 if found.state == "completed" else 1)
    ctx.exit(130)


def _compiled(
    ctx: click.Context, files: tuple[Path, ...], libraries: tuple[Path, ...], search: tuple[Path, ...],
    allow_external: bool, name: str | None,
) -> Program:  # fmt: skip
    sources = afl_files.program(files, libraries, search)
    said = name or (files[0].resolve().stem if len(files) == 1 and str(files[0]) != "-" else None)
    try:
        found = programs.compile_flow(sources, name=said, path=str(files[0]), allow_external=allow_external)
    except errors.InvalidFlow as error:
        if not error.details.get("problems"):
            raise
        tell(msgspec.convert(error.details["problems"], list[Diagnostic]), stderr=True)
        ctx.exit(1)
    tell(found.warnings, stderr=True)
    return found


def _agent(named: str) -> str:
    """`module:name`; of a module alone its `agent`, else its `app`."""
    if ":" in named:
        return named
    for one in _AGENTS[:-1]:
        with contextlib.suppress(errors.ConfigError):
            loading.load(f"{named}:{one}")
            return f"{named}:{one}"
    return f"{named}:{_AGENTS[-1]}"


def _params(given: Sequence[str], whole: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if whole is not None:
        try:
            found = json.parsed(whole, what="--params")
        except ValueError as error:
            raise click.UsageError(f"--params is no JSON: {error}") from None
        if not isinstance(found, dict):
            raise click.UsageError("--params must be a JSON object")
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise click.UsageError(f"-p {one!r} is not NAME=VALUE")
        try:
            found[name] = json.parsed(value, what=f"-p {name}")
        except ValueError:
            found[name] = value
    return found


async def _followed(app: App, id: uuid.UUID) -> RunView:
    """Tells of steps as they end, until the run has ended."""
    click.echo(f"run {id}", err=True)
    last: tuple[dt.datetime, uuid.UUID] | None = None
    quiet, said = 0.0, ""
    while True:
        began, before = time.monotonic(), last
        run = await app.runs.get(id)
        while True:
            async with (await app.open()).once() as tx:
                page = await look.ended(tx, id, org=ids.DEFAULT_ORG, take=_PAGE, after=last)
            for one in page:
                click.echo(_line(one), err=True)
                assert one.finished_at is not None
                last = one.finished_at, one.id
            if len(page) < _PAGE:
                break
        if run.state in OVER:
            return run
        pause = max(_EVERY, _SHARE * (time.monotonic() - began))
        quiet = 0.0 if last != before else quiet + pause
        if quiet >= _PATIENCE:
            quiet = 0.0
            why = await app.runs.explain(id)
            if why.code != "running" and why.summary != said:
                said = why.summary
                click.echo(f"… {showing.plain(why.summary)}", err=True)
        await asyncio.sleep(pause)


def _line(step: StepView) -> str:
    name = step.node if step.element < 0 else f"{step.node}[{step.element}]"
    took = ""
    if step.started_at and step.finished_at:
        took = f"  {output.span((step.finished_at - step.started_at).total_seconds())}"
    why = f"  {output.short((step.error or {}).get('message'))}" if step.error else ""
    return showing.plain(f"{_MARKS.get(step.state, '?')} {name}{took}{why}")
