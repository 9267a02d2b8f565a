"""`/v1/runs`: runs of every kind, in our own words, with their steps."""

import datetime as dt
import uuid
from typing import Annotated, Any

import msgspec

from weft.api import fields, pages
from weft.api.operation import Call, Operation
from weft.api.shown import shown
from weft.flows import look, search
from weft.flows.look import RunView
from weft.flows.model import Kind, RunState, StepState
from weft.flows.search import Filter


class Run(msgspec.Struct, kw_only=True):
    """One execution of a plan."""

    id: uuid.UUID
    kind: Kind
    name: str
    definition_id: uuid.UUID | None
    version: str | None
    state: RunState
    params: dict[str, Any]
    config: dict[str, Any]
    output: Any
    error: dict[str, Any] | None
    idempotency_key: str | None
    trigger: str
    actor: str | None
    parent_run_id: uuid.UUID | None
    parent_step_id: uuid.UUID | None
    logical_date: dt.datetime
    tags: list[str]
    correlation_id: str | None
    nodes: int
    nodes_ended: int
    nodes_failed: int
    reruns: int
    deadline_at: dt.datetime | None
    stalled_at: dt.datetime | None
    """Since when it is known to stand still: nothing is running and nothing is awaited."""
    created_at: dt.datetime
    started_at: dt.datetime | None
    finished_at: dt.datetime | None


class Step(msgspec.Struct, kw_only=True):
    """A step: a node of a block, an element of a foreach, or a block that caught a failure."""

    id: uuid.UUID
    run_id: uuid.UUID
    frame_id: uuid.UUID
    """The step that opened the block it is in; the run's id for those of the entry."""
    node: str
    element: int
    """-1: the node itself."""
    catching: bool
    depth: int
    state: StepState
    task_id: uuid.UUID | None
    attempt: int
    reruns: int
    parts: int
    parts_ended: int
    parts_failed: int
    block: str | None
    item: Any
    output: Any
    error: dict[str, Any] | None
    created_at: dt.datetime
    started_at: dt.datetime | None
    finished_at: dt.datetime | None


class RunsQuery(pages.Paging, forbid_unknown_fields=True, kw_only=True):
    """Which runs."""

    kind: Kind | None = None
    name: fields.Name | None = None
    state: Annotated[tuple[RunState, ...], msgspec.Meta(max_length=10, description="May be given several times.")] = ()
    tag: fields.Name | None = None
    name_prefix: fields.Key | None = None
    created_after: fields.Instant | None = None
    created_before: fields.Instant | None = None


class RunsPlace(msgspec.Struct, array_like=True):
    id: uuid.UUID


class StepsPlace(msgspec.Struct, array_like=True):
    frame: uuid.UUID
    node: str
    element: int
    catching: bool


class RunPage(msgspec.Struct):
    """Some runs, newest first. With `scanned_until` the page is short because looking further would take too long:
    everything made at or after that instant was looked at; go on with `next_cursor`."""

    items: list[Run]
    next_cursor: str | None
    scanned_until: dt.datetime | None


async def page(call: Call[None, RunsQuery]) -> RunPage:
    query = call.query
    wanted = Filter(
        kind=query.kind, name=query.name, prefix=query.name_prefix, states=query.state, tag=query.tag,
        created_after=query.created_after, created_before=query.created_before,
    )  # fmt: skip
    return await listed(call, wanted)


async def listed(call: Call[None, Any], wanted: Filter) -> RunPage:
    """The page that a query of any kind of run asks for."""
    place = call.query.place(RunsPlace)
    async with call.tx() as tx:
        found = await search.page(
            tx, org=call.principal.org, filter=wanted, before=place.id if place else None, limit=call.query.limit
        )
    cursor = None if found.before is None else pages.encode(RunsPlace(found.before))
    return RunPage([shown_run(one) for one in found.runs], cursor, found.scanned_until)


async def get(call: Call[None, None]) -> Run:
    async with call.tx() as tx:
        return shown_run(await look.run(tx, call.id, org=call.principal.org))


async def steps(call: Call[None, pages.Paging]) -> pages.Page[Step]:
    place = call.query.place(StepsPlace)
    org = call.principal.org
    async with call.tx() as tx:
        await look.run(tx, call.id, org=org)
        found = await look.steps(
            tx, call.id, org=org, take=call.query.limit + 1, after=msgspec.structs.astuple(place) if place else None
        )
    return pages.page(
        found, limit=call.query.limit, show=lambda one: shown(Step, one),
        place=lambda one: StepsPlace(one.frame_id, one.node, one.element, one.catching),
    )  # fmt: skip


def shown_run(run: RunView) -> Run:
    return shown(Run, run, tags=run.tags or [])


_ID = "0190c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55"
RUN_EXAMPLE: dict[str, Any] = {
    "id": _ID, "kind": "dag", "name": "etl-pipeline", "definition_id": _ID, "version": None, "state": "completed",
    "params": {"day": "2026-01-15"}, "config": {}, "output": {"rows": 10}, "error": None, "idempotency_key": None,
    "trigger": "manual", "actor": "key:ops", "parent_run_id": None, "parent_step_id": None,
    "logical_date": "2026-01-15T02:00:00Z", "tags": [], "correlation_id": None, "nodes": 2, "nodes_ended": 2,
    "nodes_failed": 0, "reruns": 0, "deadline_at": None, "stalled_at": None, "created_at": "2026-01-15T02:00:00Z",
    "started_at": "2026-01-15T02:00:00Z", "finished_at": "2026-01-15T02:01:00Z",
}  # fmt: skip
STEP_EXAMPLE = {
    "id": _ID, "run_id": _ID, "frame_id": _ID, "node": "extract", "element": -1, "catching": False, "depth": 0,
    "state": "completed", "task_id": _ID, "attempt": 1, "reruns": 0, "parts": 0, "parts_ended": 0, "parts_failed": 0,
    "block": None, "item": None, "output": {"rows": 10}, "error": None, "created_at": "2026-01-15T02:00:00Z",
    "started_at": "2026-01-15T02:00:00Z", "finished_at": "2026-01-15T02:00:30Z",
}  # fmt: skip

OPERATIONS = (
    Operation(
        "GET", "/v1/runs", action="run.read", handler=page, summary="Runs of every kind, newest first", query=RunsQuery,
        answer=RunPage, example={"state": "failed"},
        description="Names and states have indexes; other filters look at 10,000 runs a page and say with `scanned_until` "
        "how far they came.",
        answer_example={"items": [RUN_EXAMPLE], "next_cursor": None, "scanned_until": None},
    ),
    Operation(
        "GET", "/v1/runs/{id:uuid}", action="run.read", handler=get, summary="A run", answer=Run, errors=("NOT_FOUND",),
        answer_example=RUN_EXAMPLE,
    ),
    Operation(
        "GET", "/v1/runs/{id:uuid}/steps", action="run.read", handler=steps, summary="Every step of a run, block by block",
        query=pages.Paging, answer=pages.Page[Step], errors=("NOT_FOUND",),
        answer_example={"items": [STEP_EXAMPLE], "next_cursor": None},
    ),
)  # fmt: skip
