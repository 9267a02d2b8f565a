"""What can be watched: a table of subjects, each with its action, its arguments, the tables it hangs on, and how it is read.

To add one: a Struct of its arguments, a `read` that answers what REST answers, and a line in `SUBJECTS`.
"""

import uuid
from typing import Annotated

import msgspec

from weft.api import fields, live_pages, policy, queues, task_output, task_pages, task_shape
from weft.api.live_subject import Nothing, Reading, Subject
from weft.base import errors
from weft.live import asking
from weft.live.asking import Ask
from weft.queue import counts, search, tasks
from weft.queue import queues as queue_kernel
from weft.queue.search import Filter
from weft.sdk.query import Queries, Query

QUERY = "query:"
"""Before the name of a query that the app registers."""
_NAMED = 20
"""Queries that a refusal names."""
_LINES = 500
_BYTES = 100_000
"""Of a log, at a time."""


class OfTask(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which task."""

    id: uuid.UUID


class OfLog(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Whose log, and after which line."""

    id: uuid.UUID
    after: Annotated[int, msgspec.Meta(ge=0, le=2**62)] = 0


class OfQueue(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which queue."""

    name: fields.Name


class OfTasks(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which tasks: the newest that match."""

    queue: fields.Name | None = None
    kind: fields.Name | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 50


async def task(ask: Ask) -> Reading:
    return Reading(task_shape.shown(await tasks.get(ask.tx, id=ask.args.id, org=ask.org)))


async def log(ask: Ask) -> Reading:
    # asked before the lines are read: what is logged before the end is then never missed
    ended = (await tasks.get(ask.tx, id=ask.args.id, org=ask.org)).finished_at is not None
    found = await tasks.logs(ask.tx, id=ask.args.id, org=ask.org, after=ask.after, take=_LINES)
    full = len(found) == _LINES
    size = 0
    for number, one in enumerate(found):
        size += len(one.message) + (len(str(one.fields)) if one.fields else 0)
        if size > _BYTES and number:
            found, full = found[:number], True
            break
    lines = [
        task_output.Line(id=one.id, attempt=one.attempt, at=one.at, level=one.level, message=one.message, fields=one.fields)
        for one in found
    ]
    return Reading(lines, last=lines[-1].id if lines else ask.after, over=ended and not full)


async def queue(ask: Ask) -> Reading:
    return Reading(queues.shown(await queue_kernel.get(ask.tx, org=ask.org, name=ask.args.name)))


async def all_counts(ask: Ask) -> Reading:
    found = await counts.by_state(ask.tx, org=ask.org)
    return Reading(task_pages.TaskCounts(**{state: task_pages.shown_count(one) for state, one in found.items()}))


async def newest(ask: Ask) -> Reading:
    wanted = Filter(kind=ask.args.kind, queue=ask.args.queue)
    return Reading(task_pages.shown_page(await search.page(ask.tx, org=ask.org, filter=wanted, limit=ask.args.limit)))


SUBJECTS: dict[str, Subject] = {
    one.name: one
    for one in (
        Subject(
            name="task", action="task.read", args=OfTask, tables=("tasks",), read=task, row=lambda args: args.id,
            summary="One task, as GET /v1/tasks/{id} shows it.",
        ),
        Subject(
            name="log", action="task.read", args=OfLog, tables=("tasks",), read=log, row=lambda args: args.id, tail=True,
            poll=0.5, summary="The lines of a task's log, from `after` on, as they come.",
        ),
        Subject(
            name="tasks", action="task.read", args=OfTasks, tables=("tasks",), read=newest,
            summary="The newest tasks, as GET /v1/tasks lists them.",
        ),
        Subject(
            name="counts", action="task.read", args=Nothing, tables=("tasks",), read=all_counts,
            summary="How many tasks of the org are in each state.",
        ),
        Subject(
            name="queue", action="queue.read", args=OfQueue, tables=("tasks", "queues"), read=queue, poll=5.0,
            summary="A queue with its counts and settings, as GET /v1/queues/{name} shows it.",
        ),
        *live_pages.SUBJECTS,
    )
}  # fmt: skip


def find(name: str, queries: Queries | None) -> Subject:
    """The subject of this name; NotFound, saying what there is."""
    if name.startswith(QUERY) and queries is not None and (query := queries.get(name[len(QUERY) :])) is not None:
        return _of(query)
    if (found := SUBJECTS.get(name)) is None:
        own = [f"{QUERY}{one.name}" for one in queries or ()][:_NAMED]
        raise errors.NotFound(f"there is no subject {name[:80]!r}; there are {', '.join([*SUBJECTS, *own])}")
    return found


def check() -> None:
    """ConfigError if a subject is under no policy."""
    for one in SUBJECTS.values():
        if one.action not in policy.ACTIONS:
            raise errors.ConfigError(f"the subject {one.name} has the action {one.action!r}, which the policy does not know")


def _of(query: Query) -> Subject:
    async def read(ask: Ask) -> Reading:
        return Reading(msgspec.Raw(await asking.run(query, ask)))

    # its tables may not be reactive yet, and what it answers may hang on rights that have changed
    return Subject(
        name=f"{QUERY}{query.name}", action="live.read", args=query.shape, tables=query.tables, read=read, told=False
    )
