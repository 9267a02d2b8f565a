"""`/v1/workflows`: the durable workflows that workers have declared, and starting runs of them."""

import datetime as dt
import uuid
from typing import Annotated, Any

import msgspec

from weft.api import fields, pages
from weft.api.operation import Answer, Call, Operation
from weft.api.shown import shown
from weft.base import json
from weft.flows import steering, workflows
from weft.journal import record


class Workflow(msgspec.Struct, kw_only=True):
    """A version of a workflow, as its workers declare it."""

    name: str
    version: str
    queue: str
    priority: int
    signals: list[str] | None
    """The only ones it takes; null: any."""
    declared_at: dt.datetime
    """When an app said so last: of a name, the latest is the newest."""
    schema: dict[str, Any] | None
    """Of its arguments, as JSON schema; null: not known."""


class NewRun(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How a run is wanted."""

    arguments: dict[str, Any] = {}
    version: fields.Name | None = None
    """The newest, if not given."""
    key: fields.Key | None = None
    """A run of this workflow with the same key is not started again."""
    queue: fields.Name | None = None
    priority: Annotated[int, msgspec.Meta(ge=0, le=100)] | None = None
    """The one that it was declared with, if not given."""


class StartedRun(msgspec.Struct):
    run_id: uuid.UUID
    created: bool
    """False: there was a run with this key."""


class Place(msgspec.Struct, array_like=True):
    name: str
    version: str


async def page(call: Call[None, pages.Paging]) -> pages.Page[Workflow]:
    place = call.query.place(Place)
    async with call.tx() as tx:
        found = await steering.declarations(
            tx, after=(place.name, place.version) if place else ("", ""), take=call.query.limit + 1
        )
    return pages.page(found, limit=call.query.limit, show=_shown, place=lambda one: Place(one.name, one.version))


async def start(call: Call[NewRun, None]) -> Answer:
    wanted = call.body
    wish = workflows.wish(
        call.path["name"], json.text(wanted.arguments, what="arguments"), version=wanted.version, key=wanted.key,
        org=call.principal.org, queue=wanted.queue, priority=wanted.priority,
    )  # fmt: skip
    async with call.tx() as tx:
        made = await workflows.start(tx, wish)
        if made.created:
            await record.record(
                tx, org_id=call.principal.org, actor=call.principal.actor, action="workflow.start", object_type="run",
                object_id=str(made.id), after={"workflow": call.path["name"], "key": wanted.key},
            )  # fmt: skip
    return Answer(body=StartedRun(made.id, made.created), status=201 if made.created else 200)


def _shown(one: steering.Declaration) -> Workflow:
    return shown(Workflow, one)


_ID = "0190c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55"
_WORKFLOW = {
    "name": "checkout", "version": "2", "queue": "default", "priority": 50, "signals": ["approval"],
    "declared_at": "2026-01-15T02:00:00Z",
    "schema": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
}  # fmt: skip

OPERATIONS = (
    Operation(
        "GET", "/v1/workflows", action="workflow.read", handler=page, summary="Workflows that workers have declared",
        query=pages.Paging, answer=pages.Page[Workflow], answer_example={"items": [_WORKFLOW], "next_cursor": None},
    ),
    Operation(
        "POST", "/v1/workflows/{name:path}/start", action="workflow.run", handler=start, summary="Start a run of a workflow",
        description="Its arguments are checked by the worker that runs it: a run whose arguments do not fit fails at once.",
        body=NewRun, answer=StartedRun, status=201, also={200: "A run with this key is there already: this one."},
        errors=("INVALID_NAME", "INVALID_PAYLOAD", "NOT_FOUND"), idempotent=True,
        example={"arguments": {"order": "o-17"}, "key": "o-17"}, answer_example={"run_id": _ID, "created": True},
    ),
)  # fmt: skip
