"""How much there is, asked in milliseconds however much it is: nothing is counted further than it is worth knowing.

A `Count` is exact unless it says `at_least`. What waits is counted along an index, up to `CAP` per queue and state. What
ended lately is counted among the `RECENT` newest tasks of the org, because nothing is kept per minute and an index by
time of ending would cost every task: an org with more history than that is told "at least".
"""

import dataclasses
import uuid
from collections.abc import Sequence
from typing import Literal

from weft.db import statements
from weft.db.tx import Tx
from weft.queue import search

SQL = statements.load("weft.queue")

CAP = 10_000
RECENT = 1_000
_BUDGET = 60_000
"""Index entries that one page of queues may count."""

CountedState = Literal["scheduled", "blocked", "ready", "running", "completed", "failed", "timed_out", "cancelled", "dead"]


@dataclasses.dataclass(frozen=True)
class Count:
    """A number; with `at_least` there may be more."""

    count: int
    at_least: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class QueueCounts:
    """What waits and runs in a queue, and what ended lately."""

    queue: str
    ready: Count
    scheduled: Count
    blocked: Count
    running: Count
    oldest_ready: float
    """Seconds since the oldest ready task became due (among the 200 that were made first); 0 if none is ready."""
    finished_last_minute: Count
    failed_last_hour: Count
    """`failed` and `timed_out`."""


async def names(tx: Tx, *, org: uuid.UUID, after: str = "", take: int = 100) -> list[str]:
    """Queues in which tasks of an org wait, run or lately ended, or about which something was said; by name."""
    await tx.row(SQL.go_along_indexes)
    rows = await tx.rows(SQL.queue_names, {"org_id": org, "after": after, "take": take, "recent": RECENT})
    return [row[0] for row in rows]


async def queues(tx: Tx, *, org: uuid.UUID, names: Sequence[str]) -> list[QueueCounts]:
    """The counts of these queues, in this order; zeros for one that nobody uses."""
    if not names:
        return []
    cap = cap_of(len(names))
    await tx.row(SQL.go_along_indexes)
    rows = await tx.rows(SQL.queue_counts, {"org_id": org, "names": list(names), "cap": cap, "recent": RECENT})
    known = {
        row[0]: QueueCounts(
            queue=row[0],
            ready=capped(row[1], cap=cap),
            scheduled=capped(row[2], cap=cap),
            blocked=capped(row[3], cap=cap),
            running=Count(row[4]),
            oldest_ready=row[5],
            finished_last_minute=Count(row[6], row[7]),
            failed_last_hour=Count(row[8], row[9]),
        )
        for row in rows
    }
    return [known[name] for name in names]


async def by_state(tx: Tx, *, org: uuid.UUID) -> dict[CountedState, Count]:
    """How many tasks of an org are in each state, and on the dead letter list (who have failed or timed out too)."""
    await tx.row(SQL.go_along_indexes)
    rows = await tx.rows(SQL.task_counts, {"org_id": org, "cap": CAP, "places": search.PLACES})
    return {state: Count(min(tasks, CAP), at_least) for state, tasks, at_least in rows}


async def running_by_node(tx: Tx, *, org: uuid.UUID) -> dict[uuid.UUID, int]:
    """How many tasks of an org each node runs."""
    return {node: tasks for node, tasks in await tx.rows(SQL.running_by_node, {"org_id": org})}


def cap_of(queues: int) -> int:
    """How far to count each state of so many queues."""
    return min(CAP, max(100, _BUDGET // (3 * queues)))


def capped(tasks: int, *, cap: int) -> Count:
    """A count that stopped one above `cap`."""
    return Count(min(tasks, cap), tasks > cap)
