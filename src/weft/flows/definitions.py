"""Definitions: DAGs by name (later workflows and flows), with immutable versions named by their hash."""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from weft.base import errors, ids, json
from weft.dagfile.dag import Dag
from weft.db import statements
from weft.db.tx import Tx
from weft.flows import compiled, facets
from weft.flows.model import Kind, Status
from weft.plan import graph, model
from weft.plan.expression import Value
from weft.plan.model import Task

SQL = statements.load("weft.flows")


@dataclasses.dataclass(frozen=True)
class Definition:
    """A definition with its active version, in the order `get_definition` selects it."""

    id: uuid.UUID
    org_id: uuid.UUID
    kind: Kind
    name: str
    status: str
    version: str
    number: int
    plan_hash: str
    header: dict[str, Any]
    max_active_runs: int | None
    cron_expression: str | None
    timezone: str
    tags: list[str] | None
    created_at: dt.datetime
    updated_at: dt.datetime
    version_created_at: dt.datetime
    nodes: int


class Version(NamedTuple):
    """What the content is called, which one it is, and when it was first there."""

    version: str
    number: int
    created_at: dt.datetime


@dataclasses.dataclass(frozen=True)
class Saved:
    """A definition that was saved, and whether that made a version that was not there."""

    definition: Definition
    new: bool


async def save_dag(tx: Tx, dag: Dag, *, org: uuid.UUID) -> Saved:
    """Makes this the active version of the DAG of its name. The same content again changes nothing."""
    hash = model.digest(dag.plan)
    await tx.run(SQL.save_plan, facets.saved(dag.plan, hash, org=org))
    arguments = {
        "org_id": org, "kind": "dag", "name": dag.name, "version": dag.version,
        "max_active_runs": dag.max_active_runs, "cron_expression": dag.cron_expression, "timezone": dag.timezone,
        "tags": list(dag.tags) or None,
    }  # fmt: skip
    id, before = await _upsert(tx, arguments)
    version = {
        "id": id, "org_id": org, "version": dag.version, "plan_hash": hash, "header": _header(dag),
        "nodes": msgspec.json.encode(_nodes(dag, id)).decode(),
    }  # fmt: skip
    await tx.run(SQL.save_version, version)
    return Saved(await get(tx, str(id), org=org, kind="dag"), new=before != dag.version)


async def save_version(
    tx: Tx, *, org: uuid.UUID, kind: Kind, name: str, version: str, plan_hash: str, header: dict[str, Any],
    tags: Sequence[str] = (),
) -> Saved:  # fmt: skip
    """Makes a version the active one of the definition of this name. Its plan is there already."""
    arguments = {
        "org_id": org, "kind": kind, "name": name, "version": version, "max_active_runs": None, "cron_expression": None,
        "timezone": "UTC", "tags": list(tags) or None,
    }  # fmt: skip
    id, before = await _upsert(tx, arguments)
    shown = msgspec.json.encode(header).decode()
    known = {"id": id, "org_id": org, "version": version, "plan_hash": plan_hash, "header": shown, "nodes": "[]"}
    await tx.run(SQL.save_version, known)
    return Saved(await get(tx, str(id), org=org, kind=kind), new=before != version)


async def get(tx: Tx, wanted: str | uuid.UUID, *, org: uuid.UUID, kind: Kind) -> Definition:
    """By id, or by a text that is an id or a name; NotFound."""
    id, name = (wanted, None) if isinstance(wanted, uuid.UUID) else (_id(wanted), wanted)
    row = await tx.row(SQL.get_definition, {"org_id": org, "kind": kind, "id": id, "name": name})
    if row is None:
        word, listed = ("DAG", "`weft dag list`") if kind == "dag" else (kind, f"GET /v1/{kind}s")
        raise errors.NotFound(f"there is no {word} {str(wanted)[:255]!r}; {listed} shows those there are")
    return Definition(*row)


async def page(
    tx: Tx, *, org: uuid.UUID, kind: Kind, before: uuid.UUID | None, take: int, prefix: str | None = None
) -> list[Definition]:
    """Newest first."""
    arguments = {
        "org_id": org, "kind": kind, "before": before or ids.NEWEST, "take": take,
        "prefix": None if prefix is None else prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%",
    }  # fmt: skip
    return [Definition(*row) for row in await tx.rows(SQL.list_definitions, arguments)]


