"""What people do to runs of workflows: cancel, pause, resume, retry, skip, fork, compare. Changes are journaled."""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from weft.base import errors, json, names
from weft.db import statements
from weft.db.tx import Tx
from weft.flows import workflows
from weft.flows.model import OVER, StepState
from weft.journal import record

SQL = statements.load("weft.flows")

STEPS = 10_000
"""Steps that are shown of a run."""
_ALL = 1 << 30


@dataclasses.dataclass(frozen=True)
class Declaration:
    """A workflow that some worker has declared, in the order `list_workflows` selects it."""

    name: str
    version: str
    queue: str
    signals: list[str] | None
    declared_at: dt.datetime
    schema: dict[str, Any] | None
    """Of its arguments."""


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """One thing a run has done, in the order `workflow_steps` selects it."""

    node: str
    operation: str
    number: int
    state: StepState
    attempt: int
    output: Any
    error: dict[str, Any] | None
    compensate: str | None
    finished_at: dt.datetime | None


class Difference(NamedTuple):
    """A step that two runs do not have alike; None: it is not there."""

    node: str
    left: Checkpoint | None
    right: Checkpoint | None


class _Locked(NamedTuple):
    state: str
    name: str
    version: str
    params: str
    task: str | None
    queue: str | None


async def cancel(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str, compensate: bool = True) -> bool:
    """Ends a run, and undoes what it did unless told not to. False: it was over already."""
    found = await _locked(tx, run, org=org)
    if found.state in OVER:
        return False
    await workflows.send(tx, run, "cancel", org=org, value={"compensate": compensate, "actor": actor})
    if found.task == "blocked":
        await tx.run(SQL.free_wake_up, {"id": run})
    await _journal(tx, run, org=org, actor=actor, action="run.cancel", after={"compensate": compensate})
    return True


async def pause(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str) -> None:
    """Stops a run where it is: what runs is ended and begins again when it is resumed."""
    found = await _locked(tx, run, org=org)
    if found.state not in ("running", "waiting"):
        raise errors.Conflict(f"the run is {found.state}; only one that runs or waits can be paused")
    if found.task == "running":
        await workflows.send(tx, run, "pause", org=org)
    else:
        await tx.run(SQL.hold_wake_up, {"id": run})
        await tx.run(SQL.set_workflow_state, {"id": run, "state": "paused", "error": None})
    await _journal(tx, run, org=org, actor=actor, action="run.pause")


async def resume(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str) -> None:
    """A run that is paused, or blocked by code that has been mended, goes on."""
    found = await _locked(tx, run, org=org)
    if found.state not in ("paused", "blocked"):
        raise errors.Conflict(f"the run is {found.state}, neither paused nor blocked")
    await tx.run(SQL.set_workflow_state, {"id": run, "state": "running", "error": None})
    await tx.run(SQL.free_wake_up, {"id": run})
    await _journal(tx, run, org=org, actor=actor, action="run.resume")


async def retry(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str) -> str | None:
    """A failed run goes on from the step that failed last; answers that step."""
    found = await _locked(tx, run, org=org)
    if found.state != "failed":
        raise errors.Conflict(f"the run is {found.state}; only a failed one can be tried again (a compensated one: fork it)")
    if any(one.operation == "compensation" for one in await steps(tx, run, org=org)):
        raise errors.Conflict("some of its steps were undone, so it cannot go on from there; fork it from an earlier step")
    node: str | None = await tx.value(SQL.last_failed_step, {"id": run})
    if node is not None:
        await tx.run(SQL.drop_step, {"id": run, "node": node})
    await _reopen(tx, run, found, org=org)
    await _journal(tx, run, org=org, actor=actor, action="run.retry", after={"step": node})
    return node


async def skip(tx: Tx, run: uuid.UUID, node: str, result: Any, *, org: uuid.UUID, actor: str) -> None:
    """A failed step counts as done, with this result, and the run goes on from there."""
    found = await _locked(tx, run, org=org)
    if found.state != "failed":
        raise errors.Conflict(f"the run is {found.state}; a step can be skipped once it has failed the run")
    output = None if result is None else json.text(result, what="the result")
    if not await tx.run(SQL.give_step, {"id": run, "node": node, "output": output}):
        failed = [one.node for one in await steps(tx, run, org=org) if one.state == "failed"]
        raise errors.NotFound(f"the run has no failed step {node[:255]!r}{names.closest(node, failed)}")
    await _reopen(tx, run, found, org=org)
    await _journal(tx, run, org=org, actor=actor, action="run.skip", after={"step": node})


