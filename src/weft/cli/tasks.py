"""`weft tasks` and `weft explain`: one task from all sides."""

import dataclasses

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from weft.cli import running, screen
from weft.queue.explain import Explanation
from weft.queue.model import LogLine, TaskView

as_json = click.option("--json", "as_json", is_flag=True, help="Write JSON.")


@click.group()
def tasks() -> None:
    """Look at a task, its log, or cancel it."""


@tasks.command(epilog="Example: weft tasks show 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@click.argument("id")
@as_json
def show(*, id: str, as_json: bool) -> None:
    """Everything about one task, finished or not, with what its handler logged."""
    task, lines = running.run(_show(id))
    if as_json:
        running.write_json({**dataclasses.asdict(task), "log": lines})
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(_facts(task))
    for one in lines:
        fields = f"  {one.fields}" if one.fields else ""
        console.print(f"  {one.at:%H:%M:%S} attempt {one.attempt} {one.level:<8} {one.message}{fields}", markup=False)


@tasks.command(epilog="Example: weft tasks cancel 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@click.argument("id")
@as_json
@click.pass_context
def cancel(ctx: click.Context, *, id: str, as_json: bool) -> None:
    """End a task: at once if it waits, by telling its worker if it runs."""
    answer = running.run(_cancel(id))
    words = {
        "cancelled": "cancelled",
        "cancelling": "it is running; its worker was told",
        "finished": "too late: it has already ended",
        "unknown": "there is no such task",
    }
    running.write_json({"id": id, "answer": answer}) if as_json else click.echo(words[answer])
    ctx.exit(0 if answer in ("cancelled", "cancelling") else 1)


@click.command(epilog="Example: weft explain 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@click.argument("id")
@as_json
def explain(*, id: str, as_json: bool) -> None:
    """Say why a task is not running: not due, paused, no worker, a full limit, its place in line."""
    found = running.run(_explain(id))
    if as_json:
        running.write_json(found)
    else:
        click.echo("\n".join(found.reasons))


async def _show(id: str) -> tuple[TaskView, list[LogLine]]:
    async with running.opened() as app:
        return await app.get(id), await app.logs(id)


async def _cancel(id: str) -> str:
    async with running.opened() as app:
        return await app.cancel(id)


async def _explain(id: str) -> Explanation:
    """A finished task explains itself by how it ended."""
    async with running.opened() as app:
        task = await app.get(id)
        if task.finished_at is not None:
            return Explanation("finished", screen.said(task), [screen.said(task)])
        return await app.explain(id)


def _facts(task: TaskView) -> Table:
    table = Table.grid(padding=(0, 2))
    for field in dataclasses.fields(task):
        value = getattr(task, field.name)
        if value not in (None, [], {}) and field.name not in ("attempts", "error"):
            table.add_row(f"[dim]{field.name}[/dim]", escape(str(value)))
    for one in task.attempts or []:
        problem = one.get("error") or {}
        said = f"{one.get('outcome')}: {problem.get('type', '')} {problem.get('message', '')}"
        table.add_row("[dim]earlier[/dim]", escape(f"attempt {one.get('attempt')} {said}"))
    if task.error:
        told = task.error.get("traceback") or f"{task.error.get('type')}: {task.error.get('message')}"
        table.add_row("[dim]error[/dim]", escape(told.rstrip()))
    return table
