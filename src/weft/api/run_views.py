"""What the page of a run shows besides the run: why it does not go on, and what people did to it."""

import datetime as dt
from typing import Any

import msgspec

from weft.api.operation import Call, Operation
from weft.flows import look, why
from weft.journal import audit
from weft.journal.audit import Filter

_MOST = 200


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
)  # fmt: skip
