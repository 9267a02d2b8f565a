"""Runs of durable workflows: start them, send them something, read what a worker needs to go on with them."""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from weft.base import errors, json
from weft.db import arrays, foreign, statements
from weft.db.tx import Tx
from weft.flows import checkpoint
from weft.flows.start import Started
from weft.queue.finish import Ended, Gone
from weft.sdk import schema
from weft.sdk.operation import Origin, Record
from weft.sdk.workflow import Workflow

SQL = statements.load("weft.flows")

BATCH = checkpoint.WAKES
ANSWERS_KEPT = dt.timedelta(days=1)
"""How long an answer waits for whoever asked."""

_CANCELLED = '{"type": "Cancelled", "message": "its task was cancelled"}'


class Message(NamedTuple):
    """What a run was sent."""

    id: int
    kind: str
    name: str
    value: str | None
    error: dict[str, Any] | None


class Answered(NamedTuple):
    """The value that a run answered."""

    value: Any


class Loaded(msgspec.Struct):
    """A run as its history says it is."""

    run: str
    state: str
    params: str
    created_at: dt.datetime
    error: dict[str, Any] | None
    patches: list[str] | None
    now: dt.datetime
    life: str
    """While it is the same, what was in its history stays there as it is."""
    config: dict[str, Any] = msgspec.field(default_factory=dict)
    history: list[Record] = msgspec.field(default_factory=list)
    retrying: dict[str, tuple[int, dt.datetime | None]] = msgspec.field(default_factory=dict)
    """Position → the attempt that failed, and when the next is due."""
    undone: set[str] = msgspec.field(default_factory=set)
    messages: list[Message] = msgspec.field(default_factory=list)

    @property
    def origin(self) -> Origin:
        return Origin(self.config.get("life", 0), [(run, last) for run, last in self.config.get("dice", ())])

    @property
    def undoing(self) -> dict[str, Any] | None:
        """Why it is being undone, if it is: one that is blocked may be in the midst of that."""
        return self.error or {} if self.state == "compensating" else (self.error or {}).get("compensating")


class Known(NamedTuple):
    """How much of a run's history somebody has: all up to a number, in a life."""

    life: str
    number: int


_NOTHING = Known("", -1)


async def time(tx: Tx) -> tuple[dt.datetime, str]:
    """The database's, and its era."""
    row = await tx.row(SQL.tell_time)
    assert row is not None
    return row[0], row[1]


async def declare(tx: Tx, workflows: Sequence[Workflow[Any, Any]]) -> None:
    """Makes known which workflows there are."""
    if workflows:
        signals = [None if one.signals is None else arrays.quoted(list(one.signals)) or "{}" for one in workflows]
        shapes = [schema.of(one.function) for one in workflows]
        await tx.run(SQL.declare_workflows, {
            "names": [one.name for one in workflows], "versions": [one.version for one in workflows],
            "queues": [one.options.queue for one in workflows], "signals": signals,
            "priorities": [one.options.priority for one in workflows],
            "arguments": [None if one is None else json.dumps(one).decode() for one in shapes],
        })  # fmt: skip


