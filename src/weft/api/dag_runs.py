"""`/v1/dag-runs`: runs of DAGs and their task instances, and what can be done to them."""

import uuid
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

import msgspec

from weft.api import dag_shape, dags, fields, pages
from weft.api.dag_shape import DagRun, TaskInstance, WholeDagRun
from weft.api.operation import Call, Operation
from weft.api.tasks import Explanation
from weft.base import json
from weft.db.tx import Tx
from weft.flows import look, operate, why

FIRST = 500
"""Task instances that come with a run."""

Names = Annotated[list[fields.Name], msgspec.Meta(min_length=1, max_length=1000)]


class StepPlace(msgspec.Struct, array_like=True):
    id: uuid.UUID


class Clear(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Tasks to run again, with all that come after them."""

    tasks: Names


class Mark(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How a task is to count; `output` is what those after it see."""

    task: fields.Name
    status: Literal["COMPLETED", "FAILED"]
    output: Any = None


class Again(msgspec.Struct):
    """The run, and the tasks that run again."""

    run: DagRun
    tasks: list[str]


async def get(call: Call[None, None]) -> WholeDagRun:
    org = call.principal.org
    async with call.tx() as tx:
        run = await look.run(tx, call.id, org=org, kind="dag")
        states = await look.counts(tx, run.id)
        found = await look.nodes(tx, run.id, org=org, take=FIRST + 1)
    return WholeDagRun(
        **dag_shape.dag_run(run), task_states=states,
        task_instances=[dag_shape.instance(one, dag_id=run.definition_id) for one in found[:FIRST]],
        more_task_instances=len(found) > FIRST,
    )  # fmt: skip


async def tasks(call: Call[None, pages.Paging]) -> pages.Page[TaskInstance]:
    org = call.principal.org
    place = call.query.place(StepPlace)
    async with call.tx() as tx:
        run = await look.run(tx, call.id, org=org, kind="dag")
        found = await look.nodes(tx, run.id, org=org, take=call.query.limit + 1, after=place.id if place else None)
    return pages.page(
        found, limit=call.query.limit, show=lambda one: dag_shape.instance(one, dag_id=run.definition_id),
        place=lambda one: StepPlace(one.id),
    )  # fmt: skip


async def cancel(call: Call[None, None]) -> DagRun:
    return (await _steer(call, operate.cancel)).run


async def pause(call: Call[None, None]) -> DagRun:
    return (await _steer(call, operate.pause)).run


async def resume(call: Call[None, None]) -> DagRun:
    return (await _steer(call, operate.resume)).run


async def rerun(call: Call[None, None]) -> Again:
    return await _steer(call, operate.rerun)


async def clear(call: Call[Clear, None]) -> Again:
    return await _steer(call, operate.clear, nodes=call.body.tasks)


async def mark(call: Call[Mark, None]) -> DagRun:
    wanted = call.body
    json.text(wanted.output, what="output")
    state = "completed" if wanted.status == "COMPLETED" else "failed"
    return (await _steer(call, operate.mark, node=wanted.task, output=wanted.output, state=state)).run


async def explained(call: Call[None, None]) -> Explanation:
    async with call.tx() as tx:
        await _must_be_dag(call, tx)
        found = await why.why(tx, call.id, org=call.principal.org)
    return Explanation(found.code, found.summary, found.reasons)


async def _steer(call: Call[Any, Any], deed: Callable[..., Awaitable[Any]], **told: Any) -> Again:
    """Does something to a run of a DAG; answers the run, and the tasks that run again if it says so."""
    async with call.tx() as tx:
        await _must_be_dag(call, tx)
        said = await deed(tx, call.id, org=call.principal.org, actor=call.principal.actor, **told)
        run = await look.run(tx, call.id, org=call.principal.org)
    return Again(DagRun(**dag_shape.dag_run(run)), said if isinstance(said, list) else [])


async def _must_be_dag(call: Call[Any, Any], tx: Tx) -> None:
    await look.run(tx, call.id, org=call.principal.org, kind="dag")


_RUN = dags.RUN_EXAMPLE
_INSTANCE = {
    "instance_id": _RUN["dag_run_id"], "dag_run_id": _RUN["dag_run_id"], "task_id": _RUN["dag_id"], "name": "extract",
    "status": "RUNNING", "state": "running", "attempt_number": 1, "reruns": 0, "started_at": "2026-01-15T02:00:00Z",
    "completed_at": None, "duration_ms": None, "error_message": None, "execution_id": _RUN["dag_run_id"], "elements": 0,
    "elements_ended": 0, "output": None,
}  # fmt: skip
_AT = "/v1/dag-runs/{id:uuid}"
_AGAIN = {"run": _RUN, "tasks": ["transform", "load"]}

OPERATIONS = (
    Operation(
        "GET", _AT, action="dag.read", handler=get, summary="A run of a DAG, with its tasks",
        description=f"Of its task instances the first {FIRST}; `task_states` counts all.", answer=WholeDagRun,
        errors=("NOT_FOUND",),
        answer_example={**_RUN, "task_states": {"running": 1, "pending": 1}, "task_instances": [_INSTANCE],
                        "more_task_instances": False},
    ),
    Operation(
        "GET", f"{_AT}/tasks", action="dag.read", handler=tasks, summary="The task instances of a run",
        description="In the order the DAG was written.", query=pages.Paging, answer=pages.Page[TaskInstance],
        errors=("NOT_FOUND",), answer_example={"items": [_INSTANCE], "next_cursor": None},
    ),
    Operation(
        "GET", f"{_AT}/explain", action="dag.read", handler=explained, summary="Why a run does not go on",
        answer=Explanation, errors=("NOT_FOUND",),
        answer_example={"code": "paused", "summary": "it is paused; resume it", "reasons": ["it is paused; resume it"]},
    ),
    Operation(
        "POST", f"{_AT}/cancel", action="dag.run", handler=cancel, summary="Cancel a run",
        description="Nothing more of it is started; what runs is told. A run that is over stays as it is.", answer=DagRun,
        errors=("NOT_FOUND",), answer_example={**_RUN, "status": "CANCELLED", "state": "cancelled"},
    ),
    Operation(
        "POST", f"{_AT}/pause", action="dag.run", handler=pause, summary="Pause a run",
        description="Nothing more of it is started; what runs already ends.", answer=DagRun,
        errors=("NOT_FOUND", "CONFLICT"), answer_example={**_RUN, "state": "paused"},
    ),
    Operation(
        "POST", f"{_AT}/resume", action="dag.run", handler=resume, summary="Resume a paused run", answer=DagRun,
        errors=("NOT_FOUND", "CONFLICT"), answer_example=_RUN,
    ),
    Operation(
        "POST", f"{_AT}/rerun", action="dag.run", handler=rerun, summary="Run what failed again, and what hangs on it",
        answer=Again, errors=("NOT_FOUND", "CONFLICT"), answer_example=_AGAIN,
    ),
    Operation(
        "POST", f"{_AT}/clear", action="dag.run", handler=clear, summary="Run tasks again, and all after them",
        body=Clear, answer=Again, errors=("NOT_FOUND", "CONFLICT", "INVALID_NAME"), example={"tasks": ["transform"]},
        answer_example=_AGAIN,
    ),
    Operation(
        "POST", f"{_AT}/mark", action="dag.run", handler=mark, summary="Say how a task ended",
        description="The run goes on from there, as if it had ended so.", body=Mark, answer=DagRun,
        errors=("NOT_FOUND", "CONFLICT", "INVALID_NAME", "INVALID_PAYLOAD"),
        example={"task": "extract", "status": "COMPLETED", "output": {"rows": 10}}, answer_example=_RUN,
    ),
)  # fmt: skip
