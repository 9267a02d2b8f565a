"""What people do to runs of workflows: cancel, pause, resume, retry, skip, fork, compare. Changes are journaled."""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from weft.base import errors, json, names
from weft.db import statements
from weft.db.tx import Tx
from weft.flows import look, workflows
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
    priority: int
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


class Published(NamedTuple):
    """What is known of a run between its steps."""

    state: Any
    """What it said last."""
    running: list[str]
    """Steps that run just now and have for a while."""


class Difference(NamedTuple):
    """A step that two runs do not have alike; None: it is not there."""

    node: str
    left: Checkpoint | None
    right: Checkpoint | None


class _Locked(NamedTuple):
    state: str
    name: str
    version: str
    error: dict[str, Any] | None
    config: dict[str, Any]
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
    undoing = (found.error or {}).get("compensating")
    state, error = ("running", None) if undoing is None else ("compensating", json.text(undoing))
    await tx.run(SQL.set_workflow_state, {"id": run, "state": state, "error": error})
    await tx.run(SQL.free_wake_up, {"id": run})
    await _journal(tx, run, org=org, actor=actor, action="run.resume")


async def retry(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str) -> str | None:
    """A failed run goes on from the steps that failed it, or with undoing what was not undone. Answers the first of those;
    None: its code failed by itself."""
    found = await _locked(tx, run, org=org)
    if found.state != "failed":
        raise errors.Conflict(f"the run is {found.state}; only a failed one can be tried again (a compensated one: fork it)")
    known = await steps(tx, run, org=org, take=_ALL)
    error = dict(found.error or {})
    if error.pop("not_undone", None) is not None:
        nodes = [one.node for one in known if one.operation == "compensation" and one.state == "failed"]
        await tx.run(SQL.drop_steps, {"id": run, "nodes": nodes})
        await _reopen(tx, run, found, org=org, undoing=error)
    else:
        nodes = list(error.get("steps", ()))
        _must_have_ended(error, nodes)
        children = [_start_of(one.node) for one in known if one.operation == "child" and one.node in nodes]
        await tx.run(SQL.drop_steps, {"id": run, "nodes": [*nodes, *children]})
        await _reopen(tx, run, found, org=org)
    await _journal(tx, run, org=org, actor=actor, action="run.retry", after={"steps": nodes})
    return nodes[0] if nodes else None


async def repair(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str) -> None:
    """Sets a run going again that stands still; Conflict, if it does not."""
    found = await _locked(tx, run, org=org)
    if not await look.stands_still(tx, run, org=org):
        then = "; retry it" if found.state == "failed" else ""
        raise errors.Conflict(f"the run is {found.state}, and does not stand still{then}")
    await revive(tx, run, org=org)
    await _journal(tx, run, org=org, actor=actor, action="run.repair")


async def revive(tx: Tx, run: uuid.UUID, *, org: uuid.UUID) -> None:
    """A run whose wake-up is gone. If that ended otherwise than well, so does the run; else it gets another, and its code is
    run against its history."""
    ended = await tx.row(SQL.wake_up_ended, {"id": run, "org_id": org})
    if ended is not None and ended[0] != "completed":
        await workflows.abandon_one(tx, str(run), state=ended[0], error=ended[1])
        return
    found = await _locked(tx, run, org=org)
    await _reopen(tx, run, found, org=org, undoing=(found.error or {}) if found.state == "compensating" else None)


async def skip(tx: Tx, run: uuid.UUID, node: str, result: Any, *, org: uuid.UUID, actor: str) -> None:
    """A failed step counts as done, with this result, and the run goes on from there."""
    found = await _locked(tx, run, org=org)
    if found.state != "failed":
        raise errors.Conflict(f"the run is {found.state}; a step can be skipped once it has failed the run")
    output = None if result is None else json.text(result, what="the result")
    if not await tx.run(SQL.give_step, {"id": run, "node": node, "output": output}):
        failed = [one.node for one in await steps(tx, run, org=org, take=_ALL) if one.state == "failed"]
        raise errors.NotFound(f"the run has no failed step {node[:255]!r}{names.closest(node, failed)}")
    _must_have_ended(found.error or {}, [node])
    await _reopen(tx, run, found, org=org)
    await _journal(tx, run, org=org, actor=actor, action="run.skip", after={"step": node})


