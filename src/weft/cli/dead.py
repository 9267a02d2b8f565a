"""`weft dead`: tasks that used up their attempts, or their workers, and what becomes of them."""

import getpass
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import click

from weft.base import errors, ids
from weft.cli import running, screen
from weft.queue import tasks
from weft.queue.model import TaskView

_PAGE = 500

as_json = click.option("--json", "as_json", is_flag=True, help="Write JSON.")
of_kind = click.option("--kind", metavar="NAME", help="Only tasks of this kind.")
of_queue = click.option("--queue", metavar="NAME", help="Only tasks of this queue.")
every = click.option("--all", "every", is_flag=True, help="All that match, instead of naming ids.")

Change = Callable[..., Awaitable[list[uuid.UUID]]]


@click.group()
def dead() -> None:
    """The dead letter list: look, redrive, discard."""


@dead.command(name="list", epilog="Example: weft dead list --kind send_email")
@of_kind
@of_queue
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="At most so many.")
@as_json
def list_dead(*, kind: str | None, queue: str | None, limit: int, as_json: bool) -> None:
    """Show dead tasks, newest first."""
    found = running.run(_list(kind=kind, queue=queue, limit=limit))
    if as_json:
        running.write_json(found)
        return
    for task in found:
        click.echo(f"{task.id}  {task.kind:<20} {screen.said(task)}")
    if not found:
        click.echo("nothing is dead")


@dead.command(epilog="\b\nExamples:\n  weft dead redrive 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55\n"
                     "  weft dead redrive --all --kind send_email")  # fmt: skip
@click.argument("task_ids", metavar="[ID]...", nargs=-1)
@every
@of_kind
@of_queue
@as_json
def redrive(**given: Any) -> None:
    """Queue dead tasks again; their attempts are counted anew."""
    _change(tasks.redrive, word="redriven", **given)


@dead.command(epilog="Example: weft dead discard 0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
@click.argument("task_ids", metavar="[ID]...", nargs=-1)
@every
@of_kind
@of_queue
@as_json
def discard(**given: Any) -> None:
    """Take tasks off the dead letter list for good; their history stays."""
    _change(tasks.discard, word="discarded", **given)


def _change(
    change: Change, *, word: str, task_ids: Sequence[str], every: bool, kind: str | None, queue: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    if bool(task_ids) == every:
        raise click.UsageError("name the ids of the tasks, or pass --all (with --kind or --queue to choose)")
    if task_ids and (kind or queue):
        raise click.UsageError("--kind and --queue choose among --all; leave them out when you name ids")
    wanted = [_id(one) for one in task_ids]
    done = running.run(_changed(change, wanted, kind=kind, queue=queue))
    if as_json:
        running.write_json({word: done})
    else:
        click.echo(f"{len(done)} {word}")
    if len(done) < len(wanted):
        raise errors.NotFound(f"{len(wanted) - len(done)} of these tasks are not on the dead letter list")


async def _list(*, kind: str | None, queue: str | None, limit: int) -> list[TaskView]:
    async with running.opened() as app, app.tx() as tx:
        return await tasks.dead(tx, org=ids.DEFAULT_ORG, take=limit, kind=kind, queue=queue)


async def _changed(
    change: Change, wanted: Sequence[uuid.UUID], *, kind: str | None, queue: str | None
) -> list[uuid.UUID]:
    """Changes the named tasks, or all that match, a page and a transaction at a time."""
    actor = f"cli:{getpass.getuser()}"
    done: list[uuid.UUID] = []
    async with running.opened() as app:
        before: uuid.UUID | None = None
        while True:
            async with app.tx() as tx:
                page = list(wanted)
                if not page:
                    found = await tasks.dead(
                        tx, org=ids.DEFAULT_ORG, before=before, take=_PAGE, kind=kind, queue=queue
                    )  # fmt: skip
                    page = [one.id for one in found]
                if page:
                    done += await change(tx, org=ids.DEFAULT_ORG, ids=page, actor=actor)
            if wanted or len(page) < _PAGE:
                return done
            before = page[-1]


def _id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise errors.InvalidInput(f"{text!r} is not a task id (a UUID)") from None