async def fork(
    tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str, step: str | None = None,
    arguments: Mapping[str, Any] | None = None, outputs: Mapping[str, Any] | None = None,
) -> uuid.UUID:  # fmt: skip
    """A new run with the history of another up to a step (that one is run again), with other arguments or outputs."""
    found = await _locked(tx, run, org=org)
    known = {one.node: one for one in await steps(tx, run, org=org)}
    for node in [*(outputs or {}), *([step] if step is not None else [])]:
        if node not in known:
            raise errors.NotFound(f"the run has no step {node[:255]!r}{names.closest(node, known)}")
    if arguments is not None and step is None and known:
        step = next(iter(known))  # other arguments mean another history
    edited = {node: json.text(value, what=f"the output of {node}") for node, value in (outputs or {}).items()}
    made: uuid.UUID = await tx.value(SQL.fork_workflow, {
        "id": run, "org_id": org, "actor": actor, "queue": found.queue or "default",
        "params": None if arguments is None else json.text(dict(arguments), what="arguments"),
        "nodes": list(edited), "outputs": list(edited.values()), "before": _ALL if step is None else known[step].number,
    })  # fmt: skip
    await _journal(tx, run, org=org, actor=actor, action="run.fork", after={"fork": str(made), "step": step})
    return made


async def diff(tx: Tx, left: uuid.UUID, right: uuid.UUID, *, org: uuid.UUID) -> list[Difference]:
    """Where two runs went different ways, in the order of their steps."""
    for run in (left, right):
        await published(tx, run, org=org)
    return differences(await steps(tx, left, org=org), await steps(tx, right, org=org))


def differences(left: Sequence[Checkpoint], right: Sequence[Checkpoint]) -> list[Difference]:
    """Pure."""
    ours, theirs = {one.node: one for one in left}, {one.node: one for one in right}
    return [
        Difference(node, ours.get(node), theirs.get(node))
        for node in dict.fromkeys([*ours, *theirs])
        if _shown(ours.get(node)) != _shown(theirs.get(node))
    ]


async def steps(tx: Tx, run: uuid.UUID, *, org: uuid.UUID) -> list[Checkpoint]:
    rows = await tx.rows(SQL.workflow_steps, {"id": run, "org_id": org, "take": STEPS})
    return [Checkpoint(*row) for row in rows]


async def published(tx: Tx, run: uuid.UUID, *, org: uuid.UUID) -> Any:
    """What the run said of itself with `set_state`; NotFound."""
    row = await tx.row(SQL.published_state, {"id": run, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no workflow run {run}")
    return row[0]


async def declarations(tx: Tx, *, after: tuple[str, str] = ("", ""), take: int) -> list[Declaration]:
    rows = await tx.rows(SQL.list_workflows, {"after_name": after[0], "after_version": after[1], "take": take})
    return [Declaration(*row) for row in rows]


def _shown(step: Checkpoint | None) -> Any:
    return None if step is None else (step.operation, step.state, step.output, (step.error or {}).get("message"))


async def _locked(tx: Tx, run: uuid.UUID, *, org: uuid.UUID) -> _Locked:
    # the task before the run, as a worker that parks or ends it does
    await tx.row(SQL.lock_wake_up, {"id": run, "org_id": org})
    row = await tx.row(SQL.lock_workflow, {"id": run, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no workflow run {run}")
    return _Locked(*row)


async def _reopen(tx: Tx, run: uuid.UUID, found: _Locked, *, org: uuid.UUID) -> None:
    await tx.run(SQL.reopen_workflow, {"id": run, "org_id": org, "queue": found.queue or "default"})


async def _journal(
    tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str, action: str, after: dict[str, Any] | None = None
) -> None:
    await record.record(
        tx, org_id=org, actor=actor, action=action, object_type="run", object_id=str(run), after=after or {}
    )
