"""`GET /v1/tasks` and `/v1/tasks/counts`: what waits, runs and has ended, as one list, and how much of it there is."""

import datetime as dt
import uuid
from typing import Annotated, Any

import msgspec

from weft.api import fields, pages
from weft.api.operation import Call, Operation
from weft.api.shown import shown as made_of
from weft.queue import counts as kernel_counts
from weft.queue import search
from weft.queue.model import FinalState, LiveState, Reason
from weft.queue.search import AskedState, Filter, TaskSummary

States = Annotated[
    tuple[AskedState, ...],
    msgspec.Meta(
        max_length=10,
        description="May be given several times. `queued` is `scheduled`, `blocked` and `ready`; `dead` stands alone.",
    ),
]


class TaskQuery(pages.Paging, forbid_unknown_fields=True, kw_only=True):
    """Which tasks. Times are those of the id, to the millisecond; from `created_after` on and before `created_before`."""

    state: States = ()
    kind: fields.Name | None = None
    queue: fields.Name | None = None
    tag: fields.Name | None = None
    correlation_id: fields.Key | None = None
    run_id: uuid.UUID | None = None
    job_id: uuid.UUID | None = None
    parent_id: uuid.UUID | None = None
    error_type: fields.Key | None = None
    created_after: fields.Instant | None = None
    created_before: fields.Instant | None = None


class ListedTask(msgspec.Struct, kw_only=True):
    """A task as lists show it: all but payload, result and traceback."""

    id: uuid.UUID
    kind: str
    queue: str
    state: LiveState | FinalState
    reason: Reason | None
    priority: int
    attempt: int
    max_attempts: int | None
    losses: int
    created_at: dt.datetime
    run_at: dt.datetime
    claimed_at: dt.datetime | None
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    node_id: uuid.UUID | None
    tags: list[str]
    concurrency_key: str | None
    dedupe_key: str | None
    correlation_id: str | None
    parent_id: uuid.UUID | None
    run_id: uuid.UUID | None
    job_id: uuid.UUID | None
    progress: int | None
    progress_message: str | None
    cancelling: bool
    error_type: str | None
    error_message: str | None
    """At most 300 characters of it."""


class TaskPage(msgspec.Struct):
    """Some tasks, newest first. With `scanned_until` the page is short because looking further would take too long:
    everything made since then was looked at, and `next_cursor` goes on."""

    items: list[ListedTask]
    next_cursor: str | None
    scanned_until: dt.datetime | None


class TaskPlace(msgspec.Struct, frozen=True):
    """Where a page of tasks ended."""

    id: uuid.UUID


class Count(msgspec.Struct):
    """A number; with `at_least` there may be more: nothing is counted further than it is worth knowing."""

    count: int
    at_least: bool


class TaskCounts(msgspec.Struct, kw_only=True):
    """How many tasks are in each state. `dead` are those of `failed` and `timed_out` that can be redriven."""

    scheduled: Count
    blocked: Count
    ready: Count
    running: Count
    completed: Count
    failed: Count
    timed_out: Count
    cancelled: Count
    dead: Count


async def page(call: Call[None, TaskQuery]) -> TaskPage:
    query = call.query
    wanted = Filter(
        states=tuple(dict.fromkeys(query.state)), kind=query.kind, queue=query.queue, tag=query.tag,
        correlation_id=query.correlation_id, run_id=query.run_id, job_id=query.job_id, parent_id=query.parent_id,
        error_type=query.error_type, created_after=query.created_after, created_before=query.created_before,
    )  # fmt: skip
    place = query.place(TaskPlace)
    async with call.tx() as tx:
        found = await search.page(
            tx, org=call.principal.org, filter=wanted, before=place.id if place else None, limit=query.limit
        )
    return shown_page(found)


async def counts(call: Call[None, None]) -> TaskCounts:
    async with call.tx() as tx:
        found = await kernel_counts.by_state(tx, org=call.principal.org)
    return TaskCounts(**{state: shown_count(one) for state, one in found.items()})


def shown_page(found: search.Page) -> TaskPage:
    cursor = None if found.before is None else pages.encode(TaskPlace(found.before))
    return TaskPage([shown(task) for task in found.tasks], cursor, found.scanned_until)


def shown(task: TaskSummary) -> ListedTask:
    """A task of a list, for whoever may see it."""
    return made_of(ListedTask, task, tags=task.tags or [])


def shown_count(count: kernel_counts.Count) -> Count:
    return Count(count.count, count.at_least)


EXAMPLE: dict[str, Any] = {
    "id": "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f", "kind": "send_email", "queue": "default", "state": "failed",
    "reason": "dead", "priority": 50, "attempt": 3, "max_attempts": None, "losses": 0,
    "created_at": "2026-01-05T09:30:00Z", "run_at": "2026-01-05T09:31:30Z", "claimed_at": "2026-01-05T09:31:30.012Z",
    "started_at": "2026-01-05T09:31:30.014Z", "finished_at": "2026-01-05T09:31:30.420Z",
    "node_id": "0f8fad5b-d9cb-469f-a165-70867728950e", "tags": ["nightly"], "concurrency_key": None, "dedupe_key": None,
    "correlation_id": "request-17", "parent_id": None, "run_id": None, "job_id": None, "progress": None,
    "progress_message": None, "cancelling": False, "error_type": "ConnectionError", "error_message": "mail server is away",
}  # fmt: skip
_SOME = {"count": 10000, "at_least": True}
_FEW = {"count": 3, "at_least": False}

OPERATIONS = (
    Operation(
        "GET", "/v1/tasks", action="task.read", handler=page, summary="Tasks, newest first",
        description="What waits, what runs and what has ended, as one list. A page looks at no more than some 10,000 tasks "
        "that wait and as many that ended: a filter that matches few may answer a short or empty page with "
        "`scanned_until`; go on with `next_cursor`.",
        query=TaskQuery, answer=TaskPage, example={"state": ["failed"], "kind": "send_email", "limit": 20},
        answer_example={"items": [EXAMPLE], "next_cursor": None, "scanned_until": None},
    ),
    Operation(
        "GET", "/v1/tasks/counts", action="task.read", handler=counts, summary="How many tasks are in each state",
        description="Exact up to 10,000 per state, then `at_least`. `completed` counts among the 10,000 newest that ended.",
        answer=TaskCounts,
        answer_example={"scheduled": _FEW, "blocked": _FEW, "ready": _SOME, "running": _FEW, "completed": _SOME,
                        "failed": _FEW, "timed_out": _FEW, "cancelled": _FEW, "dead": _FEW},
    ),
)  # fmt: skip
