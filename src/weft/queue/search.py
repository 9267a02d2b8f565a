"""Lists of tasks: what waits, what runs and what has ended as one list, newest first, in keyset pages by id.

A page is two statements. `find` says which tasks, at one moment; `summaries` reads them, wherever they are by then. An id
never changes when a task moves between the tables, and pages go down by id only, so that a task which was there all the
time is shown exactly once, however often it moved.

No page reads more than `WALK` rows of a place where tasks lie (a queue and state, the history, the dead letter list).
A filter without an index may therefore find little or nothing on a page that is not the last: it then says how far it
looked, and the next page goes on from there.
"""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Collection, Sequence
from typing import Any, Literal

from weft.base import errors, ids
from weft.db import statements
from weft.db.tx import Tx
from weft.queue.model import FinalState, LiveState, Reason

SQL = statements.load("weft.queue")

WALK = 10_000
PLACES = 5_000
"""(queue, state) pairs with waiting tasks that a list over all queues looks into."""

OLDEST = uuid.UUID(int=0)

AskedState = Literal[
    "queued", "scheduled", "blocked", "ready", "running", "completed", "failed", "timed_out", "cancelled", "dead"
]
"""What can be asked for: the stored states; `queued` for the three that wait; `dead` for the dead letter list."""

WAITING: tuple[LiveState, ...] = ("scheduled", "blocked", "ready")
ENDED: tuple[FinalState, ...] = ("completed", "failed", "timed_out", "cancelled")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Filter:
    """Which tasks. What is None or empty does not narrow the list."""

    states: tuple[AskedState, ...] = ()
    kind: str | None = None
    queue: str | None = None
    tag: str | None = None
    correlation_id: str | None = None
    run_id: uuid.UUID | None = None
    job_id: uuid.UUID | None = None
    parent_id: uuid.UUID | None = None
    error_type: str | None = None
    """Only of the dead letter list."""
    created_after: dt.datetime | None = None
    """By the time in the id, to the millisecond; this instant included."""
    created_before: dt.datetime | None = None


@dataclasses.dataclass(frozen=True)
class TaskSummary:
    """A task as lists show it: all but what may be large."""

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
    tags: list[str] | None
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


@dataclasses.dataclass(frozen=True)
class Found:
    """Ids of a page, newest first. `before` continues the list (None: it ends here); `cut`: the walk ended, not the page."""

    ids: list[uuid.UUID]
    before: uuid.UUID | None
    cut: bool = False

    @property
    def scanned_until(self) -> dt.datetime | None:
        """Everything made at or after this instant was looked at; None if the page is full or the list ends."""
        return ids.made_at(self.before) if self.cut and self.before is not None else None


@dataclasses.dataclass(frozen=True)
class Page:
    """Tasks, newest first, and how to go on."""

    tasks: list[TaskSummary]
    before: uuid.UUID | None
    scanned_until: dt.datetime | None


async def page(
    tx: Tx, *, org: uuid.UUID, filter: Filter, before: uuid.UUID | None = None, limit: int = 50, walk: int = WALK
) -> Page:
    """The tasks that match, made before `before` (the `before` of the page before)."""
    found = await find(tx, org=org, filter=filter, before=before, limit=limit, walk=walk)
    return Page(await summaries(tx, org=org, ids=found.ids), found.before, found.scanned_until)


async def find(
    tx: Tx, *, org: uuid.UUID, filter: Filter, before: uuid.UUID | None = None, limit: int = 50, walk: int = WALK
) -> Found:
    """The ids of a page."""
    given = arguments(filter, before=before) | {"org_id": org, "take": limit + 1, "walk": max(walk, limit + 1)}
    await tx.row(SQL.go_along_indexes)
    if "dead" in filter.states:
        edge, found = (await tx.row(SQL.find_dead, given)) or (None, [])
    else:
        edge, found, too_many = (await tx.row(SQL.find, given)) or (None, [], False)
        if too_many:
            raise errors.InvalidInput(f"tasks wait in more than {PLACES:,} queues and states; name a queue to look into")
    return ended(found, edge=edge, limit=limit)


