"""Starting runs. A run is first there (`created`), then let in: at once if there is room, else when there is."""

import dataclasses
import datetime as dt
import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from weft.base import errors, json, names
from weft.db import foreign, statements
from weft.db.tx import Tx
from weft.flows import advance, compiled, definitions, facets
from weft.flows.advance import Hands, Mint
from weft.flows.compiled import Compiled
from weft.flows.course import Course
from weft.flows.definitions import Definition
from weft.flows.model import Held, Kind, Trigger
from weft.plan import check, model, types
from weft.plan.model import Plan

SQL = statements.load("weft.flows")

log = logging.getLogger("weft.flows")

BATCH = 100
"""Runs of one definition that are let in at a time."""

_CONFIG = ("queue", "priority", "timeout_seconds")
_LONGEST = 315_360_000


@dataclasses.dataclass(frozen=True)
class Started:
    """The run's id, and whether it is new or was there already (its key)."""

    id: uuid.UUID
    created: bool = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wish:
    """How a run is wanted."""

    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    config: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    key: str | None = None
    trigger: Trigger = "manual"
    actor: str | None = None
    logical_date: dt.datetime | None = None
    tags: Sequence[str] = ()
    parent_run: uuid.UUID | None = None
    parent_step: uuid.UUID | None = None
    correlation_id: str | None = None
    trace_parent: str | None = None
    hands: Hands | None = None
    """Who may have what is ready at once, if it begins at once."""


async def start(tx: Tx, definition: Definition, wish: Wish) -> Started:
    """A run of a definition's active version; InvalidInput if its params do not fit. Idempotent by `key`."""
    if definition.status == "paused" and wish.trigger == "schedule":
        raise errors.Conflict(f"{definition.kind} {definition.name!r} is paused")
    plan = await compiled.load(tx, org=str(definition.org_id), hash=definition.plan_hash)
    params = bind(plan.plan, wish.params)
    room = True
    if definition.max_active_runs is not None:
        # before the run is there: whoever waits for it must not hold a key that others wait for
        await tx.row(SQL.lock_definition, {"id": definition.id})
        counted = await tx.row(SQL.count_active, {"id": definition.id})
        assert counted is not None
        # those who came before are let in before
        room = counted[0] < definition.max_active_runs and not counted[1]
    timeout = wish.config.get("timeout_seconds", definition.header.get("timeout_seconds"))
    return await _insert(
        tx, plan, org=str(definition.org_id), kind=definition.kind, name=definition.name, plan_hash=definition.plan_hash,
        wish=dataclasses.replace(wish, params=params), definition=definition, timeout=timeout, room=room,
    )  # fmt: skip


async def start_plan(tx: Tx, plan: Plan, *, org: uuid.UUID, kind: Kind = "flow", wish: Wish | None = None) -> Started:
    """A run of a plan that has no name of its own."""
    wish = wish or Wish()
    check.check(plan)
    wish = dataclasses.replace(wish, params=bind(plan, wish.params))
    hash = await save_plan(tx, plan, org=org)
    return await _insert(
        tx, await compiled.load(tx, org=str(org), hash=hash), org=str(org), kind=kind, name=plan.name, plan_hash=hash,
        wish=wish, timeout=wish.config.get("timeout_seconds"),
    )  # fmt: skip


async def start_on(connection: Any, *, name: str, what: Kind, wish: Wish, org: uuid.UUID | None) -> Started:
    """In a transaction that is yours: the run is there when you commit, and is let in soon after."""
    arguments = {
        "name": name, "params": json.text(dict(wish.params), what="params"), "what": what, "key": wish.key,
        "logical_date": wish.logical_date, "org": org, "config": json.text(check_config(wish.config), what="config"),
        "tags": _tags(wish),
    }  # fmt: skip
    return Started(*(await foreign.rows(connection, SQL.start, arguments))[0])


async def save_plan(tx: Tx, plan: Plan, *, org: uuid.UUID) -> str:
    hash = model.digest(plan)
    await tx.run(SQL.save_plan, facets.saved(plan, hash, org=org))
    return hash


async def admit(tx: Tx, definition: str) -> int:
    """Lets runs of a definition in, the oldest first, as many as there is room for; answers how many."""
    row = await tx.row(SQL.lock_definition, {"id": definition})
    if row is None or row[1] == "deleted":
        # asked for while it was being deleted
        await definitions.call_off(tx, definition)
        return 0
    room = BATCH
    if row[0] is not None:
        room = row[0] - await tx.value(SQL.count_active, {"id": definition})
    if room <= 0:
        return 0
    header = await tx.value(SQL.header_of, {"id": definition})
    runs = await tx.rows(SQL.next_created, {"id": definition, "take": min(room, BATCH)})
    await _carefully(tx, runs, timeout=(header or {}).get("timeout_seconds"))
    return len(runs)


