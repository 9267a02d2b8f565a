"""`/v1/queues`: what is in them, pausing and limiting them."""

import datetime as dt
from typing import Annotated, Any

import msgspec

from weft.api import pages
from weft.api.operation import Call, Operation
from weft.api.shown import given
from weft.api.task_pages import Count, shown_count
from weft.base import errors
from weft.queue import queues as kernel
from weft.queue.tasks import QueueSettings

Amount = Annotated[int, msgspec.Meta(ge=1, le=kernel.MOST)]


class Rate(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """At most `limit` starts per `period` seconds, and `burst` at once (as many as `limit` if left out)."""

    limit: Amount
    period: Annotated[float, msgspec.Meta(ge=0.001, le=kernel.LONGEST.total_seconds(), description="Seconds.")] = 1.0
    burst: Amount | None = None


class Settings(msgspec.Struct, kw_only=True):
    """What was said about a queue."""

    paused: bool
    max_running: int | None
    rate: Rate | None


class QueueChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to change; null lifts a limit, what is left out stays."""

    paused: bool | msgspec.UnsetType = msgspec.UNSET
    max_running: Annotated[int, msgspec.Meta(ge=0, le=kernel.MOST)] | msgspec.UnsetType | None = msgspec.UNSET
    rate: Rate | msgspec.UnsetType | None = msgspec.UNSET


class Queue(msgspec.Struct, kw_only=True):
    """A queue of your org."""

    name: str
    paused: bool
    """Nothing of it starts: the org or the operator paused it."""
    settings: Settings
    operator: Settings
    """What holds for every org besides."""
    ready: Count
    scheduled: Count
    blocked: Count
    running: Count
    oldest_ready: float
    """Seconds since the oldest ready task became due, among the 200 that were made first; 0 if none is ready."""
    finished_last_minute: Count
    """Counted among the 1,000 newest tasks of the org that ended."""
    failed_last_hour: Count
    """`failed` and `timed_out`, counted among the 1,000 newest of each."""


class QueuePlace(msgspec.Struct, frozen=True):
    """Where a page of queues ended."""

    name: str


async def page(call: Call[None, pages.Paging]) -> pages.Page[Queue]:
    place = call.query.place(QueuePlace)
    async with call.tx() as tx:
        found = await kernel.page(
            tx, org=call.principal.org, after="" if place is None else place.name, take=call.query.limit + 1
        )  # fmt: skip
    return pages.page(found, limit=call.query.limit, show=shown, place=lambda queue: QueuePlace(queue.name))


async def get(call: Call[None, None]) -> Queue:
    async with call.tx() as tx:
        found = await kernel.get(tx, org=call.principal.org, name=call.path["name"])
        if _unused(found):
            raise errors.NotFound(
                f"there is no queue {found.name!r}: no task waits, runs or lately ended in it, and nothing was said about it"
            )
    return shown(found)


async def change(call: Call[QueueChange, None]) -> Queue:
    changes = given(call.body)
    if "rate" in changes:
        changes |= _rate(changes.pop("rate"))
    return await _change(call, changes)


async def pause(call: Call[None, None]) -> Queue:
    return await _change(call, {"paused": True})


async def resume(call: Call[None, None]) -> Queue:
    return await _change(call, {"paused": False})


async def _change(call: Call[Any, None], changes: dict[str, Any]) -> Queue:
    name, org = call.path["name"], call.principal.org
    async with call.tx() as tx:
        await kernel.change(tx, org=org, name=name, actor=call.principal.actor, **changes)
        return shown(await kernel.get(tx, org=org, name=name))


def _rate(rate: Rate | None) -> dict[str, Any]:
    if rate is None:
        return {"rate_limit": None, "rate_period": None, "rate_burst": None}
    period = dt.timedelta(seconds=rate.period)
    return {"rate_limit": rate.limit, "rate_period": period, "rate_burst": rate.burst or rate.limit}


def _unused(queue: kernel.Queue) -> bool:
    counts = queue.counts
    seen = (counts.ready, counts.scheduled, counts.blocked, counts.running, counts.finished_last_minute)
    nothing = QueueSettings()
    return queue.own == nothing and queue.everybodys == nothing and not any(one.count for one in seen)


def _settings(settings: QueueSettings) -> Settings:
    rate = None
    if settings.rate_limit is not None and settings.rate_period is not None:
        period = settings.rate_period.total_seconds()
        rate = Rate(limit=settings.rate_limit, period=period, burst=settings.rate_burst)
    return Settings(paused=settings.paused, max_running=settings.max_running, rate=rate)


def shown(queue: kernel.Queue) -> Queue:
    counts = queue.counts
    return Queue(
        name=queue.name, paused=queue.paused, settings=_settings(queue.own), operator=_settings(queue.everybodys),
        ready=shown_count(counts.ready), scheduled=shown_count(counts.scheduled), blocked=shown_count(counts.blocked),
        running=shown_count(counts.running), oldest_ready=round(counts.oldest_ready, 3),
        finished_last_minute=shown_count(counts.finished_last_minute),
        failed_last_hour=shown_count(counts.failed_last_hour),
    )  # fmt: skip


_FEW = {"count": 3, "at_least": False}
_NONE = {"count": 0, "at_least": False}
_UNSAID = {"paused": False, "max_running": None, "rate": None}
_EXAMPLE = {
    "name": "email", "paused": False,
    "settings": {"paused": False, "max_running": 10, "rate": {"limit": 100, "period": 60.0, "burst": 20}},
    "operator": _UNSAID, "ready": {"count": 10000, "at_least": True}, "scheduled": _FEW, "blocked": _NONE,
    "running": {"count": 10, "at_least": False}, "oldest_ready": 12.4,
    "finished_last_minute": {"count": 95, "at_least": True}, "failed_last_hour": _FEW,
}  # fmt: skip

OPERATIONS = (
    Operation(
        "GET", "/v1/queues", action="queue.read", handler=page, summary="Your queues by name, with what is in them",
        description="Counts are exact up to 10,000 per queue and state (less on a long page), then `at_least`.",
        query=pages.Paging, answer=pages.Page[Queue], answer_example={"items": [_EXAMPLE], "next_cursor": None},
    ),
    Operation(
        "GET", "/v1/queues/{name:path}", action="queue.read", handler=get, summary="One queue", answer=Queue,
        errors=("NOT_FOUND", "INVALID_NAME"), answer_example=_EXAMPLE,
    ),
    Operation(
        "PATCH", "/v1/queues/{name:path}", action="queue.write", handler=change, summary="Pause or limit a queue",
        description="Takes effect with the next claim. What runs already goes on, and counts against a new `max_running`.",
        body=QueueChange, answer=Queue, errors=("INVALID_NAME",),
        example={"max_running": 10, "rate": {"limit": 100, "period": 60}}, answer_example=_EXAMPLE,
    ),
    Operation(
        "POST", "/v1/queues/{name:path}/pause", action="queue.write", handler=pause, summary="Pause a queue",
        description="Nothing of it starts from now on; what runs goes on. Pausing it again changes nothing.",
        answer=Queue, errors=("INVALID_NAME",), answer_example={**_EXAMPLE, "paused": True},
    ),
    Operation(
        "POST", "/v1/queues/{name:path}/resume", action="queue.write", handler=resume, summary="Resume a queue",
        answer=Queue, errors=("INVALID_NAME",), answer_example=_EXAMPLE,
    ),
)  # fmt: skip