async def summaries(tx: Tx, *, org: uuid.UUID, ids: Sequence[uuid.UUID]) -> list[TaskSummary]:
    """These tasks, in this order; one that is gone for good is left out."""
    if not ids:
        return []
    rows = await tx.rows(SQL.summaries, {"org_id": org, "ids": list(ids)})
    known = {row[0]: TaskSummary(*row) for row in rows}
    return [known[id] for id in ids if id in known]


def ended(found: Sequence[uuid.UUID], *, edge: uuid.UUID | None, limit: int) -> Found:
    """How a page ends, from up to `limit` + 1 ids and the lowest id down to which everything was seen."""
    if len(found) > limit:
        return Found(list(found[:limit]), found[limit - 1])
    return Found(list(found), edge, cut=edge is not None)


def arguments(filter: Filter, *, before: uuid.UUID | None = None) -> dict[str, Any]:
    """What the statements are told: the filter, its range of ids, and which indexes to walk."""
    states = stored(filter.states)
    waiting = [state for state in WAITING if state in states]
    ended = [state for state in ENDED if state in states]
    if filter.error_type is not None and "dead" not in filter.states:
        raise errors.InvalidInput("error_type narrows the dead letter list only; ask for state=dead with it")
    low, high = bounds(filter)
    correlated = filter.correlation_id is not None
    by_id = "completed" in ended and not correlated
    narrowing = (filter.kind, filter.tag, filter.run_id, filter.job_id, filter.parent_id)
    return {
        "kind": filter.kind,
        "queue": filter.queue,
        "tag": filter.tag,
        "correlation_id": filter.correlation_id,
        "run_id": filter.run_id,
        "job_id": filter.job_id,
        "parent_id": filter.parent_id,
        "error_type": filter.error_type,
        "before": high if before is None else min(before, high),
        "after": low,
        "places": PLACES,
        "waiting": waiting,
        "running": "running" in states,
        "ended": ended,
        "by_place": bool(waiting) and not correlated,
        "by_id": by_id,
        # an index of their own; along the history of all they would be found too, but late
        "unsuccessful": [] if by_id or correlated else ended,
        "every": all(one is None for one in narrowing),
    }


def stored(asked: Collection[AskedState]) -> set[str]:
    """The stored states that are asked for; nothing asked for is everything."""
    if "dead" in asked and len(asked) > 1:
        raise errors.InvalidInput("state=dead is a list of its own; ask for it alone, or for state=failed and its like")
    if not asked:
        return {*WAITING, "running", *ENDED}
    return {one for state in asked for one in (WAITING if state == "queued" else (state,))}


def bounds(filter: Filter) -> tuple[uuid.UUID, uuid.UUID]:
    """The range of ids the times allow: from the first, below the second."""
    low = OLDEST if filter.created_after is None else _floor(filter.created_after)
    high = ids.NEWEST if filter.created_before is None else _floor(filter.created_before)
    if filter.created_after is not None and filter.created_before is not None and low >= high:
        raise errors.InvalidInput("created_after must be earlier than created_before")
    return low, high


def _floor(at: dt.datetime) -> uuid.UUID:
    """Below every id of this instant, whatever its version says."""
    if at.tzinfo is None:
        raise errors.InvalidInput("a time must say its zone, like 2026-01-31T09:30:00Z")
    if not 1970 <= at.astimezone(dt.UTC).year < 3000:
        raise errors.InvalidInput("a time must be between 1970 and 2999")
    return uuid.UUID(int=int(at.timestamp() * 1000) << 80)


async def between(
    tx: Tx, *, org: uuid.UUID, low: uuid.UUID, high: uuid.UUID, take: int
) -> list[tuple[uuid.UUID, str, str]]:
    """Id, kind and state of tasks whose ids lie in a range."""
    rows = await tx.rows(SQL.search_tasks, {"org_id": org, "low": low, "high": high, "take": take})
    return [(row[0], row[1], row[2]) for row in rows]
