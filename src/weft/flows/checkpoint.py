"""What workflows write: checkpoints of many runs in one statement, and what became of runs whose task ended or parked."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import msgspec

from weft.base import errors, json
from weft.db import arrays, statements
from weft.db.tx import Tx
from weft.flows.model import OVER, RunState
from weft.queue import orphans
from weft.sdk.operation import Answer, Record

SQL = statements.load("weft.flows")

WAKES = 1000
"""Runs that are woken at a time."""


class Written(msgspec.Struct, kw_only=True):
    """What is to be written of one run, fenced by its task's lease token."""

    run: str
    token: str
    records: list[Record] = []
    waits: list[Record] = []
    """Steps that failed and wait for their next attempt, too long to wait for it in a worker."""
    taken: list[int] = []
    """Messages that are over without a record."""
    undone: list[str] = []
    """Nodes whose compensation is done."""
    answers: list[Answer] = []
    """To requests that the run was sent."""
    published: str | None = None
    patches: list[str] | None = None
    state: RunState | None = None
    output: str | None = None
    error: str | None = None
    """JSON texts."""
    due: dt.datetime | None = None
    """Parked until then at the latest."""
    hold: bool = False
    """Parked until somebody lets it go on."""
    renewed: str | None = None
    """The arguments it begins again with."""

    @property
    def ended(self) -> bool:
        return self.state in OVER


def node(name: str, position: str) -> str:
    return f"{name}#{position}"


async def keep(tx: Tx, written: Sequence[Written]) -> tuple[dt.datetime, set[str]]:
    """Checkpoints, one commit for all; answers the time and the runs whose lease was still theirs."""
    arguments = {
        "ids": arrays.plain([one.run for one in written]), "tokens": arrays.plain([one.token for one in written]),
        **_steps(written), **_told(written),
    }  # fmt: skip
    row = await tx.row(SQL.keep, arguments)
    assert row is not None
    return row[0], set(row[1])


async def is_there(tx: Tx, record: Record, *, run: str, token: str) -> bool:
    """Whether a checkpoint was committed whose commit got no answer. LeaseLost, if the run is not ours any more."""
    # waits for a commit that is still under way: it holds the same row
    if not await tx.rows(SQL.hold_workflow, {"id": run, "token": token}):
        raise errors.LeaseLost(f"run {run} is no longer ours")
    found = await tx.value(SQL.checkpoint_number, {"run": run, "node": node(record.name, record.position)})
    return bool(found == record.number)


async def park(tx: Tx, written: Sequence[Written]) -> dict[str, tuple[str, str]]:
    """Lets the tasks of runs sleep; answers id → (state, queue) of those whose lease was still theirs."""
    arguments = {
        "ids": [one.run for one in written], "tokens": [one.token for one in written],
        "dues": [one.due for one in written], "holds": [one.hold for one in written],
        "payloads": [one.renewed for one in written],
    }  # fmt: skip
    return {id: (state, queue) for id, state, queue in await tx.rows(SQL.park, arguments)}


async def end(tx: Tx, written: Sequence[Written]) -> None:
    """Writes what became of runs whose tasks were just ended or parked here, and tells the parents of those that ended."""
    if renewed := [one for one in written if one.renewed is not None]:
        await tx.run(SQL.forget_steps, {"ids": [one.run for one in renewed]})
        await tx.run(SQL.renew_runs, {"ids": [one.run for one in renewed], "params": [one.renewed for one in renewed]})
    said = [one for one in written if one.published is not None or one.patches is not None]
    arguments = {
        "ids": arrays.plain([one.run for one in written]),
        "states": arrays.plain([one.state or "running" for one in written]),
        "outputs": arrays.quoted([one.output for one in written]),
        "errors": arrays.quoted([one.error for one in written]),
        "ended": "{" + ",".join(["t" if one.ended else "f" for one in written]) + "}",
        "run_published_ids": arrays.plain([one.run for one in said]),
        "run_published": arrays.quoted([one.published for one in said]),
        "run_patches": arrays.quoted([_texts(one.patches) for one in said]),
        **_steps(written), **_told(()),
    }  # fmt: skip
    row = await tx.row(SQL.write_workflows, arguments)
    if row is not None and row[0]:
        await wake(tx, row[0])


async def wake(tx: Tx, runs: Sequence[str] | None = None) -> int:
    """Wakes runs that were sent something, those whose task nobody holds."""
    rows = await tx.rows(SQL.wake_workflows, {"ids": None if runs is None else list(runs), "take": WAKES})
    if rows:
        await orphans.wake(tx, queues=sorted({row[0] for row in rows}))
    return len(rows)


def _steps(written: Sequence[Written]) -> dict[str, Any]:
    steps = [
        *((one.run, record, "completed" if record.ok else "failed") for one in written for record in one.records),
        *((one.run, record, "pending") for one in written for record in one.waits),
    ]
    records = [record for _, record, _ in steps]
    messages = [(one.run, record.message) for one in written for record in one.records if record.message is not None]
    messages += [(one.run, id) for one in written for id in one.taken]
    undone = [(one.run, name) for one in written for name in one.undone]
    answers = [(one.run, answer) for one in written for answer in one.answers]
    return {
        "step_runs": arrays.plain([run for run, _, _ in steps]),
        "step_nodes": arrays.quoted([node(record.name, record.position) for record in records]) or "{}",
        "step_operations": arrays.plain([record.kind for record in records]),
        "step_numbers": arrays.plain([str(record.number) for record in records]),
        "step_states": arrays.plain([state for _, _, state in steps]),
        "step_attempts": arrays.plain([str(record.attempt) for record in records]),
        "step_params": arrays.quoted([record.undo for record in records]),
        "step_outputs": arrays.quoted([record.output for record in records]),
        "step_errors": arrays.quoted([None if record.error is None else json.text(record.error) for record in records]),
        "step_times": arrays.moments([record.at for record in records]),
        "step_began": arrays.moments([record.began for record in records]),
        "message_ids": arrays.plain([str(id) for _, id in messages]),
        "message_runs": arrays.plain([run for run, _ in messages]),
        "undone_runs": arrays.plain([run for run, _ in undone]),
        "undone_nodes": arrays.quoted([name for _, name in undone]) or "{}",
        "answer_runs": arrays.plain([run for run, _ in answers]),
        "answer_messages": arrays.plain([str(answer.request) for _, answer in answers]),
        "answer_values": arrays.quoted([answer.value for _, answer in answers]),
        "answer_refusals": arrays.quoted([answer.refused for _, answer in answers]),
    }


def _told(written: Sequence[Written]) -> dict[str, Any]:
    told = [one for one in written if one.published is not None or one.patches is not None or one.state is not None]
    return {
        "told_runs": arrays.plain([one.run for one in told]),
        "told_published": arrays.quoted([one.published for one in told]),
        "told_patches": arrays.quoted([_texts(one.patches) for one in told]),
        "told_states": arrays.quoted([one.state for one in told]),
        "told_errors": arrays.quoted([one.error for one in told]),
    }


def _texts(values: Sequence[str] | None) -> str | None:
    return None if values is None else arrays.quoted(list(values)) or "{}"
