"""Does code still fit? Replays unfinished runs against the workflows at hand; executes nothing, changes nothing."""

import dataclasses
import uuid
from typing import Any

from weft.base import errors, json
from weft.db import statements
from weft.db.tx import Tx
from weft.flows import workflows
from weft.flows.workflows import Loaded
from weft.sdk.replayer import Replayer
from weft.sdk.workflow import PREFIX, Declared, Workflow

SQL = statements.load("weft.flows")

BATCH = 200


@dataclasses.dataclass(frozen=True)
class Misfit:
    """A run that would be blocked: where, what its history has there, and what the code asks for."""

    run: str
    name: str
    version: str
    position: str | None
    recorded: str | None
    found: str | None
    message: str


@dataclasses.dataclass(frozen=True)
class Fit:
    """How many runs were looked at, and those that would break."""

    checked: int
    misfits: list[Misfit]


async def check(tx: Tx, declared: Declared, *, org: uuid.UUID | None = None) -> Fit:
    """Every unfinished run of every workflow."""
    checked, misfits, after = 0, [], str(uuid.UUID(int=0))
    while rows := await tx.rows(SQL.unfinished_workflows, {"after": after, "org_id": org, "take": BATCH}):
        loaded = await workflows.load(tx, [row[0] for row in rows])
        for run, name, version, _ in rows:
            if run in loaded:
                checked += 1
                workflow = declared.workflows.get(f"{PREFIX}{name}:{version}")
                misfit = None
                if workflow is None or loaded[run].undoing is None:  # else its code is not run any more
                    misfit = _fits(loaded[run], workflow, name=name, version=version)
                misfit = misfit or _undoes(loaded[run], declared, name=name, version=version)
                if misfit is not None:
                    misfits.append(misfit)
        after = rows[-1][0]
    return Fit(checked, misfits)


def fits(loaded: Loaded, workflow: Workflow[Any, Any]) -> Misfit | None:
    """One run against one workflow, whatever versions they have."""
    return _fits(loaded, workflow, name=workflow.name, version=workflow.version)


def _fits(loaded: Loaded, workflow: Workflow[Any, Any] | None, *, name: str, version: str) -> Misfit | None:
    if workflow is None:
        return Misfit(
            loaded.run, name, version, None, None, None,
            f"no code here for workflow {name!r} version {version!r}; keep it until its runs have ended",
        )  # fmt: skip
    replayer = None
    try:
        replayer = Replayer(
            workflow.function, workflow.arguments(loaded.params), run_id=loaded.run, started=loaded.created_at,
            history=[one for one in loaded.history if one.kind != "compensation"], markers=loaded.patches or (),
            origin=loaded.origin,
        )  # fmt: skip
        replayer.go_on()
    except errors.WeftError as error:
        about = error.details
        return Misfit(
            loaded.run, name, version, about.get("position"), about.get("recorded"), about.get("found"), error.message
        )
    finally:
        if replayer is not None:
            replayer.close()
    return None


def _undoes(loaded: Loaded, declared: Declared, *, name: str, version: str) -> Misfit | None:
    """Whether everything that would have to be undone still can be."""
    for record in loaded.history:
        if not (record.ok and record.undo) or record.position in loaded.undone or record.kind == "compensation":
            continue
        told = json.loads(record.undo)
        step, recorded = declared.steps.get(told["compensate"]), f"{record.kind} {record.name}"
        if step is None:
            message = (
                f"step {record.name!r} is undone with {told['compensate']!r}, which is not declared; keep it until the runs "
                f"that may need it have ended"
            )
            return Misfit(loaded.run, name, version, record.position, recorded, None, message)
        try:
            step.undoing(told["arguments"], record.output, of=record.name)
        except errors.HistoryMismatch as error:
            return Misfit(loaded.run, name, version, record.position, recorded, f"{step.kind} {step.name}", error.message)
    return None