def wish(
    name: str, arguments: str, *, version: str | None = None, key: str | None = None, org: uuid.UUID | str | None = None,
    queue: str | None = None, priority: int | None = None, parent: str | None = None, place: str | None = None,
    correlation_id: str | None = None, trace_parent: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    return {
        "name": name, "arguments": arguments, "version": version, "key": key, "org": org, "queue": queue,
        "priority": priority, "parent": parent, "place": place, "correlation_id": correlation_id,
        "trace_parent": trace_parent,
    }  # fmt: skip


async def start(tx: Tx, wanted: dict[str, Any]) -> Started:
    """A run of a workflow that some worker has declared. Idempotent by `key`."""
    row = await tx.row(SQL.start_workflow, wanted)
    assert row is not None
    return Started(row[0], row[1])


async def start_many(tx: Tx, name: str, *, version: str, arguments: Sequence[str], org: uuid.UUID) -> list[uuid.UUID]:
    rows = await tx.rows(
        SQL.start_workflows, {"name": name, "version": version, "arguments": "[" + ",".join(arguments) + "]", "org": org}
    )
    return [row[0] for row in rows]


async def start_on(connection: Any, wanted: dict[str, Any]) -> Started:
    """In a transaction that is yours."""
    row = (await foreign.rows(connection, SQL.start_workflow, wanted))[0]
    return Started(row[0], row[1])


async def signal(tx: Tx, run: uuid.UUID | str, name: str, value: Any, *, org: uuid.UUID) -> int:
    """Sends a signal; NotFound, Conflict if the run is over, InvalidInput if it takes no such signal."""
    text = None if value is None else json.text(value, what="the signal")
    try:
        found: int = await tx.value(SQL.signal, {"run": run, "name": name, "value": text, "org": org})
    except errors.DatabaseError as error:
        raise _sent(error, run) from None
    return found


async def signal_on(connection: Any, run: uuid.UUID | str, name: str, value: Any, *, org: uuid.UUID) -> int:
    text = None if value is None else json.text(value, what="the signal")
    rows = await foreign.rows(connection, SQL.signal, {"run": run, "name": name, "value": text, "org": org})
    found: int = rows[0][0]
    return found


async def answer(tx: Tx, run: uuid.UUID | str, message: int, *, org: uuid.UUID) -> Answered | None:
    """What a run answered to a request; None: nothing yet. Conflict, if it refused, or is over without an answer."""
    row = await tx.row(SQL.read_answer, {"run": run, "message": message, "org": org})
    if row is None:
        raise errors.NotFound(f"there is no workflow run {run}")
    answered, value, refused, over, state = row
    if refused is not None:
        raise errors.Conflict(f"the run refused: {refused}")
    if not answered and over:
        raise errors.Conflict(f"the run is {state}, and has not answered; see what became of it with: weft run show {run}")
    return Answered(value) if answered else None


async def send(tx: Tx, run: uuid.UUID | str, kind: str, *, org: uuid.UUID, value: Any = None) -> None:
    """Something an operator wants of a run."""
    text = json.text(value, what="the message")
    try:
        await tx.value(SQL.send_message, {"run": run, "org": org, "kind": kind, "name": kind, "value": text})
    except errors.DatabaseError as error:
        raise _sent(error, run) from None


async def load(
    tx: Tx, runs: Sequence[str], *, over: bool = False, known: Mapping[str, Known] | None = None
) -> dict[str, Loaded]:
    """Runs with their histories and messages; those that are over only if asked for. Of a run that is `known`, and in the
    same life still, only what came after."""
    found = {row[0]: Loaded(*row) for row in await tx.rows(SQL.load_workflows, {"ids": list(runs), "over": over})}
    told = {run: _NOTHING if known is None else known.get(run, _NOTHING) for run in found}
    numbers = [told[run].number if told[run].life == found[run].life else -1 for run in found]
    for run, number, node, kind, state, output, error, at, attempt, params in await tx.rows(
        SQL.load_checkpoints, {"ids": list(found), "known": numbers}
    ):
        name, _, position = node.rpartition("#")
        if state == "pending":
            due = (error or {}).get("due")
            found[run].retrying[position] = (attempt, None if due is None else dt.datetime.fromisoformat(due))
            continue
        if state == "compensated":
            found[run].undone.add(position)
        ok = state in ("completed", "compensated", "skipped")
        found[run].history.append(Record(number, position, kind, name, ok, output, error, at, attempt, params))
    await _messages(tx, found)
    return found


async def _messages(tx: Tx, found: dict[str, Loaded]) -> None:
    for run, *rest in await tx.rows(SQL.load_messages, {"ids": list(found)}):
        if run in found:
            found[run].messages.append(Message(*rest))


async def messages(tx: Tx, runs: Sequence[str]) -> dict[str, list[Message]]:
    found: dict[str, list[Message]] = {}
    for run, *rest in await tx.rows(SQL.load_messages, {"ids": list(runs)}):
        found.setdefault(run, []).append(Message(*rest))
    return found


async def told(tx: Tx, node_id: str, runs: Sequence[str]) -> list[str]:
    """Which of the runs a node works on were sent something."""
    return [row[0] for row in await tx.rows(SQL.told_workflows, {"node_id": node_id, "ids": list(runs)})]


async def show(tx: Tx, doing: Sequence[tuple[str, str, str]]) -> list[str]:
    """Tells which steps take long just now: (run, token, steps); answers the runs of which it was told."""
    runs, tokens, said = zip(*doing, strict=True)
    rows = await tx.rows(SQL.show_workflows, {"ids": list(runs), "tokens": list(tokens), "doing": list(said)})
    return [row[0] for row in rows]


async def forgive(tx: Tx, runs: Sequence[str]) -> None:
    await tx.run(SQL.forgive, {"ids": list(runs)})


async def abandon(tx: Tx, ended: Sequence[Ended | Gone]) -> None:
    """Runs whose task ended without them: its worker was lost too often, or somebody cancelled the task itself."""
    lost = [one if isinstance(one, Ended) and one.state != "cancelled" else None for one in ended]
    await tx.run(SQL.abandon_workflows, {
        "ids": [one.id for one in ended], "states": ["cancelled" if one is None else "failed" for one in lost],
        "errors": [_CANCELLED if one is None else one.error for one in lost],
    })  # fmt: skip


async def abandon_one(tx: Tx, run: str, *, state: str, error: str | None) -> None:
    """The same of a run whose task has ended so before."""
    cancelled = state == "cancelled"
    arguments = {
        "ids": [run], "states": ["cancelled" if cancelled else "failed"], "errors": [_CANCELLED if cancelled else error]
    }  # fmt: skip
    await tx.run(SQL.abandon_workflows, arguments)


async def next_due(tx: Tx) -> dt.datetime | None:
    """When the next run that sleeps goes on by itself."""
    found: dt.datetime | None = await tx.value(SQL.next_workflow_due)
    return found


async def sweep(tx: Tx) -> int:
    """Wakes runs that were sent something while their task was held; a chore."""
    await tx.run(SQL.drop_messages, {"take": checkpoint.WAKES})
    await tx.run(SQL.drop_answers, {"keep": ANSWERS_KEPT, "take": checkpoint.WAKES})
    return await checkpoint.wake(tx)


def _sent(error: errors.DatabaseError, run: uuid.UUID | str) -> errors.WeftError:
    if error.details.get("sqlstate") != "55000":
        return error
    return errors.Conflict(f"{error.message}; start another, or a new one from a step of this: weft run fork {run}")
