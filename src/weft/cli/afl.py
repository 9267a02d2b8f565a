"""`weft afl`: AFL programs in files, looked at without a server; `afl_run` saves and runs them."""

import importlib
import sys
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from weft.afl import compiling, diagnostic, drawing, formatting, lexer
from weft.afl.compiling import Compiled
from weft.afl.diagnostic import Diagnostic
from weft.cli import lsp, output
from weft.parts import afl_files
from weft.plan import model
from weft.plan.model import Plan

F = TypeVar("F")

_PATH = click.Path(path_type=Path, allow_dash=True)
_AT_MOST = 50


def program(command: F) -> F:
    """The options by which commands find a program."""
    for option in (
        click.option("--allow-external", is_flag=True, help="Calls of what is not declared wait for an agent of that name."),
        click.option("--search", multiple=True, type=_PATH, metavar="FOLDER",
                     help="Where else to look for what is used (and below). Repeatable."),
        click.option("--library", "libraries", multiple=True, type=_PATH, metavar="PATH",
                     help="A file or folder that the program uses. Repeatable."),
        click.argument("files", nargs=-1, required=True, type=_PATH),
    ):  # fmt: skip
        command = option(command)  # type: ignore[type-var]
    return command


class _Lazy(click.Group):
    """What needs a database is imported when it is used."""

    _FAR = ("run", "submit")

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *self._FAR])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._FAR:
            found: click.Command = getattr(importlib.import_module("weft.cli.afl_run"), cmd_name)
            return found
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Lazy)
def afl() -> None:
    """AFL programs: check, compile, format and draw them, save and run them."""


@afl.command(epilog="\b\nExamples:\n  weft afl check flow.afl\n  weft afl check flows/ --library shared/ --format json")
@program
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="json is for editors: rule, line, column, end, hint of each problem.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.pass_context
def check(
    ctx: click.Context, /, *, files: tuple[Path, ...], libraries: tuple[Path, ...], search: tuple[Path, ...],
    allow_external: bool, style: str, as_json: bool, strict: bool,
) -> None:  # fmt: skip
    """Say everything that is wrong with a program (exit 1), or what it declares."""
    compiled = _compiled(files, libraries, search, allow_external)
    failed = not compiled.ok or (strict and bool(compiled.diagnostics))
    if style == "json" or as_json:
        output.write_json({"valid": not failed, "diagnostics": compiled.diagnostics, "workflows": list(compiled.plans)})
        ctx.exit(1 if failed else 0)
    tell(compiled.diagnostics)
    if failed:
        ctx.exit(1)
    for name, plan in compiled.plans.items():
        click.echo(f"{name}: {_steps(plan)}, version {model.digest(plan)[:12]}")
    if not compiled.plans:
        click.echo(f"{len(compiled.walked)} declarations, no workflow")


@afl.command(name="compile", epilog="\b\nExamples:\n  weft afl compile flow.afl --workflow geo.Locate > plan.json\n"
             "  weft afl compile flow.afl --json")  # fmt: skip
