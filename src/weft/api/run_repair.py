"""`POST /v1/runs/{id}/repair`: a run of any kind that failed, or that stands still, is set going again."""

import uuid
from collections.abc import Iterable
from typing import Any

import msgspec

from weft.api import runs
from weft.api.operation import Call, Operation
from weft.db.tx import Tx
from weft.flows import look, repair, steering
from weft.flows.repair import Redone


class Again(msgspec.Struct, kw_only=True):
    """A step that is done again, and why it had ended."""

    id: uuid.UUID
    path: str
    state: str
    error: str | None


class Mended(msgspec.Struct, kw_only=True):
    """The run, and the steps that are done again; what hangs on them is, too."""

    run: runs.Run
    steps: list[Again]


class Repair(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    dry_run: bool = False
    """Only say what would be done again."""


async def mend(call: Call[Repair, None]) -> Mended:
    org = call.principal.org
    async with call.tx() as tx:
        if (await look.run(tx, call.id, org=org)).kind != "workflow":
            return await mended(call, tx)
        if not call.body.dry_run:
            await steering.repair(tx, call.id, org=org, actor=call.principal.actor)
        return shown(await look.run(tx, call.id, org=org), ())


async def mended(call: Call[Repair, None], tx: Tx) -> Mended:
    """A run of a plan, repaired as it is asked for."""
    org = call.principal.org
    if call.body.dry_run:
        found = await repair.planned(tx, call.id, org=org)
    else:
        found = await repair.repair(tx, call.id, org=org, actor=call.principal.actor)
    return shown(await look.run(tx, call.id, org=org), found)


def shown(run: look.RunView, found: Iterable[Redone]) -> Mended:
    again = [Again(id=one.id, path=one.path, state=one.state, error=one.error) for one in found]
    return Mended(run=runs.shown_run(run), steps=again)


_RUN: dict[str, Any] = {**runs.RUN_EXAMPLE, "state": "running", "output": None, "finished_at": None, "nodes_ended": 1}

OPERATIONS = (
    Operation(
        "POST", "/v1/runs/{id:uuid}/repair", action="run.write", handler=mend,
        summary="Set a run of any kind going again that stands still, or do again what failed in it",
        description="Of one that stands still (`stalled_at`) what should have followed follows, and steps whose task is "
        "nowhere are done again; a workflow's code is run against its history. Of a DAG or a flow that failed, the "
        "innermost steps that did and what hangs on them (a workflow that failed: `retry`). With `dry_run` nothing changes: "
        "the answer says what would be done again.", body=Repair, answer=Mended, errors=("NOT_FOUND", "CONFLICT"),
        example={"dry_run": True},
        answer_example={
            "run": _RUN, "steps": [{"id": runs.RUN_EXAMPLE["id"], "path": "load", "state": "running", "error": None}],
        },
    ),
)  # fmt: skip
