"""`weft afl handlers`: what agents must handle for a program, and which of it nobody does."""

from pathlib import Path
from typing import Any

import click

from weft.afl import compiling
from weft.afl.working import PROMPT_KIND, SCRIPT_KIND
from weft.base import errors
from weft.cli import connecting, loop, output
from weft.cli.connecting import Where
from weft.client import client as clients
from weft.parts import afl_files
from weft.plan.model import Task


@click.command(epilog="\b\nExamples:\n  weft afl handlers geocoding.afl\n  weft afl handlers --flow geocoding --json")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--library", "libraries", multiple=True, type=click.Path(path_type=Path), metavar="PATH",
              help="A file or folder that the program uses. Repeatable.")  # fmt: skip
@click.option("--flow", metavar="NAME", help="A saved flow, by name or id: says how many live agents handle each.")
@connecting.options
@output.as_json
def handlers(
    *, files: tuple[Path, ...], libraries: tuple[Path, ...], flow: str | None, where: Where, as_json: bool
) -> None:
    """List the event facets that agents must handle, of a program in FILES or of a saved flow."""
    if bool(files) == (flow is not None):
        raise click.UsageError("name the program's FILES, or a saved flow with --flow")
    found: list[dict[str, Any]]
    if flow is not None:
        found = loop.run(_served(flow, where))
    else:
        compiled = compiling.compile_sources(afl_files.program(files, libraries, ()), allow_external=True)
        if not compiled.ok:
            raise errors.InvalidFlow(str(compiled.diagnostics[0]))
        kinds = {
            node.work.kind for plan in compiled.plans.values() for block in plan.blocks for node in block.nodes
            if isinstance(node.work, Task)
        }  # fmt: skip
        found = [{"handler": kind} for kind in sorted(kinds - {SCRIPT_KIND, PROMPT_KIND})]
    if as_json:
        output.write_json(found)
        return
    for one in found:
        agents = one.get("agents")
        told = "" if agents is None else "  nobody handles it" if not agents else f"  {agents} agents"
        click.echo(f"{one['handler']}{told}")


async def _served(flow: str, where: Where) -> list[dict[str, Any]]:
    async with connecting.connected(where) as client:
        async for one in client.pages("/v1/flows", query={"name_prefix": flow}, most=1000):
            if one["name"] == flow:
                flow = one["id"]
                break
        try:
            path = clients.path("/v1/flows/{}/handlers", flow)
            items: list[dict[str, Any]] = (await client.get(path))["items"]
        except errors.NotFound:
            raise errors.NotFound(f"there is no flow {flow!r}; `weft afl submit` saves one") from None
    return items
