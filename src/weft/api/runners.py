"""`/v1/runners`: runs of AFL's workflows: start them, look at their steps, steer and mend them."""

import datetime as dt
import uuid
from typing import Annotated, Any, Literal

import msgspec

from weft.api import fields, pages, run_repair, runs
from weft.api.dags import RunConfig
from weft.api.operation import Answer, Call, Operation
from weft.api.run_repair import Mended, Repair
from weft.api.tasks import Explanation
from weft.base import json
from weft.db.tx import Tx
from weft.flows import look, operate, programs, repair, why
from weft.flows.look import StepView
from weft.flows.model import RunState, StepState
from weft.flows.search import Filter
from weft.flows.start import Wish
from weft.journal import record

TREE = 2000
"""Steps that a tree shows."""


class NewRunner(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A run to start. A key that a run of this workflow has already had starts nothing: it answers that run."""

    flow: fields.Name
    """Its name or id; or the qualified name of a workflow that only one flow has."""
    workflow: fields.Name | None = None
    """By qualified or short name; may be left out if the flow has only one."""
    params: Annotated[dict[str, Any], msgspec.Meta(description="As the workflow declares them.")] = {}
    config: RunConfig = msgspec.field(default_factory=RunConfig)
    task_list: fields.Name | None = None
    """The queue that its work goes to."""
    idempotency_key: fields.Key | None = None
    tags: Annotated[list[fields.Name], msgspec.Meta(max_length=50)] = []


class RunnerQuery(pages.Paging, forbid_unknown_fields=True, kw_only=True):
    """Which runs."""

    workflow: fields.Name | None = None
    """Its qualified name."""
    state: Annotated[tuple[RunState, ...], msgspec.Meta(max_length=10, description="May be given several times.")] = ()


class Branch(msgspec.Struct, kw_only=True):
    """A step, with those inside of it."""

    id: uuid.UUID
    node: str
    element: int
    """-1: the node itself."""
    catching: bool
    state: StepState
    task_id: uuid.UUID | None
    attempt: int
    block: str | None
    """What it has opened."""
    error: dict[str, Any] | None
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    steps: list["Branch"] = []


class Tree(msgspec.Struct, kw_only=True):
    """The steps of a run, each in the one it stands in."""

    steps: list[Branch]
    more: bool
    """There are more than are shown; `…/steps` has all of them, in pages."""


class Mark(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How a step is to count; `output` is what those after it see."""

    state: Literal["completed", "failed"]
    output: Any = None


async def start(call: Call[NewRunner, None]) -> Answer:
    wanted, org = call.body, call.principal.org
    config = msgspec.to_builtins(wanted.config)
    if wanted.task_list is not None:
        config["queue"] = wanted.task_list
    who = call.principal.actor
    wish = Wish(params=wanted.params, config=config, key=wanted.idempotency_key, actor=who, tags=wanted.tags)
    async with call.tx() as tx:
        made = await programs.start_named(tx, wanted.flow, wanted.workflow, wish, org=org)
        run = await look.run(tx, made.id, org=org)
        if made.created:
            await record.record(
                tx, org_id=org, actor=who, action="runner.start", object_type="run", object_id=str(run.id),
                after={"workflow": run.name},
            )  # fmt: skip
    headers = {"location": f"/v1/runners/{run.id}"}
    return Answer(body=runs.shown_run(run), status=201 if made.created else 200, headers=headers)


async def page(call: Call[None, RunnerQuery]) -> runs.RunPage:
    return await runs.listed(call, Filter(kind="flow", name=call.query.workflow, states=call.query.state))


async def get(call: Call[None, None]) -> runs.Run:
    async with call.tx() as tx:
        return await _shown(call, tx)


async def steps(call: Call[None, pages.Paging]) -> pages.Page[runs.Step]:
    async with call.tx() as tx:
        await _shown(call, tx)
    return await runs.steps(call)


async def tree(call: Call[None, None]) -> Tree:
    async with call.tx() as tx:
        run = await _shown(call, tx)
        found = await look.tree(tx, run.id, org=call.principal.org, take=TREE + 1)
    branches = {one.id: _branch(one) for one in found[:TREE]}
    wholes = {(one.frame_id, one.node): one.id for one in found[:TREE] if one.element < 0 and not one.catching}
    roots: list[Branch] = []
    for one in found[:TREE]:
        inside = one.element >= 0 or one.catching
        # an element and a catch stand with their node, everything else with what opened its block
        parent = branches.get(wholes.get((one.frame_id, one.node), uuid.UUID(int=0)) if inside else one.frame_id)
        (roots if parent is None else parent.steps).append(branches[one.id])
    return Tree(steps=roots, more=len(found) > TREE)


async def explained(call: Call[None, None]) -> Explanation:
    async with call.tx() as tx:
        await _shown(call, tx)
        found = await why.why(tx, call.id, org=call.principal.org)
    return Explanation(found.code, found.summary, found.reasons)


async def pause(call: Call[None, None]) -> runs.Run:
    async with call.tx() as tx:
        await _shown(call, tx)
        await operate.pause(tx, call.id, org=call.principal.org, actor=call.principal.actor)
        return await _shown(call, tx)


async def resume(call: Call[None, None]) -> runs.Run:
    async with call.tx() as tx:
        await _shown(call, tx)
        await operate.resume(tx, call.id, org=call.principal.org, actor=call.principal.actor)
        return await _shown(call, tx)


async def cancel(call: Call[None, None]) -> runs.Run:
    async with call.tx() as tx:
        await _shown(call, tx)
        await operate.cancel(tx, call.id, org=call.principal.org, actor=call.principal.actor)
        return await _shown(call, tx)


async def mend(call: Call[Repair, None]) -> Mended:
    async with call.tx() as tx:
        await _shown(call, tx)
        return await run_repair.mended(call, tx)


async def retry(call: Call[None, None]) -> Mended:
    return await _again(call, repair.retry)


async def rerun(call: Call[None, None]) -> Mended:
    return await _again(call, repair.rerun)


async def reset(call: Call[None, None]) -> Mended:
    return await _again(call, repair.reset)


async def mark(call: Call[Mark, None]) -> runs.Run:
    json.text(call.body.output, what="output")
    async with call.tx() as tx:
        await _shown(call, tx)
        await repair.mark(
            tx, call.id, call.path["step"], org=call.principal.org, actor=call.principal.actor, state=call.body.state,
            output=call.body.output,
        )  # fmt: skip
        return await _shown(call, tx)


async def _again(call: Call[None, None], do: Any) -> Mended:
    async with call.tx() as tx:
        await _shown(call, tx)
        found = await do(tx, call.id, call.path["step"], org=call.principal.org, actor=call.principal.actor)
        return run_repair.shown(await look.run(tx, call.id, org=call.principal.org), found)


async def _shown(call: Call[Any, Any], tx: Tx) -> runs.Run:
    return runs.shown_run(await look.run(tx, call.id, org=call.principal.org, kind="flow"))


def _branch(one: StepView) -> Branch:
    return Branch(**{name: getattr(one, name) for name in Branch.__struct_fields__ if name != "steps"}, steps=[])


_ID = "0190c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55"
_RUN: dict[str, Any] = {
    **runs.RUN_EXAMPLE, "kind": "flow", "name": "hello.SayHello", "state": "running", "params": {"name": "Ada"},
    "output": None, "finished_at": None, "nodes": 1, "nodes_ended": 0,
}  # fmt: skip
_BRANCH: dict[str, Any] = {
    "id": _ID, "node": "g", "element": -1, "catching": False, "state": "running", "task_id": _ID, "attempt": 1,
    "block": None, "error": None, "started_at": "2026-01-15T02:00:00Z", "finished_at": None, "steps": [],
}  # fmt: skip
_MENDED = {"run": _RUN, "steps": [{"id": _ID, "path": "andThen#1/g", "state": "failed", "error": "no answer"}]}
_AT = "/v1/runners/{id:uuid}"
_STEP = f"{_AT}/steps/{{step:uuid}}"
_ODD = ("NOT_FOUND", "CONFLICT")

OPERATIONS = (
    Operation(
        "POST", "/v1/runners", action="flow.run", handler=start, summary="Start a run of a workflow", body=NewRunner,
        answer=runs.Run, status=201, also={200: "A run with this idempotency_key is there already: this one."},
        errors=("NOT_FOUND", "CONFLICT", "INVALID_NAME", "INVALID_PAYLOAD"), idempotent=True,
        example={"flow": "hello", "workflow": "SayHello", "params": {"name": "Ada"}}, answer_example=_RUN,
    ),
    Operation(
        "GET", "/v1/runners", action="flow.read", handler=page, summary="Runs of workflows, newest first",
        query=RunnerQuery, answer=runs.RunPage, example={"state": "failed"},
        answer_example={"items": [_RUN], "next_cursor": None, "scanned_until": None},
    ),
    Operation(
        "GET", _AT, action="flow.read", handler=get, summary="A run of a workflow", answer=runs.Run, errors=("NOT_FOUND",),
        answer_example=_RUN,
    ),
    Operation(
        "GET", f"{_AT}/steps", action="flow.read", handler=steps, summary="Every step of a run, block by block",
        query=pages.Paging, answer=pages.Page[runs.Step], errors=("NOT_FOUND",),
        answer_example={"items": [runs.STEP_EXAMPLE], "next_cursor": None},
    ),
    Operation(
        "GET", f"{_AT}/tree", action="flow.read", handler=tree, summary="The steps of a run as a tree",
        description=f"At most {TREE}, the outermost first.", answer=Tree, errors=("NOT_FOUND",),
        answer_example={"steps": [{**_BRANCH, "node": "andThen#1", "task_id": None, "steps": [_BRANCH]}], "more": False},
    ),
    Operation(
        "GET", f"{_AT}/explain", action="flow.read", handler=explained, summary="Why a run of a workflow does not go on",
        answer=Explanation, errors=("NOT_FOUND",),
        answer_example={"code": "paused", "summary": "it is paused; resume it", "reasons": ["it is paused; resume it"]},
    ),
    Operation(
        "POST", f"{_AT}/pause", action="flow.run", handler=pause, summary="Pause a run of a workflow",
        description="Nothing more of it is started; what runs already ends.", answer=runs.Run, errors=_ODD,
        answer_example={**_RUN, "state": "paused"},
    ),
    Operation(
        "POST", f"{_AT}/resume", action="flow.run", handler=resume, summary="Resume a paused run of a workflow",
        answer=runs.Run, errors=_ODD, answer_example=_RUN,
    ),
    Operation(
        "POST", f"{_AT}/cancel", action="flow.run", handler=cancel, summary="Cancel a run of a workflow",
        description="Nothing more of it is started; what runs is told. A run that is over stays as it is.",
        answer=runs.Run, errors=("NOT_FOUND",), answer_example={**_RUN, "state": "cancelled"},
    ),
    Operation(
        "POST", f"{_AT}/repair", action="flow.run", handler=mend, summary="Do again what failed in a run",
        description="The innermost steps that failed, and what hangs on them; what went well is kept. A run that stands "
        "still (`stalled_at`) goes on, and steps of it whose task is nowhere are done again. With `dry_run` nothing "
        "changes: the answer says what would be done again.", body=Repair, answer=Mended, errors=_ODD,
        example={"dry_run": True}, answer_example=_MENDED,
    ),
    Operation(
        "POST", f"{_STEP}/retry", action="flow.run", handler=retry, summary="Retry a failed step, or what failed in a block",
        answer=Mended, errors=_ODD, answer_example=_MENDED,
    ),
    Operation(
        "POST", f"{_STEP}/rerun", action="flow.run", handler=rerun, summary="Re-run from a step",
        description="However it ended, with all inside of it and all that comes after it.", answer=Mended, errors=_ODD,
        answer_example=_MENDED,
    ),
    Operation(
        "POST", f"{_STEP}/reset", action="flow.run", handler=reset, summary="Reset the block that a step has opened",
        description="It is run from its beginning, and all that comes after it.", answer=Mended, errors=_ODD,
        answer_example=_MENDED,
    ),
    Operation(
        "POST", f"{_STEP}/mark", action="flow.run", handler=mark, summary="Say how a step ended",
        description="The run goes on from there, as if it had ended so.", body=Mark, answer=runs.Run,
        errors=(*_ODD, "INVALID_PAYLOAD"), example={"state": "completed", "output": {"greeting": "Hello"}},
        answer_example=_RUN,
    ),
)  # fmt: skip