def bind(plan: Plan, params: Mapping[str, Any]) -> dict[str, Any]:
    """The run's params, checked, with their defaults."""
    block = plan.block(plan.entry)
    assert block is not None
    json.text(dict(params), what="params")
    return types.bind(block.params, params, records={record.name: record for record in plan.records})


def check_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a run may be told to do otherwise."""
    for name in config:
        if name not in _CONFIG:
            raise errors.InvalidInput(f"unknown config {name!r}{names.closest(name, _CONFIG)}")
    timeout = config.get("timeout_seconds")
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (number and 0.001 <= timeout <= _LONGEST):
        raise errors.InvalidInput("timeout_seconds must be 0.001 to 315360000 (ten years)")
    if "queue" in config:
        names.check(config["queue"], what="queue")
    priority = config.get("priority")
    if priority is not None and (isinstance(priority, bool) or not isinstance(priority, int) or not 0 <= priority <= 100):
        raise errors.InvalidInput("priority must be 0 to 100")
    return {name: value for name, value in config.items() if value is not None}


async def _insert(
    tx: Tx, plan: Compiled, *, org: str, kind: Kind, name: str, plan_hash: str, wish: Wish, timeout: float | None,
    definition: Definition | None = None, room: bool = True,
) -> Started:  # fmt: skip
    """The run, begun if there is room for it."""
    arguments = {
        "org_id": org, "kind": kind, "name": name, "plan_hash": plan_hash,
        "definition_id": None if definition is None else definition.id,
        "version": None if definition is None else definition.version,
        "params": json.text(dict(wish.params), what="params"), "config": json.text(check_config(wish.config)),
        "key": None if wish.key is None else names.check_key(wish.key, what="key"), "trigger": wish.trigger,
        "actor": wish.actor, "parent_run_id": wish.parent_run, "parent_step_id": wish.parent_step,
        "logical_date": wish.logical_date, "tags": _tags(wish), "correlation_id": wish.correlation_id,
        "trace_parent": wish.trace_parent, "timeout": timeout if room else None,
    }  # fmt: skip
    row = await tx.row(SQL.insert_run, arguments)
    if row is None:
        return Started(await tx.value(SQL.run_with_key, arguments), created=False)
    if room:
        await _open(tx, Course(Held(*row[:-2]), plan, mint=Mint(*row[-2:])), hands=wish.hands)
    return Started(uuid.UUID(row[0]))


def _tags(wish: Wish) -> list[str] | None:
    return [names.check(tag, what="tag") for tag in wish.tags] or None


async def _carefully(tx: Tx, runs: Sequence[Sequence[str]], *, timeout: float | None) -> None:
    """Begins runs; if one of them cannot be, each by itself, and that one fails. SQL may have asked for it."""
    try:
        async with tx.savepoint():
            for id, org in runs:
                await _begin(tx, id, org=org, timeout=timeout)
    except (errors.Unavailable, errors.MigrationError):
        raise
    except errors.WeftError as error:
        if len(runs) > 1:
            for run in runs:
                await _carefully(tx, [run], timeout=timeout)
        else:
            log.warning("run %s cannot begin: %s", runs[0][0], error)
            await _fail(tx, runs[0][0], error)


async def _begin(tx: Tx, id: str, *, org: str, timeout: float | None) -> None:
    """Opens the entry of a run that waited. Params that do not fit (they may come from SQL) fail the run, not us."""
    course = await advance.one(tx, id, org=org)
    try:
        config = check_config({name: value for name, value in course.run.config.items() if name in _CONFIG})
        timeout = config.get("timeout_seconds", timeout)
        course.run.params = bind(course.compiled.plan, course.run.params)
    except errors.WeftError as error:
        await _fail(tx, id, error)
        return
    await tx.run(SQL.begin_run, {"id": id, "params": json.text(course.run.params, what="params"), "timeout": timeout})
    await _open(tx, course)


async def _fail(tx: Tx, id: str, error: errors.WeftError) -> None:
    problem = json.text({"type": type(error).__name__, "message": error.message}, what="error")
    await tx.run(SQL.fail_run, {"id": id, "error": problem})


async def _open(tx: Tx, course: Course, *, hands: Hands | None = None) -> None:
    course.start()
    await advance.carry_out(tx, [course], hands=hands, sent=time.monotonic())
