"""DAGs, their runs and task instances as seed 002 has them: its keys, types and upper-case states; ours beside them."""

import datetime as dt
import uuid
from typing import Any

import msgspec

from weft.flows import definitions, words
from weft.flows.definitions import Definition
from weft.flows.look import RunView, StepView
from weft.flows.model import RunState, StepState
from weft.flows.words import RunStatus, TaskStatus


class DagTask(msgspec.Struct, kw_only=True):
    """A task of a DAG, as it was written."""

    task_id: uuid.UUID
    name: str
    payload: dict[str, Any]
    dependencies: list[str]
    timeout_seconds: float | None
    max_retries: int
    trigger_rule: str
    group: str


class Dag(msgspec.Struct, kw_only=True):
    """A DAG with its active version. `version` names the content: the same content has the same version."""

    dag_id: uuid.UUID
    name: str
    description: str
    cron_expression: str | None
    timezone: str
    config: dict[str, Any]
    status: str
    next_run_time: dt.datetime | None
    version: str
    version_number: int
    max_active_runs: int | None
    tags: list[str]
    task_count: int
    created_at: dt.datetime
    updated_at: dt.datetime


class WholeDag(Dag, kw_only=True):
    """The same with its tasks and its params."""

    params: dict[str, Any]
    tasks: list[DagTask]


class TaskInstance(msgspec.Struct, kw_only=True):
    """A task of a run. `status` is one of seed 002's, `state` ours: more exact."""

    instance_id: uuid.UUID
    dag_run_id: uuid.UUID
    task_id: uuid.UUID | None
    """The DAG's task it is an instance of."""
    name: str
    status: TaskStatus
    state: StepState
    attempt_number: int
    reruns: int
    started_at: dt.datetime | None
    completed_at: dt.datetime | None
    duration_ms: int | None
    error_message: str | None
    execution_id: uuid.UUID | None
    """Its task in the queue: GET /v1/tasks/{id} has its attempts and logs."""
    elements: int
    elements_ended: int
    output: Any


class DagRun(msgspec.Struct, kw_only=True):
    """A run of a DAG."""

    dag_run_id: uuid.UUID
    dag_id: uuid.UUID | None
    dag_name: str
    version: str | None
    status: RunStatus
    state: RunState
    scheduled_time: dt.datetime
    started_at: dt.datetime | None
    completed_at: dt.datetime | None
    duration_ms: int | None
    config: dict[str, Any]
    params: dict[str, Any]
    output: Any
    error_message: str | None
    failed_task: str | None
    trigger: str
    reruns: int
    tags: list[str]
    tasks_total: int
    tasks_ended: int
    tasks_failed: int
    stalled_at: dt.datetime | None
    """Since when it is known to stand still: nothing is running and nothing is awaited."""
    created_at: dt.datetime


class WholeDagRun(DagRun, kw_only=True):
    """The same with how many tasks are in which state, and the first of them."""

    task_states: dict[str, int]
    task_instances: list[TaskInstance]
    more_task_instances: bool
    """There are others: GET /v1/dag-runs/{id}/tasks has them all."""


def dag(found: Definition, next_time: dt.datetime | None) -> dict[str, Any]:
    """The fields of a `Dag`."""
    return {
        "dag_id": found.id, "name": found.name, "description": found.header.get("description", ""),
        "cron_expression": found.cron_expression, "timezone": found.timezone,
        "config": found.header.get("config", {}), "status": found.status.upper(), "next_run_time": next_time,
        "version": found.version, "version_number": found.number, "max_active_runs": found.max_active_runs,
        "tags": found.tags or [], "task_count": found.nodes, "created_at": found.created_at,
        "updated_at": found.updated_at,
    }  # fmt: skip


def dag_tasks(nodes: list[dict[str, Any]]) -> list[DagTask]:
    return [
        DagTask(
            task_id=uuid.UUID(one["id"]), name=one["name"], payload=one["payload"], dependencies=one["dependencies"],
            timeout_seconds=one["timeout_seconds"], max_retries=one["max_retries"], trigger_rule=one["trigger_rule"],
            group=one["group"],
        )
        for one in nodes
    ]  # fmt: skip


def dag_run(run: RunView) -> dict[str, Any]:
    """The fields of a `DagRun`."""
    return {
        "dag_run_id": run.id, "dag_id": run.definition_id, "dag_name": run.name, "version": run.version,
        "status": words.run_status(run.state), "state": run.state, "scheduled_time": run.logical_date,
        "started_at": run.started_at, "completed_at": run.finished_at,
        "duration_ms": duration(run.started_at, run.finished_at), "config": run.config, "params": run.params,
        "output": run.output, "error_message": (run.error or {}).get("message"),
        "failed_task": (run.error or {}).get("node"), "trigger": run.trigger, "reruns": run.reruns,
        "tags": run.tags or [], "tasks_total": run.nodes, "tasks_ended": run.nodes_ended,
        "tasks_failed": run.nodes_failed, "stalled_at": run.stalled_at, "created_at": run.created_at,
    }  # fmt: skip


def instance(step: StepView, *, dag_id: uuid.UUID | None) -> TaskInstance:
    return TaskInstance(
        instance_id=step.id, dag_run_id=step.run_id,
        task_id=None if dag_id is None else definitions.task_id(dag_id, step.node), name=step.node,
        status=words.task_status(step), state=step.state, attempt_number=step.attempt, reruns=step.reruns,
        started_at=step.started_at, completed_at=step.finished_at,
        duration_ms=duration(step.started_at, step.finished_at), error_message=(step.error or {}).get("message"),
        execution_id=step.task_id, elements=step.parts, elements_ended=step.parts_ended, output=step.output,
    )  # fmt: skip


def duration(start: dt.datetime | None, end: dt.datetime | None) -> int | None:
    return None if start is None or end is None else max(round((end - start).total_seconds() * 1000), 0)
