"""`/v1/dead`: the dead letter list, and redriving or discarding what is on it, by ids or by a filter."""

import uuid
from typing import Annotated, Any, ClassVar

import msgspec

from weft.api import fields, pages
from weft.api.operation import Call, Operation
from weft.api.task_pages import EXAMPLE, TaskPage, TaskPlace, shown_page
from weft.base import errors
from weft.queue import dead as kernel
from weft.queue import search
from weft.queue.search import Filter

Ids = Annotated[list[uuid.UUID], msgspec.Meta(min_length=1, max_length=kernel.BATCH)]


class DeadQuery(pages.Paging, forbid_unknown_fields=True, kw_only=True):
    """Which dead tasks."""

    kind: fields.Name | None = None
    queue: fields.Name | None = None
    tag: fields.Name | None = None
    correlation_id: fields.Key | None = None
    error_type: fields.Key | None = None
    created_after: fields.Instant | None = None
    created_before: fields.Instant | None = None


class DeadFilter(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which dead tasks; `{}` is all of them."""

    kind: fields.Name | None = None
    queue: fields.Name | None = None
    tag: fields.Name | None = None
    correlation_id: fields.Key | None = None
    error_type: fields.Key | None = None
    created_after: fields.Instant | None = None
    created_before: fields.Instant | None = None


class DeadChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Either `ids`, or a `filter` of which a batch of `limit` is done; repeat with `cursor` until `next_cursor` is null."""

    ids: Ids | None = None
    filter: DeadFilter | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=kernel.BATCH, description="How many of a filter at once.")] = kernel.BATCH
    cursor: pages.Cursor | None = None

    schema_extra: ClassVar[dict[str, Any]] = {
        "oneOf": [
            {"required": ["ids"], "properties": {"ids": {"type": "array"}}},
            {"required": ["filter"], "properties": {"filter": {"type": "object"}}},
        ]
    }


class DeadProgress(msgspec.Struct, kw_only=True):
    """What was done, what was passed (not dead any more, or replaced under its dedupe key), and what is left to do."""

    done: int
    skipped: int
    remaining: int
    at_least: bool
    """There may be more than `remaining`."""
    next_cursor: str | None


async def page(call: Call[None, DeadQuery]) -> TaskPage:
    place = call.query.place(TaskPlace)
    async with call.tx() as tx:
        found = await search.page(
            tx, org=call.principal.org, filter=_filter(call.query), before=place.id if place else None,
            limit=call.query.limit,
        )  # fmt: skip
    return shown_page(found)


async def redrive(call: Call[DeadChange, None]) -> DeadProgress:
    return await _change(call, "redrive")


async def discard(call: Call[DeadChange, None]) -> DeadProgress:
    return await _change(call, "discard")


async def _change(call: Call[DeadChange, None], what: kernel.What) -> DeadProgress:
    wanted, who = call.body, call.principal
    if (wanted.ids is None) is (wanted.filter is None):
        raise errors.InvalidInput('give either "ids" or a "filter"; {"filter": {}} takes all that are dead')
    if wanted.ids is not None:
        if wanted.cursor is not None:
            raise errors.InvalidInput("a cursor continues a filter; leave it out when you name ids")
        asked = list(dict.fromkeys(wanted.ids))
        async with call.tx() as tx:
            done = await kernel.apply(tx, what, org=who.org, ids=asked, actor=who.actor)
        return DeadProgress(done=done, skipped=len(asked) - done, remaining=0, at_least=False, next_cursor=None)
    assert wanted.filter is not None
    place = None if wanted.cursor is None else pages.decode(wanted.cursor, TaskPlace)
    async with call.tx() as tx:
        made = await kernel.batch(
            tx, what, org=who.org, filter=_filter(wanted.filter), actor=who.actor, before=place.id if place else None,
            limit=wanted.limit,
        )  # fmt: skip
    cursor = None if made.before is None else pages.encode(TaskPlace(made.before))
    left = made.remaining
    return DeadProgress(
        done=made.done, skipped=made.skipped, remaining=left.count, at_least=left.at_least, next_cursor=cursor
    )


def _filter(given: DeadQuery | DeadFilter) -> Filter:
    return Filter(
        states=("dead",), kind=given.kind, queue=given.queue, tag=given.tag, correlation_id=given.correlation_id,
        error_type=given.error_type, created_after=given.created_after, created_before=given.created_before,
    )  # fmt: skip


_PROGRESS = {"done": 500, "skipped": 0, "remaining": 1204, "at_least": False, "next_cursor": "MVsiMDE4OTBmM2Ut…"}

OPERATIONS = (
    Operation(
        "GET", "/v1/dead", action="dead.read", handler=page, summary="Dead tasks, newest first",
        description="Tasks that used up their attempts, or their workers. Look at one with GET /v1/tasks/{id}.",
        query=DeadQuery, answer=TaskPage, example={"kind": "send_email", "error_type": "ConnectionError"},
        answer_example={"items": [EXAMPLE], "next_cursor": None, "scanned_until": None},
    ),
    Operation(
        "POST", "/v1/dead/redrive", action="dead.write", handler=redrive, summary="Queue dead tasks again",
        description="Their attempts are counted anew. A filter is done in batches, newest first: repeat with `next_cursor`.",
        body=DeadChange, answer=DeadProgress, example={"filter": {"kind": "send_email"}}, answer_example=_PROGRESS,
        idempotent=True,
    ),
    Operation(
        "POST", "/v1/dead/discard", action="dead.write", handler=discard, summary="Take tasks off the dead letter list",
        description="For good; their history stays, as `cancelled` with the reason `discarded`. Batches as in redrive.",
        body=DeadChange, answer=DeadProgress, example={"filter": {"error_type": "ValueError"}}, answer_example=_PROGRESS,
        idempotent=True,
    ),
)  # fmt: skip
