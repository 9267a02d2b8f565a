"""Queues as people see and steer them: what is in one, what was said about it, and saying it.

A queue is only a name: it is there as soon as a task or a setting names it. What is said takes effect with the next
claim, because every claim reads it. What the operator said for every org (`ids.EVERY_ORG`) holds besides an org's own.
"""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any

from weft.base import errors, ids, names
from weft.db import statements
from weft.db.tx import Tx
from weft.queue import counts, tasks
from weft.queue.counts import QueueCounts
from weft.queue.tasks import QueueSettings

SQL = statements.load("weft.queue")

MOST = 1_000_000
LONGEST = dt.timedelta(days=366)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Queue:
    """A queue of one org."""

    name: str
    own: QueueSettings
    """What the org said."""
    everybodys: QueueSettings
    """What the operator said for every org."""
    counts: QueueCounts

    @property
    def paused(self) -> bool:
        return self.own.paused or self.everybodys.paused


async def page(tx: Tx, *, org: uuid.UUID, after: str = "", take: int = 50) -> list[Queue]:
    """The org's queues by name; the next page comes `after` the last name."""
    return await _read(tx, org=org, wanted=await counts.names(tx, org=org, after=after, take=take))


async def get(tx: Tx, *, org: uuid.UUID, name: str) -> Queue:
    """One queue, empty if nobody uses it."""
    [found] = await _read(tx, org=org, wanted=[names.check(name, what="queue")])
    return found


async def change(tx: Tx, *, org: uuid.UUID, name: str, actor: str, **changes: Any) -> QueueSettings:
    """Changes some of a queue's settings, leaves the others, and answers all of them."""
    names.check(name, what="queue")
    # the row is there before it is locked: of two who change a queue for the first time, one waits for the other
    await tx.run(SQL.found_queue, {"org_id": org, "name": name})
    before = await tasks.queue_settings(tx, org=org, queue=name)
    settings = check(dataclasses.replace(before, **changes))
    if settings != before:
        await tasks.set_queue(tx, org=org, queue=name, settings=settings, actor=actor)
    return settings


def check(settings: QueueSettings) -> QueueSettings:
    """The settings if they can hold; InvalidInput says what cannot."""
    if settings.max_running is not None and not 0 <= settings.max_running <= MOST:
        raise errors.InvalidInput(f"max_running must be 0 to {MOST:,}, or null for no limit")
    rate = (settings.rate_limit, settings.rate_period, settings.rate_burst)
    if any(one is None for one in rate) and any(one is not None for one in rate):
        raise errors.InvalidInput("a rate needs its limit, its period and its burst together")
    if settings.rate_limit is not None and not 1 <= settings.rate_limit <= MOST:
        raise errors.InvalidInput(f"a rate's limit must be 1 to {MOST:,}")
    if settings.rate_burst is not None and not 1 <= settings.rate_burst <= MOST:
        raise errors.InvalidInput(f"a rate's burst must be 1 to {MOST:,}")
    if settings.rate_period is not None and not dt.timedelta(milliseconds=1) <= settings.rate_period <= LONGEST:
        raise errors.InvalidInput("a rate's period must be a millisecond to 366 days")
    return settings


async def _read(tx: Tx, *, org: uuid.UUID, wanted: Sequence[str]) -> list[Queue]:
    said: dict[tuple[uuid.UUID, str], QueueSettings] = {}
    for place, name, paused, max_running, limit, period, burst in await tx.rows(
        SQL.settings_of, {"org_id": org, "names": list(wanted)}
    ):
        said[(place, name)] = QueueSettings(
            paused=paused, max_running=max_running, rate_limit=limit, rate_period=period, rate_burst=burst
        )
    nothing = QueueSettings()
    return [
        Queue(
            name=found.queue,
            own=said.get((org, found.queue), nothing),
            everybodys=said.get((ids.EVERY_ORG, found.queue), nothing),
            counts=found,
        )
        for found in await counts.queues(tx, org=org, names=wanted)
    ]
