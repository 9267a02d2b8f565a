"""`/v1/dags`: DAGs as seed 002 has them: create (a version each), look, trigger, pause. (Runs: dag_runs.py.)"""

import datetime as dt
import uuid
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from weft.api import dag_shape, fields, pages
from weft.api.dag_shape import Dag, DagRun, WholeDag
from weft.api.jobs import must_be_led
from weft.api.operation import Answer, Call, Operation
from weft.base import errors
from weft.dagfile import read
from weft.db.tx import Tx
from weft.flows import definitions, look
from weft.flows.definitions import Definition
from weft.flows.model import Status
from weft.flows.start import Wish
from weft.flows.words import STATES, RunStatus
from weft.jobs import dags as schedules
from weft.plan.model import MAX_BYTES

_VERSIONS = 100


class NewDag(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A DAG in the words of a DAG file, which docs/reference/dagfile.md describes."""

    name: fields.Name
    tasks: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1, description="Each with a name and a payload.")]
    description: str | UnsetType = UNSET
    cron_expression: str | UnsetType | None = UNSET
    timezone: str | UnsetType = UNSET
    start_date: str | UnsetType | None = UNSET
    end_date: str | UnsetType | None = UNSET
    misfire_policy: str | UnsetType = UNSET
    catch_up_limit: int | UnsetType = UNSET
    jitter_seconds: float | UnsetType = UNSET
    max_active_runs: int | UnsetType = UNSET
    timeout_seconds: float | UnsetType | None = UNSET
    params: dict[str, Any] | UnsetType = UNSET
    defaults: dict[str, Any] | UnsetType = UNSET
    groups: dict[str, Any] | UnsetType = UNSET
    outputs: dict[str, Any] | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET
    config: dict[str, Any] | UnsetType = UNSET


class DagPlace(msgspec.Struct, array_like=True):
    id: uuid.UUID


class RunPlace(msgspec.Struct, array_like=True):
    at: dt.datetime
    id: uuid.UUID


class DagQuery(pages.Paging, forbid_unknown_fields=True, kw_only=True):
    """Which DAGs."""

    name_prefix: fields.Name | None = None


class RunQuery(pages.Paging, forbid_unknown_fields=True, kw_only=True):
    """Which runs of a DAG."""

    status: RunStatus | None = None


class Version(msgspec.Struct):
    """A version of a DAG: what its content is called, its number, and when it was first there."""

    version: str
    number: int
    created_at: dt.datetime


class Versions(msgspec.Struct):
    """The newest first, at most a hundred."""

    items: list[Version]


class RunConfig(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What a run does otherwise than its DAG says: its tasks' queue and priority, its own time limit."""

    queue: fields.Name | None = None
    priority: Annotated[int, msgspec.Meta(ge=0, le=100)] | None = None
    timeout_seconds: fields.Span | None = None


class NewRun(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A run to start. A key that a run of this DAG has already had starts nothing: it answers that run."""

    params: Annotated[dict[str, Any], msgspec.Meta(description="As the DAG's `params` declare them.")] = {}
    config: RunConfig = msgspec.field(default_factory=RunConfig)
    idempotency_key: fields.Key | None = None
    scheduled_time: Annotated[fields.Instant, msgspec.Meta(description="What the run is for. Default: now.")] | None = None
    tags: Annotated[list[fields.Name], msgspec.Meta(max_length=50)] = []


async def create(call: Call[NewDag, None]) -> Answer:
    dag = read.from_value(msgspec.to_builtins(call.body))
    if dag.cron_expression is not None:
        await must_be_led(call)
    org = call.principal.org
    async with call.tx() as tx:
        saved = await schedules.save(tx, dag, org=org, actor=call.principal.actor)
        shown = await _whole(tx, saved.definition)
    headers = {"location": f"/v1/dags/{saved.definition.id}"}
    return Answer(body=shown, status=201 if saved.new else 200, headers=headers)


async def page(call: Call[None, DagQuery]) -> pages.Page[Dag]:
    place = call.query.place(DagPlace)
    async with call.tx() as tx:
        found = await definitions.page(
            tx, org=call.principal.org, kind="dag", before=place.id if place else None, take=call.query.limit + 1,
            prefix=call.query.name_prefix,
        )  # fmt: skip
        times = await schedules.next_times(tx, [one.name for one in found], org=call.principal.org)
    return pages.page(
        found, limit=call.query.limit, show=lambda one: Dag(**dag_shape.dag(one, times.get(one.name))),
        place=lambda one: DagPlace(one.id),
    )  # fmt: skip


async def get(call: Call[None, None]) -> WholeDag:
    async with call.tx() as tx:
        return await _whole(tx, await _found(call, tx))


async def versions(call: Call[None, None]) -> Versions:
    async with call.tx() as tx:
        found = await definitions.versions(tx, (await _found(call, tx)).id, take=_VERSIONS)
    return Versions([Version(*one) for one in found])


async def trigger(call: Call[NewRun, None]) -> Answer:
    wanted = call.body
    wish = Wish(
        params=wanted.params, config=msgspec.to_builtins(wanted.config), key=wanted.idempotency_key,
        actor=call.principal.actor, logical_date=_sane(wanted.scheduled_time), tags=wanted.tags,
    )  # fmt: skip
    await must_be_led(call)
    async with call.tx() as tx:
        definition = await _found(call, tx)
        made = await schedules.trigger(tx, definition, wish)
        run = await look.run(tx, made.id, org=call.principal.org)
    headers = {"location": f"/v1/dag-runs/{run.id}"}
    return Answer(body=DagRun(**dag_shape.dag_run(run)), status=201 if made.created else 200, headers=headers)


async def runs(call: Call[None, RunQuery]) -> pages.Page[DagRun]:
    place = call.query.place(RunPlace)
    status = call.query.status
    async with call.tx() as tx:
        definition = await _found(call, tx)
        found = await look.page_of(
            tx, definition.id, org=call.principal.org, take=call.query.limit + 1,
            before=(place.at, place.id) if place else None, states=None if status is None else STATES[status],
        )  # fmt: skip
    return pages.page(
        found, limit=call.query.limit, show=lambda one: DagRun(**dag_shape.dag_run(one)),
        place=lambda one: RunPlace(one.logical_date, one.id),
    )  # fmt: skip


async def pause(call: Call[None, None]) -> Dag:
    return await _set(call, "paused")


async def resume(call: Call[None, None]) -> Dag:
    return await _set(call, "active")


async def delete(call: Call[None, None]) -> None:
    await _set(call, "deleted")


async def _set(call: Call[None, None], status: Status) -> Dag:
    async with call.tx() as tx:
        definition = await _found(call, tx)
        await schedules.set_status(tx, definition, status, actor=call.principal.actor)
        shown = dag_shape.dag(definition, await _next_time(tx, definition))
    return Dag(**{**shown, "status": status.upper()})


async def _found(call: Call[Any, Any], tx: Tx) -> Definition:
    return await definitions.get(tx, call.path["dag_id"], org=call.principal.org, kind="dag")


async def _whole(tx: Tx, found: Definition) -> WholeDag:
    nodes = await definitions.nodes(tx, found.id, version=found.version)
    params = await definitions.params(tx, found)
    return WholeDag(**dag_shape.dag(found, await _next_time(tx, found)), params=params, tasks=dag_shape.dag_tasks(nodes))


async def _next_time(tx: Tx, found: Definition) -> dt.datetime | None:
    return (await schedules.next_times(tx, [found.name], org=found.org_id)).get(found.name)


def _sane(moment: dt.datetime | None) -> dt.datetime | None:
    if moment is not None and not 1970 <= moment.year < 3000:
        raise errors.InvalidInput("scheduled_time must be between 1970 and 2999")
    return moment


_NEW = {
    "name": "etl-pipeline",
    "cron_expression": "0 2 * * *",
    "timezone": "UTC",
    "tasks": [
        {"name": "extract", "payload": {"action": "extract_data", "source": "production_db"}, "timeout_seconds": 1800},
        {"name": "transform", "payload": {"action": "transform_data"}, "dependencies": ["extract"]},
    ],
}
_ID = "0190c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55"
_DAG: dict[str, Any] = {
    "dag_id": _ID, "name": "etl-pipeline", "description": "", "cron_expression": "0 2 * * *", "timezone": "UTC",
    "config": {}, "status": "ACTIVE", "next_run_time": None,
    "version": "4be1c1e5b0b0a1f5d5a2d6b5c7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f901", "version_number": 1,
    "max_active_runs": 16, "tags": [], "task_count": 2, "created_at": "2026-01-15T10:30:00Z",
    "updated_at": "2026-01-15T10:30:00Z",
}  # fmt: skip
_WHOLE = {
    **_DAG, "params": {},
    "tasks": [
        {"task_id": _ID, "name": "extract", "payload": {"action": "extract_data", "source": "production_db"},
         "dependencies": [], "timeout_seconds": 1800, "max_retries": 3, "trigger_rule": "all_success", "group": ""},
    ],
}  # fmt: skip
RUN_EXAMPLE: dict[str, Any] = {
    "dag_run_id": _ID, "dag_id": _ID, "dag_name": "etl-pipeline", "version": _DAG["version"], "status": "RUNNING",
    "state": "running", "scheduled_time": "2026-01-15T02:00:00Z", "started_at": "2026-01-15T02:00:00Z",
    "completed_at": None, "duration_ms": None, "config": {}, "params": {}, "output": None, "error_message": None,
    "failed_task": None, "trigger": "manual", "reruns": 0, "tags": [], "tasks_total": 2, "tasks_ended": 0,
    "tasks_failed": 0, "stalled_at": None, "created_at": "2026-01-15T02:00:00Z",
}  # fmt: skip

OPERATIONS = (
    Operation(
        "POST", "/v1/dags", action="dag.write", handler=create, summary="Create a DAG, or a new version of it",
        description="The words of the body are those of a DAG file (docs/reference/dagfile.md). Of a name that is there, "
        "other content becomes a new version, active at once; the same content changes nothing. At most 8 MiB. "
        "With a schedule: 503 SCHEDULER_UNAVAILABLE if no scheduler was seen for 30 seconds.",
        body=NewDag, answer=WholeDag, status=201, also={200: "This is the active version already."},
        errors=("INVALID_DAG", "INVALID_NAME", "INVALID_CRON", "INVALID_TIMEZONE", "SCHEDULER_UNAVAILABLE"),
        idempotent=True, max_body=MAX_BYTES, example=_NEW, answer_example=_WHOLE,
    ),
    Operation(
        "GET", "/v1/dags", action="dag.read", handler=page, summary="DAGs, newest first", query=DagQuery,
        answer=pages.Page[Dag], example={"name_prefix": "etl"}, answer_example={"items": [_DAG], "next_cursor": None},
    ),
    Operation(
        "GET", "/v1/dags/{dag_id:path}/versions", action="dag.read", handler=versions, summary="The versions of a DAG",
        answer=Versions, errors=("NOT_FOUND",),
        answer_example={"items": [{"version": _DAG["version"], "number": 1, "created_at": "2026-01-15T10:30:00Z"}]},
    ),
    Operation(
        "GET", "/v1/dags/{dag_id:path}/runs", action="dag.read", handler=runs,
        summary="Runs of a DAG, by their scheduled time, newest first", query=RunQuery,
        answer=pages.Page[DagRun], errors=("NOT_FOUND",), example={"status": "FAILED"},
        answer_example={"items": [RUN_EXAMPLE], "next_cursor": None},
    ),
    Operation(
        "POST", "/v1/dags/{dag_id:path}/trigger", action="dag.run", handler=trigger, summary="Start a run of a DAG",
        description="Paused or not. It waits as PENDING while `max_active_runs` others are active. "
        "503 SCHEDULER_UNAVAILABLE if no scheduler was seen for 30 seconds.",
        body=NewRun, answer=DagRun,
        status=201, also={200: "A run with this idempotency_key is there already: this one."},
        errors=("NOT_FOUND", "INVALID_NAME", "INVALID_PAYLOAD", "SCHEDULER_UNAVAILABLE"), idempotent=True,
        example={"params": {}, "idempotency_key": "2026-01-15"}, answer_example=RUN_EXAMPLE,
    ),
    Operation(
        "POST", "/v1/dags/{dag_id:path}/pause", action="dag.write", handler=pause,
        summary="Stop a DAG's schedule; runs that are asked for still start", answer=Dag, errors=("NOT_FOUND",),
        answer_example={**_DAG, "status": "PAUSED"},
    ),
    Operation(
        "POST", "/v1/dags/{dag_id:path}/resume", action="dag.write", handler=resume, summary="Resume a DAG's schedule",
        answer=Dag, errors=("NOT_FOUND",), answer_example=_DAG,
    ),
    Operation(
        "GET", "/v1/dags/{dag_id:path}", action="dag.read", handler=get, summary="A DAG by id or name, with its tasks",
        answer=WholeDag, errors=("NOT_FOUND",), answer_example=_WHOLE,
    ),
    Operation(
        "DELETE", "/v1/dags/{dag_id:path}", action="dag.write", handler=delete, status=204,
        summary="Delete a DAG; runs that have begun go on, those that wait are cancelled", errors=("NOT_FOUND",),
    ),
)  # fmt: skip
