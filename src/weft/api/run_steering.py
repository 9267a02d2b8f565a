"""`/v1/runs/{id}/…`: what can be asked of a workflow's run and done to it."""

import asyncio
import datetime as dt
import time
import uuid
from typing import Annotated, Any, Protocol

import msgspec

from weft.api import fields, runs
from weft.api.operation import Call, Operation
from weft.base import json
from weft.db.tx import Tx
from weft.flows import look, operate, steering, workflows
from weft.flows.model import StepState
from weft.flows.steering import Difference
from weft.journal import record

_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 0.25


class Checkpoint(msgspec.Struct, kw_only=True):
    """One thing that a run has done and will not do again."""

    node: str
    """The step's name, #, and its position in the code."""
    operation: str
    number: int
    state: StepState
    attempt: int
    output: Any
    error: dict[str, Any] | None
    compensate: str | None
    """The step that undoes it."""
    finished_at: dt.datetime | None


class Checkpoints(msgspec.Struct):
    items: list[Checkpoint]


class Published(msgspec.Struct):
    state: Any
    running: list[str]
    """Steps that run just now, if they take longer than a second or so."""


class Signal(msgspec.Struct, forbid_unknown_fields=True):
    name: fields.Name
    value: Any = None


class Update(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    name: fields.Name
    value: Any = None
    wait: Annotated[float, msgspec.Meta(ge=0, le=60)] = 5.0
    """Seconds to wait for the answer."""


class UpdateAnswer(msgspec.Struct, kw_only=True):
    update_id: int
    answered: bool
    """False: not yet; ask again with this `update_id`."""
    value: Any = None


class AnswerQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    update_id: Annotated[int, msgspec.Meta(ge=1, le=(1 << 63) - 1)]


class Cancel(msgspec.Struct, forbid_unknown_fields=True):
    compensate: bool = True


class Skip(msgspec.Struct, forbid_unknown_fields=True):
    step: fields.Key
    result: Any = None


class Fork(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    step: fields.Key | None = None
    """This step and what comes after it are run again; not given: only what the run has not done."""
    arguments: dict[str, Any] | None = None
    outputs: dict[str, Any] = {}
    """Step → what it shall have answered."""


class Retried(msgspec.Struct):
    run: runs.Run
    step: str | None
    """The step, or the compensation, that it goes on from; null: the code itself had failed."""


class DifferentStep(msgspec.Struct):
    node: str
    left: Checkpoint | None
    right: Checkpoint | None


class Differences(msgspec.Struct):
    items: list[DifferentStep]


async def checkpoints(call: Call[None, None]) -> Checkpoints:
    async with call.tx() as tx:
        await _must_be(call, tx)
        return Checkpoints([_shown(one) for one in await steering.steps(tx, call.id, org=call.principal.org)])


async def published(call: Call[None, None]) -> Published:
    async with call.tx() as tx:
        return Published(*await steering.published(tx, call.id, org=call.principal.org))


async def signal(call: Call[Signal, None]) -> None:
    async with call.tx() as tx:
        await _must_be(call, tx)
        await workflows.signal(tx, call.id, call.body.name, call.body.value, org=call.principal.org)
        await record.record(
            tx, org_id=call.principal.org, actor=call.principal.actor, action="run.signal", object_type="run",
            object_id=str(call.id), after={"name": call.body.name},
        )  # fmt: skip


async def update(call: Call[Update, None]) -> UpdateAnswer:
    wanted, org = call.body, call.principal.org
    async with call.tx() as tx:
        await _must_be(call, tx)
        message = await workflows.signal(tx, call.id, wanted.name, wanted.value, org=org)
        await record.record(
            tx, org_id=org, actor=call.principal.actor, action="run.update", object_type="run", object_id=str(call.id),
            after={"name": wanted.name},
        )  # fmt: skip
    pause, ends = _FIRST_PAUSE, time.monotonic() + wanted.wait
    while True:
        found = await _answer(call, message)
        if found.answered or time.monotonic() >= ends:
            return found
        await asyncio.sleep(pause)  # no connection is held meanwhile
        pause = min(pause * 1.5, _LONGEST_PAUSE)


async def answer(call: Call[None, AnswerQuery]) -> UpdateAnswer:
    return await _answer(call, call.query.update_id)


async def cancel(call: Call[Cancel, None]) -> runs.Run:
    org, actor = call.principal.org, call.principal.actor
    async with call.tx() as tx:
        if (await look.run(tx, call.id, org=org)).kind == "workflow":
            await steering.cancel(tx, call.id, org=org, actor=actor, compensate=call.body.compensate)
        else:
            await operate.cancel(tx, call.id, org=org, actor=actor)
        return await _run(call, tx)


async def pause(call: Call[None, None]) -> runs.Run:
    async with call.tx() as tx:
        await (await _steers(call, tx)).pause(tx, call.id, org=call.principal.org, actor=call.principal.actor)
        return await _run(call, tx)


async def resume(call: Call[None, None]) -> runs.Run:
    async with call.tx() as tx:
        await (await _steers(call, tx)).resume(tx, call.id, org=call.principal.org, actor=call.principal.actor)
        return await _run(call, tx)


async def retry(call: Call[None, None]) -> Retried:
    async with call.tx() as tx:
        step = await steering.retry(tx, call.id, org=call.principal.org, actor=call.principal.actor)
        return Retried(await _run(call, tx), step)


async def skip(call: Call[Skip, None]) -> runs.Run:
    json.text(call.body.result, what="result")
    async with call.tx() as tx:
        await steering.skip(
            tx, call.id, call.body.step, call.body.result, org=call.principal.org, actor=call.principal.actor
        )
        return await _run(call, tx)


async def fork(call: Call[Fork, None]) -> runs.Run:
    wanted = call.body
    org = call.principal.org
    async with call.tx() as tx:
        made = await steering.fork(
            tx, call.id, org=org, actor=call.principal.actor, step=wanted.step, arguments=wanted.arguments,
            outputs=wanted.outputs,
        )  # fmt: skip
        return runs.shown_run(await look.run(tx, made, org=org))


async def diff(call: Call[None, None]) -> Differences:
    async with call.tx() as tx:
        found = await steering.diff(tx, call.id, call.path["other"], org=call.principal.org)
    return Differences([_different(one) for one in found])


async def _answer(call: Call[Any, Any], message: int) -> UpdateAnswer:
    async with call.tx() as tx:
        found = await workflows.answer(tx, call.id, message, org=call.principal.org)
    return UpdateAnswer(update_id=message, answered=found is not None, value=None if found is None else found.value)


class _Steers(Protocol):
    """What steers a run of a plan, or of a workflow."""

    async def pause(self, tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str) -> None: ...

    async def resume(self, tx: Tx, run: uuid.UUID, *, org: uuid.UUID, actor: str) -> None: ...


async def _steers(call: Call[Any, Any], tx: Tx) -> _Steers:
    found = await look.run(tx, call.id, org=call.principal.org)
    return steering if found.kind == "workflow" else operate


async def _must_be(call: Call[Any, Any], tx: Tx) -> None:
    await look.run(tx, call.id, org=call.principal.org, kind="workflow")


async def _run(call: Call[Any, Any], tx: Tx) -> runs.Run:
    return runs.shown_run(await look.run(tx, call.id, org=call.principal.org))


def _shown(one: steering.Checkpoint) -> Checkpoint:
    return Checkpoint(**{name: getattr(one, name) for name in Checkpoint.__struct_fields__})


def _different(one: Difference) -> DifferentStep:
    left, right = (None if side is None else _shown(side) for side in (one.left, one.right))
    return DifferentStep(one.node, left, right)


_ID: uuid.UUID | str = "0190c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55"
_RUN: dict[str, Any] = {
    **runs.RUN_EXAMPLE, "kind": "workflow", "name": "checkout", "version": "2", "definition_id": None, "state": "running",
    "params": {"order": "o-17"}, "output": None, "finished_at": None, "nodes": 0, "nodes_ended": 0,
}  # fmt: skip
_STEP: dict[str, Any] = {
    "node": "charge#1", "operation": "step", "number": 1, "state": "completed", "attempt": 1, "output": "p-1", "error": None,
    "compensate": "refund", "finished_at": "2026-01-15T02:00:30Z",
}  # fmt: skip
_AT = "/v1/runs/{id:uuid}"

OPERATIONS = (
    Operation(
        "GET", f"{_AT}/checkpoints", action="run.read", handler=checkpoints, summary="What a workflow's run has done",
        description=f"In the order the code was told of it, at most {steering.STEPS}.", answer=Checkpoints,
        errors=("NOT_FOUND",), answer_example={"items": [_STEP]},
    ),
    Operation(
        "GET", f"{_AT}/state", action="run.read", handler=published, summary="What a workflow says of itself",
        description="What its code gave to `set_state` last, and which of its steps run.", answer=Published,
        errors=("NOT_FOUND",), answer_example={"state": {"at": "waiting for approval"}, "running": ["charge#1"]},
    ),
    Operation(
        "GET", f"{_AT}/diff/{{other:uuid}}", action="run.read", handler=diff, summary="Where two runs of workflows differ",
        answer=Differences, errors=("NOT_FOUND",),
        answer_example={"items": [{"node": "charge#1", "left": _STEP, "right": None}]},
    ),
    Operation(
        "POST", f"{_AT}/signal", action="run.write", handler=signal, summary="Send a signal to a workflow's run",
        description="It is kept until the run takes it, once.", body=Signal, status=204,
        errors=("NOT_FOUND", "CONFLICT", "INVALID_NAME", "INVALID_PAYLOAD"), idempotent=True,
        example={"name": "approval", "value": True},
    ),
    Operation(
        "POST", f"{_AT}/update", action="run.write", handler=update, summary="Send a signal and wait for the run's answer",
        description="What its code gives to `answer`. A run that refuses, or ends without an answer, is a conflict.",
        body=Update, answer=UpdateAnswer, errors=("NOT_FOUND", "CONFLICT", "INVALID_NAME", "INVALID_PAYLOAD"),
        example={"name": "address", "value": "Elm Street 5", "wait": 0.1},
        answer_example={"update_id": 17, "answered": True, "value": "changed"},
    ),
    Operation(
        "GET", f"{_AT}/answer", action="run.read", handler=answer, summary="What a run answered to an update",
        description="For those who did not wait long enough; answers are kept for a day.", query=AnswerQuery,
        example={"update_id": 17},
        answer=UpdateAnswer, errors=("NOT_FOUND", "CONFLICT"),
        answer_example={"update_id": 17, "answered": False, "value": None},
    ),
    Operation(
        "POST", f"{_AT}/cancel", action="run.write", handler=cancel, summary="Cancel a run of any kind",
        description="What a workflow did is undone, unless `compensate` is false. A run that is over stays as it is.",
        body=Cancel, answer=runs.Run, errors=("NOT_FOUND", "CONFLICT"), example={"compensate": True}, answer_example=_RUN,
    ),
    Operation(
        "POST", f"{_AT}/pause", action="run.write", handler=pause, summary="Pause a run of any kind",
        description="A workflow's step that runs is ended, and begins again when the run is resumed; a DAG's goes on.",
        answer=runs.Run, errors=("NOT_FOUND", "CONFLICT"), answer_example={**_RUN, "state": "paused"},
    ),
    Operation(
        "POST", f"{_AT}/resume", action="run.write", handler=resume, summary="Resume a paused or blocked run",
        answer=runs.Run, errors=("NOT_FOUND", "CONFLICT"), answer_example=_RUN,
    ),
    Operation(
        "POST", f"{_AT}/retry", action="run.write", handler=retry, summary="Go on with a failed run where it failed",
        description="The steps that failed it are run again, or, if steps were not undone, their undoing. A conflict, if "
        "the code went on after they had failed.",
        answer=Retried, errors=("NOT_FOUND", "CONFLICT"), answer_example={"run": _RUN, "step": "ship#3"},
    ),
    Operation(
        "POST", f"{_AT}/skip", action="run.write", handler=skip, summary="Count a failed step as done, and go on",
        body=Skip, answer=runs.Run, errors=("NOT_FOUND", "CONFLICT", "INVALID_NAME", "INVALID_PAYLOAD"),
        example={"step": "ship#3", "result": "by hand"}, answer_example=_RUN,
    ),
    Operation(
        "POST", f"{_AT}/fork", action="run.write", handler=fork, summary="A new run with another's history up to a step",
        description="Outputs of steps may be changed, or the arguments: then everything is run again.", body=Fork,
        answer=runs.Run, status=201, errors=("NOT_FOUND", "INVALID_NAME", "INVALID_PAYLOAD"), idempotent=True,
        example={"step": "ship#3", "outputs": {"charge#1": "p-2"}}, answer_example=_RUN,
    ),
)  # fmt: skip
