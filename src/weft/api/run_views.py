"""What the page of a run shows besides the run: why it does not go on, and what people did to it."""

import datetime as dt
import uuid
from collections.abc import Iterator
from typing import Any

import msgspec

from weft.api.operation import Call, Operation
from weft.flows import look, why
from weft.journal import audit
from weft.journal.audit import Filter

_MOST = 200
_TRIED = 500


class WhyNot(msgspec.Struct):
    """Why a run does not go on; the first reason is the one to look at first."""

    code: str
    summary: str
    reasons: list[str]


class Event(msgspec.Struct, kw_only=True):
    """Something that was done to a run."""

    at: dt.datetime
    actor: str
    action: str
    after: Any


class Events(msgspec.Struct):
    """Newest first, at most 200."""

    items: list[Event]


class Attempt(msgspec.Struct, kw_only=True):
    """A try of a step that was tried more than once: `lost` with its worker, `retry` after an error, and how it is now."""

    step_id: uuid.UUID | None
    """Null: the workflow itself, whose code was run again."""
    task_id: uuid.UUID
    attempt: int
    outcome: str
    node_id: uuid.UUID | None
    began_at: dt.datetime | None
    ended_at: dt.datetime | None


class Attempts(msgspec.Struct):
    """Step by step, in the order they were made; of at most 500 steps."""

    items: list[Attempt]


async def attempts(call: Call[None, None]) -> Attempts:
    org = call.principal.org
    async with call.tx() as tx:
        await look.run(tx, call.id, org=org)
        found = await look.attempts(tx, call.id, org=org, take=_TRIED)
    return Attempts([one for tried in found for one in _tries(tried)])


def _tries(tried: look.Tried) -> Iterator[Attempt]:
    for one in tried.before:
        yield Attempt(
            step_id=tried.step_id, task_id=tried.task_id, attempt=one["attempt"], outcome=one["outcome"],
            node_id=_uuid(one.get("node_id")), began_at=_instant(one.get("claimed_at")),
            ended_at=_instant(one.get("ended_at")),
        )  # fmt: skip
    if tried.began_at is not None:
        yield Attempt(
            step_id=tried.step_id, task_id=tried.task_id, attempt=tried.attempt, outcome=tried.state,
            node_id=tried.node_id, began_at=tried.began_at, ended_at=tried.ended_at,
        )  # fmt: skip


def _uuid(text: str | None) -> uuid.UUID | None:
    return None if text is None else uuid.UUID(text)


def _instant(text: str | None) -> dt.datetime | None:
    return None if text is None else dt.datetime.fromisoformat(text)


async def explained(call: Call[None, None]) -> WhyNot:
    async with call.tx() as tx:
        found = await why.why(tx, call.id, org=call.principal.org)
    return WhyNot(found.code, found.summary, found.reasons)


async def events(call: Call[None, None]) -> Events:
    org = call.principal.org
    async with call.tx() as tx:
        run = await look.run(tx, call.id, org=org)
        # nothing was done to it before it was there: that bounds what is read of the journal
        wanted = Filter(object_type="run", object_id=str(call.id), since=run.created_at)
        found = await audit.page(tx, org=org, filter=wanted, take=_MOST)
    return Events([Event(at=one.at, actor=one.actor, action=one.action, after=one.after) for one in found])


_AT = "/v1/runs/{id:uuid}"
_ATTEMPT = {
    "step_id": "0190c5f0-2f6e-7c3a-9d43-2f1f8d3c1a57", "task_id": "0190c5f0-2f6e-7c3a-9d43-2f1f8d3c1a56", "attempt": 1,
    "outcome": "lost", "node_id": "0f8fad5b-d9cb-469f-a165-70867728950e", "began_at": "2026-01-15T02:00:00Z",
    "ended_at": "2026-01-15T02:00:04Z",
}  # fmt: skip
_EVENT = {"at": "2026-01-15T02:00:00Z", "actor": "key:ops", "action": "run.pause", "after": {}}

OPERATIONS = (
    Operation(
        "GET", f"{_AT}/explain", action="run.read", handler=explained, summary="Why a run of any kind does not go on",
        answer=WhyNot, errors=("NOT_FOUND",),
        answer_example={"code": "paused", "summary": "it is paused; resume it", "reasons": ["it is paused; resume it"]},
    ),
    Operation(
        "GET", f"{_AT}/events", action="run.read", handler=events, summary="What people did to a run", answer=Events,
        errors=("NOT_FOUND",), answer_example={"items": [_EVENT]},
    ),
    Operation(
        "GET", f"{_AT}/attempts", action="run.read", handler=attempts, summary="What was tried more than once in a run",
        description="Every attempt of such a step, the last one included: what was lost or failed, and when it was taken up "
        "again.", answer=Attempts, errors=("NOT_FOUND",), answer_example={"items": [_ATTEMPT]},
    ),
)  # fmt: skip