@program
@click.option("--workflow", metavar="NAME", help="Only this workflow's plan.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON (it is always JSON).")
@click.pass_context
def compile_(
    ctx: click.Context, /, *, files: tuple[Path, ...], libraries: tuple[Path, ...], search: tuple[Path, ...],
    allow_external: bool, workflow: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Write the plans of a program's workflows as JSON."""
    del as_json
    compiled = _compiled(files, libraries, search, allow_external)
    tell(compiled.diagnostics, stderr=True)
    if not compiled.ok:
        ctx.exit(1)
    if workflow is not None:
        click.echo(msgspec.json.format(model.encode(chosen(compiled, workflow)), indent=2).decode())
        return
    output.write_json({name: msgspec.Raw(model.encode(plan)) for name, plan in compiled.plans.items()})


@afl.command(epilog="\b\nExamples:\n  weft afl fmt flow.afl flows/\n  weft afl fmt --check .\n  weft afl fmt - < flow.afl")
@click.argument("files", nargs=-1, required=True, type=_PATH)
@click.option("--check", "only_check", is_flag=True, help="Change nothing; exit 1 if something would change.")
@output.as_json
@click.pass_context
def fmt(ctx: click.Context, /, *, files: tuple[Path, ...], only_check: bool, as_json: bool) -> None:
    """Format files in place, or stdin to stdout. Only space changes; what cannot be read stays as it is (exit 1)."""
    changed: list[str] = []
    unreadable = diagnostic.Report()
    for path in afl_files.named(files):
        source = afl_files.load(path)
        lexer.lex(source, unreadable)
        made = formatting.format_text(source.text)
        if str(path) == "-" and not only_check:
            sys.stdout.write(made)
        elif made != source.text:
            changed.append(str(path))
            if not only_check:
                afl_files.replace(path, made)
    if as_json:
        output.write_json({"changed": changed})
    else:
        for name in changed:
            click.echo(f"{'would format' if only_check else 'formatted'} {name}")
    tell(unreadable.diagnostics(), stderr=True)
    if unreadable.failed or (only_check and changed):
        ctx.exit(1)


@afl.command(epilog="\b\nExamples:\n  weft afl graph flow.afl\n  weft afl graph flow.afl --workflow Locate --format mermaid")
@program
@click.option("--workflow", metavar="NAME", help="Which one, if there are several.")
@click.option("--format", "style", type=click.Choice(["text", "mermaid", "dot"]), default="text", show_default=True,
              help="For the terminal, for Markdown, for Graphviz.")  # fmt: skip
@click.pass_context
def graph(
    ctx: click.Context, /, *, files: tuple[Path, ...], libraries: tuple[Path, ...], search: tuple[Path, ...],
    allow_external: bool, workflow: str | None, style: str,
) -> None:  # fmt: skip
    """Draw a workflow: its blocks, their steps and what these wait for."""
    compiled = _compiled(files, libraries, search, allow_external)
    if not compiled.ok:
        tell(compiled.diagnostics, stderr=True)
        ctx.exit(1)
    draw = {"text": drawing.text, "mermaid": drawing.mermaid, "dot": drawing.dot}[style]
    picked = [chosen(compiled, workflow)] if workflow else list(compiled.plans.values())
    if not picked:
        raise click.UsageError("there is no workflow in these files")
    for plan in picked:
        click.echo(draw(plan))


@afl.command(name="lsp", epilog="\b\nExample (an editor starts it):\n  weft afl lsp")
def language_server() -> None:
    """Serve editors over stdin and stdout: diagnostics, definitions, documentation, completion."""
    lsp.serve(sys.stdin.buffer, sys.stdout.buffer)


def _compiled(
    files: tuple[Path, ...], libraries: tuple[Path, ...], search: tuple[Path, ...], allow_external: bool
) -> Compiled:
    return compiling.compile_sources(afl_files.program(files, libraries, search), allow_external=allow_external)


def chosen(compiled: Compiled, workflow: str) -> Plan:
    found = [name for name in compiled.plans if name == workflow or name.rpartition(".")[2] == workflow]
    if len(found) != 1:
        there = ", ".join(compiled.plans) or "none"
        raise click.UsageError(f"--workflow {workflow!r} names {len(found) or 'no'} workflow here; there is {there}")
    return compiled.plans[found[0]]


def tell(diagnostics: list[Diagnostic], *, stderr: bool = False) -> None:
    for one in diagnostics[:_AT_MOST]:
        click.echo(_plain(f"{one}\n{diagnostic.excerpt(one)}"), err=stderr)
    if len(diagnostics) > _AT_MOST:
        click.echo(f"… and {len(diagnostics) - _AT_MOST} more", err=stderr)


def _plain(text: str) -> str:
    """Source is shown as it is, but a terminal obeys escapes."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)


def _steps(plan: Plan) -> str:
    nodes: list[Any] = [node for block in plan.blocks for node in block.nodes]
    tasks = sum(isinstance(node.work, model.Task) for node in nodes)
    return f"{len(plan.blocks)} blocks, {len(nodes)} nodes, {tasks} tasks"
