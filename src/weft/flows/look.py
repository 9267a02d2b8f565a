"""Looking at runs and their steps."""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from weft.base import errors, ids
from weft.db import statements
from weft.db.tx import Tx
from weft.flows.model import Kind, RunState, StepState, Trigger

SQL = statements.load("weft.flows")

_FIRST = uuid.UUID(int=0)
_LOOK = 10_000
_FIRST_DATE = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_LAST_DATE = dt.datetime(9999, 1, 1, tzinfo=dt.UTC)


@dataclasses.dataclass(frozen=True)
class RunView:
    """A run as people see it, in the order `get_run` selects it."""

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
    trigger: Trigger
    actor: str | None
    parent_run_id: uuid.UUID | None
    parent_step_id: uuid.UUID | None
    logical_date: dt.datetime
    tags: list[str] | None
    correlation_id: str | None
    nodes: int
    nodes_ended: int
    nodes_failed: int
    reruns: int
    deadline_at: dt.datetime | None
    stalled_at: dt.datetime | None
    created_at: dt.datetime
    started_at: dt.datetime | None
    finished_at: dt.datetime | None


@dataclasses.dataclass(frozen=True)
class StepView:
    """A step as people see it, in the order the lists select it."""

    id: uuid.UUID
    run_id: uuid.UUID
    frame_id: uuid.UUID
    node: str
    element: int
    catching: bool
    depth: int
    state: StepState
    task_state: str | None
    later: bool | None
    """Its task is not due yet."""
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


async def run(tx: Tx, id: uuid.UUID, *, org: uuid.UUID, kind: Kind | None = None) -> RunView:
    """NotFound, also if it is of another kind than was asked for."""
    row = await tx.row(SQL.get_run, {"id": id, "org_id": org})
    if row is None or (kind is not None and row[1] != kind):
        raise errors.NotFound(f"there is no run {id}")
    return RunView(*row)


async def stands_still(tx: Tx, id: uuid.UUID | str, *, org: uuid.UUID | str) -> bool:
    """Whether a run should go on by itself and cannot: nothing of it runs, and nothing is awaited."""
    return bool(await tx.value(SQL.stands_still, {"id": str(id), "org_id": str(org)}))


async def plan_hash(tx: Tx, id: uuid.UUID, *, org: uuid.UUID) -> str | None:
    """What its plan is called; None for a workflow, which is code."""
    found: str | None = await tx.value(SQL.plan_hash_of, {"id": id, "org_id": org})
    return found


async def page_of(
    tx: Tx, definition: uuid.UUID, *, org: uuid.UUID, take: int, before: tuple[dt.datetime, uuid.UUID] | None = None,
    states: Sequence[RunState] | None = None,
) -> list[RunView]:  # fmt: skip
    """Runs of a definition, by what they were for, newest first."""
    date, id = before or (_LAST_DATE, ids.NEWEST)
    arguments = {
        "definition_id": definition, "org_id": org, "before_date": date, "before": id, "take": take,
        "states": list(states) if states else None,
    }  # fmt: skip
    return [RunView(*row) for row in await tx.rows(SQL.list_runs_of, arguments)]


async def nodes(
    tx: Tx, run: uuid.UUID, *, org: uuid.UUID, take: int, after: uuid.UUID | None = None
) -> list[StepView]:
    """The nodes of a run's entry, in the order they were written."""
    arguments = {"run_id": run, "frame_id": run, "org_id": org, "after": after or _FIRST, "take": take}
    return [StepView(*row) for row in await tx.rows(SQL.list_nodes, arguments)]


async def steps(
    tx: Tx, run: uuid.UUID, *, org: uuid.UUID, take: int, after: tuple[uuid.UUID, str, int, bool] | None = None
) -> list[StepView]:
    """Every step, block by block and by name; `after` is the place (frame, node, element, catching) of the one before."""
    frame, node, element, catching = after or (_FIRST, "", -2, False)
    arguments = {
        "run_id": run, "org_id": org, "take": take, "after_frame": frame, "after_node": node, "after_element": element,
        "after_catching": catching,
    }  # fmt: skip
    return [StepView(*row) for row in await tx.rows(SQL.list_steps, arguments)]


async def ended(
    tx: Tx, run: uuid.UUID, *, org: uuid.UUID, take: int, after: tuple[dt.datetime, uuid.UUID] | None = None
) -> list[StepView]:
    """Steps with a task that have ended, in that order, after the one that ended at this time and has this id."""
    time, id = after or (_FIRST_DATE, _FIRST)
    arguments = {"run_id": run, "org_id": org, "take": take, "after_time": time, "after": id}
    return [StepView(*row) for row in await tx.rows(SQL.ended_steps, arguments)]


async def tree(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, take: int) -> list[StepView]:
    """Every step, the outermost first, in the order they were made."""
    return [StepView(*row) for row in await tx.rows(SQL.tree_steps, {"run_id": run, "org_id": org, "take": take})]


class Tried(NamedTuple):
    """A task that was tried before, in the order `run_attempts` selects it. No step: a workflow's own."""

    step_id: uuid.UUID | None
    task_id: uuid.UUID
    before: list[dict[str, Any]]
    """Attempts that ended without ending the task."""
    attempt: int
    state: str
    node_id: uuid.UUID | None
    began_at: dt.datetime | None
    ended_at: dt.datetime | None


async def attempts(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, take: int) -> list[Tried]:
    """What was tried more than once, among the first ten thousand steps."""
    rows = await tx.rows(SQL.run_attempts, {"run_id": run, "org_id": org, "take": take, "look": _LOOK})
    return [Tried(*row) for row in rows]


async def counts(tx: Tx, run: uuid.UUID) -> dict[str, int]:
    """How many nodes of the entry are in which state."""
    return {row[0]: row[1] for row in await tx.rows(SQL.count_nodes, {"run_id": run})}