async def fork(
    tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str, step: str | None = None,
    arguments: Mapping[str, Any] | None = None, outputs: Mapping[str, Any] | None = None,
) -> uuid.UUID:  # fmt: skip
    """A new run with the history of another up to a step (that one is run again), with other arguments or outputs."""
    found = await _locked(tx, run, org=org)
    known = {one.node: one for one in await steps(tx, run, org=org, take=_ALL)}
    for node in [*(outputs or {}), *([step] if step is not None else [])]:
        if node not in known:
            raise errors.NotFound(f"the run has no step {node[:255]!r}{names.closest(node, known)}")
    edited = {node: json.text(value, what=f"the output of {node}") for node, value in (outputs or {}).items()}
    before = 0 if arguments is not None else _ALL  # other arguments mean another history
    if step is not None:
        before = known[step].number or _ALL  # one that waits for its next attempt has no number, and comes last
    children = {row[0] for row in await tx.rows(SQL.awaited_children, {"id": run, "org_id": org})}
    without = unanswered(known, children, before=before)
    copied = [one for one in known.values() if one.number < before and one.operation != "compensation"]
    last = max([one.number for one in copied if one.node not in without], default=0)
    made: uuid.UUID = await tx.value(SQL.fork_workflow, {
        "id": run, "org_id": org, "actor": actor, "queue": found.queue or "default",
        "params": None if arguments is None else json.text(dict(arguments), what="arguments"),
        "nodes": list(edited), "outputs": list(edited.values()), "before": before,
        "without": without, "dice": json.text(dice(run, found.config, last=last)),
    })  # fmt: skip
    await _journal(tx, run, org=org, actor=actor, action="run.fork", after={"fork": str(made), "step": step})
    return made


def unanswered(steps: Mapping[str, Checkpoint], children: Collection[str], *, before: int) -> list[str]:
    """Starts of children who would answer another run: those whose end is not before this number. Pure."""
    ends = {_start_of(one.node): one.number for one in steps.values() if one.operation == "child"}
    return [
        one.node for one in steps.values()
        if one.operation == "start" and (one.node in ends or one.output in children) and ends.get(one.node, before) >= before
    ]  # fmt: skip


def dice(run: uuid.UUID, config: Mapping[str, Any], *, last: int) -> list[tuple[str, int]]:
    """Whose dice a fork throws while it follows the history that it was given up to this record. Pure."""
    owners = config.get("dice", ())
    owner = next((one for one, until in owners if until >= last), str(run))
    return [*((one, until) for one, until in owners if until < last), (owner, last)]


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


async def steps(tx: Tx, run: uuid.UUID, *, org: uuid.UUID, take: int = STEPS) -> list[Checkpoint]:
    rows = await tx.rows(SQL.workflow_steps, {"id": run, "org_id": org, "take": take})
    return [Checkpoint(*row) for row in rows]


async def published(tx: Tx, run: uuid.UUID, *, org: uuid.UUID) -> Published:
    """What the run said of itself with `set_state`, and what it does; NotFound."""
    row = await tx.row(SQL.published_state, {"id": run, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no workflow run {run}")
    return Published(row[0], row[1] or [])


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


def _must_have_ended(error: Mapping[str, Any], nodes: Sequence[str]) -> None:
    """Conflict, if the code went on after these had failed: it would not find what it did then where it looks for it."""
    if "after" in error or not set(nodes) <= set(error.get("steps", ())):
        then = f", with {error['after']}" if "after" in error else ""
        raise errors.Conflict(
            f"the code went on after {nodes[0]} failed{then}, so what came later belongs to that failure; fork the run from "
            f"{nodes[0]} instead"
        )


def _start_of(child: str) -> str:
    """The step by which a child was started is the one before that by which it ended."""
    name, _, position = child.rpartition("#")
    path, dot, count = position.rpartition(".")
    return f"{name}#{path}{dot}{int(count) - 1}"


async def _reopen(
    tx: Tx, run: uuid.UUID, found: _Locked, *, org: uuid.UUID, undoing: Mapping[str, Any] | None = None
) -> None:
    await tx.run(SQL.reopen_workflow, {
        "id": run, "org_id": org, "queue": found.queue or "default",
        "state": "running" if undoing is None else "compensating",
        "error": None if undoing is None else json.text(dict(undoing)),
    })  # fmt: skip


async def _journal(
    tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str, action: str, after: dict[str, Any] | None = None
) -> None:
    await record.record(
        tx, org_id=org, actor=actor, action=action, object_type="run", object_id=str(run), after=after or {}
    )
