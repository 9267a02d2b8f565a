"""`weft dag`: DAGs in files, looked at without a server. What is saved: dag_definitions.py; its runs: dag_runs.py."""

from pathlib import Path
from typing import Any

import click

from weft.base import errors
from weft.cli import dag_definitions, dag_runs, given, output
from weft.cron import schedule, words
from weft.dagfile import drawing, read
from weft.dagfile.dag import Dag
from weft.plan import graph

file = click.argument("file", type=click.Path(path_type=Path, allow_dash=True))


@click.group()
def dag() -> None:
    """DAGs: check and draw files, save them, start runs, watch and mend them."""


for _command in (*dag_definitions.COMMANDS, *dag_runs.COMMANDS):
    dag.add_command(_command)


@dag.command(epilog="\b\nExamples:\n  weft dag validate nightly.yaml\n  weft dag validate - --json < nightly.json")
@file
@output.as_json
@click.pass_context
def validate(ctx: click.Context, /, *, file: Path, as_json: bool) -> None:
    """Check a DAG's file: say what is wrong, line by line (exit 1), or what it is."""
    try:
        found = read.from_text(given.text(file))
    except errors.InvalidInput as error:
        problems = error.details.get("problems") or [{"message": error.message, **error.details}]
        if as_json:
            output.write_json({"valid": False, "problems": problems})
        else:
            for one in problems:
                click.echo(_line(file, one))
        ctx.exit(1)
    facts = _facts(found)
    if as_json:
        output.write_json({"valid": True, **facts})
        return
    click.echo(f"{found.name}: {facts['tasks']} tasks, {facts['edges']} edges, {facts['levels']} levels")
    click.echo(f"version {found.version[:12]}")
    if found.cron_expression is not None:
        click.echo(f"runs {words.describe(schedule.parse(found.cron_expression))} ({found.timezone})")


@dag.command(
    name="graph",
    epilog="\b\nExamples:\n  weft dag graph nightly.yaml\n  weft dag graph nightly.yaml --format dot | dot -Tsvg",
)
@file
@click.option("--format", "style", type=click.Choice(["text", "mermaid", "dot"]), default="text", show_default=True,
              help="For the terminal, for Markdown, for Graphviz.")  # fmt: skip
@output.as_json
def draw(*, file: Path, style: str, as_json: bool) -> None:
    """Draw the tasks of a DAG's file and what they wait for."""
    found = read.from_text(given.text(file))
    if as_json:
        edges = graph.edges(found.plan)[found.plan.entry]
        output.write_json([{"name": name, "after": list(before)} for name, before in edges.upstream.items()])
        return
    click.echo({"mermaid": drawing.mermaid, "dot": drawing.dot, "text": drawing.text}[style](found))


def _line(file: Path, problem: dict[str, Any]) -> str:
    """As compilers write it, so that editors find the place."""
    place = f"{file}:{problem['line']}:{problem['column']}" if "line" in problem else str(file)
    message = problem["message"].removeprefix(f"line {problem.get('line')}, column {problem.get('column')}: ")
    return f"{place}: {message}"


def _facts(found: Dag) -> dict[str, Any]:
    edges = graph.edges(found.plan)[found.plan.entry]
    return {
        "name": found.name,
        "version": found.version,
        "tasks": len(edges.upstream),
        "edges": len(edges),
        "levels": len(graph.levels(edges)),
        "cron_expression": found.cron_expression,
        "timezone": found.timezone,
    }
