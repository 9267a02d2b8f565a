"""Claims that did not know of a limit yet.

Setting a limit counts what runs against it. A claim that began before and commits after is not seen by that, and its tasks
would run beside the limit for as long as they last. A chore counts them: when it sees a limit for the first time, and once
more when every claim that may not have known of it has ended.
"""

import datetime as dt
import time
from collections.abc import Callable, Collection

from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.queue")

EVERY = dt.timedelta(seconds=5)

_ENDED = 60.0
"""No statement takes so long (`statement_timeout`)."""

Limit = tuple[str | None, str]
"""Queue, or none for all of them, and org."""


class LateClaims:
    """What one leader knows of the limits: nothing at first, and then each is new."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[Limit, float] = {}
        self._settled: set[Limit] = set()
        self._due: set[Limit] = set()

    async def peek(self, tx: Tx) -> bool:
        """Whether there are limits whose late claims are to be counted now."""
        now = self._clock()
        limits: set[Limit] = {(queue, org) for queue, org in await tx.rows(SQL.limits_that_count)}
        self._seen = {limit: self._seen[limit] for limit in limits if limit in self._seen}
        self._settled &= limits
        ended = {limit for limit, seen in self._seen.items() if now - seen > _ENDED} - self._settled
        self._due = (limits - self._seen.keys()) | ended
        return bool(self._due)

    async def once(self, tx: Tx) -> int:
        """Counts them; answers how many there were."""
        due, now = self._due, self._clock()
        found = await count(tx, due) if due else 0
        self._settled |= {limit for limit in due if limit in self._seen}
        self._seen |= {limit: now for limit in due if limit not in self._seen}
        self._due = set()
        return found


async def count(tx: Tx, limits: Collection[Limit]) -> int:
    """What runs under these limits and does not count against them does from now on."""
    queues = [(queue, org) for queue, org in limits if queue is not None]
    arguments = {
        "orgs": [org for queue, org in limits if queue is None],
        "queues": [queue for queue, _ in queues],
        "queue_orgs": [org for _, org in queues],
    }
    return await tx.run(SQL.count_late_as_limited, arguments)