async def versions(tx: Tx, id: uuid.UUID, *, take: int) -> list[Version]:
    """Newest first."""
    return [Version(*row) for row in await tx.rows(SQL.list_versions, {"id": id, "take": take})]


async def version(
    tx: Tx, found: Definition, *, number: int
) -> tuple[str, dt.datetime, dict[str, Any], list[dict[str, Any]]]:
    """A version by its number: its name, when it was made, its header and its nodes; NotFound."""
    row = await tx.row(SQL.version_of, {"id": found.id, "number": number})
    if row is None:
        raise errors.NotFound(f"{found.name!r} has no version {number}; its newest is {found.number} or later")
    return row[0], row[1], row[2], row[3] or []


async def nodes(tx: Tx, id: uuid.UUID, *, version: str) -> list[dict[str, Any]]:
    """The nodes of a version: name, id, payload, what they wait for."""
    found: list[dict[str, Any]] = await tx.value(SQL.nodes_of, {"id": id, "version": version}) or []
    return found


async def params(tx: Tx, definition: Definition) -> dict[str, Any]:
    """The params that its active version declares: name → {type, default, …}."""
    plan = (await compiled.load(tx, org=str(definition.org_id), hash=definition.plan_hash)).plan
    block = plan.block(plan.entry)
    assert block is not None
    found = {}
    for field in block.params:
        shown = msgspec.to_builtins(field)
        shown.pop("name")
        if isinstance(field.default, Value):
            shown["default"] = field.default.value
        found[field.name] = {"type": field.type, **shown}
    return found


async def set_status(tx: Tx, definition: Definition, status: Status) -> None:
    """Pauses, resumes or deletes it. Runs of a deleted one that have not begun are called off; others go on."""
    await tx.run(SQL.set_status, {"id": definition.id, "status": status})
    if status == "deleted":
        await call_off(tx, str(definition.id))


async def call_off(tx: Tx, id: str) -> None:
    """Cancels what waits to be let in."""
    error = {"type": "Cancelled", "message": "it was deleted before the run had begun"}
    await tx.run(SQL.call_off, {"id": id, "error": json.text(error, what="error")})


async def _upsert(tx: Tx, arguments: dict[str, Any]) -> tuple[uuid.UUID, str | None]:
    """The definition's id, and the version that was active before."""
    row = await tx.row(SQL.hold_definition, arguments)
    if row is None:
        made = await tx.value(SQL.insert_definition, arguments)
        if made is not None:
            return made, None
        row = await tx.row(SQL.hold_definition, arguments)  # somebody was quicker
        assert row is not None
    await tx.run(SQL.activate, {**arguments, "id": row[0]})
    return row[0], row[1]


def task_id(dag: uuid.UUID, name: str) -> uuid.UUID:
    """What seed 002 knows a task of a DAG by, in every version: the views in schema `scheduler` make it too."""
    return uuid.uuid3(dag, name)


def _header(dag: Dag) -> str:
    shown = msgspec.to_builtins(dag)
    for name in ("plan", "name", "payloads"):
        shown.pop(name, None)
    return msgspec.json.encode(shown).decode()


def _nodes(dag: Dag, id: uuid.UUID) -> list[dict[str, Any]]:
    """Each task as seed 002 has it. Its id is made of the DAG's id and its name, so that it stays the same."""
    edges = graph.edges(dag.plan)[dag.plan.entry]
    block = dag.plan.block(dag.plan.entry)
    assert block is not None
    found = []
    for node in block.nodes:
        work = node.work
        options = {name: getattr(one, "value", None) for name, one in work.options.items()} if isinstance(work, Task) else {}
        found.append({
            "name": node.name,
            "id": str(task_id(id, node.name)),
            "payload": dag.payloads.get(node.name, {}),
            "timeout_seconds": options.get("timeout"),
            "max_retries": max((options.get("max_attempts") or 1) - 1, 0),
            "dependencies": list(edges.upstream[node.name]),
            "trigger_rule": node.rule,
            "group": node.group,
        })  # fmt: skip
    return found


def _id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
