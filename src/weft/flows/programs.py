"""AFL programs that are kept: a flow is a definition whose versions have sources, and a plan for each workflow in them.

A version is named by the hash of its sources and plans: the same program is the same version, and what a newer compiler
makes of it another one. Compiling takes time, so it is done before any transaction is open (`compile_flow`).
"""

import dataclasses
import hashlib
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from weft.afl import compiling
from weft.afl import definition as lists
from weft.afl.compiling import Compiled
from weft.afl.diagnostic import Diagnostic
from weft.afl.entities import FlowDefinition, SourceText, TextSource
from weft.afl.source import Source
from weft.base import errors, names
from weft.db import statements
from weft.db.tx import Tx
from weft.flows import definitions
from weft.flows import start as starting
from weft.flows.definitions import Definition
from weft.flows.start import Started, Wish
from weft.plan import model

SQL = statements.load("weft.flows")

_ELSEWHERE = ("text_sources", "compiled_sources")
"""Lists of a FlowDefinition that are columns and rows of their own."""


class Program(msgspec.Struct, frozen=True):
    """A program without errors, ready to be saved."""

    name: str
    path: str
    sources: tuple[Source, ...]
    compiled: Compiled
    version: str

    @property
    def warnings(self) -> list[Diagnostic]:
        return self.compiled.diagnostics


@dataclasses.dataclass(frozen=True)
class Workflow:
    """Where a run of a flow can begin, in the order `workflows_of` selects it."""

    id: uuid.UUID
    name: str
    plan_hash: str
    documentation: str


@dataclasses.dataclass(frozen=True)
class SavedFlow:
    """A flow that was saved, its workflows, and whether that made a version that was not there."""

    definition: Definition
    workflows: list[Workflow]
    new: bool


def compile_flow(
    sources: Sequence[Source], *, name: str | None = None, path: str = "", allow_external: bool = False
) -> Program:
    """InvalidFlow lists all that is wrong. Without a name, it is that of the first workflow's namespace."""
    compiled = compiling.compile_sources(sources, allow_external=allow_external)
    if not compiled.ok:
        wrong = [one for one in compiled.diagnostics if one.severity == "error"]
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise errors.InvalidFlow(f"{wrong[0]}{more}", problems=[msgspec.to_builtins(one) for one in compiled.diagnostics])
    if not compiled.plans:
        raise errors.InvalidFlow("there is no workflow in this program, so nothing of it can be run; declare one")
    first = next(iter(compiled.plans))
    said = names.check(name if name is not None else first.rpartition(".")[0] or first, what="flow")
    return Program(said, path, tuple(sources), compiled, _version(sources, compiled))


async def save(tx: Tx, program: Program, *, org: uuid.UUID, tags: Sequence[str] = ()) -> SavedFlow:
    """Makes this the active version of the flow of its name. The same content again changes nothing."""
    plans = program.compiled.plans
    hashes = {name: await starting.save_plan(tx, plan, org=org) for name, plan in plans.items()}
    first = next(iter(hashes.values()))
    header = {"workflows": list(plans), "path": program.path}
    saved = await definitions.save_version(
        tx, org=org, kind="flow", name=program.name, version=program.version, plan_hash=first, header=header, tags=tags
    )
    definition = saved.definition
    if saved.new:
        await _fill(tx, program, definition, hashes)
    return SavedFlow(definition, await workflows(tx, definition), saved.new)


async def get(tx: Tx, wanted: str, *, org: uuid.UUID) -> Definition:
    """A flow by id or name, or by a workflow of it if only one flow has that; NotFound."""
    try:
        return await definitions.get(tx, wanted, org=org, kind="flow")
    except errors.NotFound:
        found = await tx.rows(SQL.flows_with_workflow, {"org_id": org, "name": wanted})
        if not found:
            raise
    if len(found) > 1:
        raise errors.Conflict(f"several flows have a workflow {wanted!r}; name the flow too")
    return await definitions.get(tx, found[0][0], org=org, kind="flow")


async def workflows(tx: Tx, flow: Definition, *, version: str | None = None) -> list[Workflow]:
    """Those of its active version, or of another, in the order they were written."""
    rows = await tx.rows(SQL.workflows_of, {"id": flow.id, "version": version or flow.version})
    return [Workflow(*row) for row in rows]


async def workflow(tx: Tx, flow: Definition, wanted: str | None) -> Workflow:
    """By id, qualified or short name; NotFound. Not named: the only one there is."""
    there = await workflows(tx, flow)
    if wanted is None:
        found = there
    else:
        found = [one for one in there if wanted in (one.name, str(one.id))]
        found = found or [one for one in there if one.name.rpartition(".")[2] == wanted]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(one.name for one in there[:10]) + (" …" if len(there) > 10 else "")
    if wanted is None or found:
        raise errors.InvalidInput(f"flow {flow.name!r} has several such workflows; say which one: {listed}")
    close = names.closest(wanted, [one.name for one in there])
    raise errors.NotFound(f"flow {flow.name!r} has no workflow {wanted[:255]!r}{close}; it has {listed}")


async def start(tx: Tx, flow: Definition, chosen: Workflow, wish: Wish) -> Started:
    """A run of a workflow of the flow's active version; it is named after the workflow."""
    as_one = dataclasses.replace(flow, name=chosen.name, plan_hash=chosen.plan_hash)
    return await starting.start(tx, as_one, wish)


async def start_named(tx: Tx, flow: str, wanted: str | None, wish: Wish, *, org: uuid.UUID) -> Started:
    """By names alone: a flow's and one of its workflows', or just a workflow's."""
    found = await get(tx, flow, org=org)
    if wanted is None and flow not in (found.name, str(found.id)):
        wanted = flow
    return await start(tx, found, await workflow(tx, found, wanted), wish)


async def sources(tx: Tx, flow: Definition, *, version: str | None = None) -> list[dict[str, Any]]:
    """The files of a version as they were saved: name, text, library."""
    row = await tx.row(SQL.get_program, {"id": flow.id, "version": version or flow.version})
    if row is None:
        raise errors.NotFound(f"flow {flow.name!r} has no version {version or flow.version}")
    found: list[dict[str, Any]] = row[1]
    return found


async def described(tx: Tx, flow: Definition, *, version: str | None = None) -> FlowDefinition:
    """A version as seed 000's entity, every list filled."""
    chosen = {"id": flow.id, "version": version or flow.version}
    row = await tx.row(SQL.get_program, chosen)
    if row is None:
        raise errors.NotFound(f"flow {flow.name!r} has no version {version or flow.version}")
    _, files, kept, created_at = row
    made = msgspec.convert(kept, FlowDefinition)
    made.text_sources = [TextSource(one["name"], "afl", one["text"]) for one in files]
    made.compiled_sources = [SourceText(name, "weft-plan", plan) for name, plan in await tx.rows(SQL.plans_of, chosen)]
    for one in made.workflows:
        one.date = int(created_at.timestamp() * 1000)
    return made


async def _fill(tx: Tx, program: Program, definition: Definition, hashes: dict[str, str]) -> None:
    made = lists.define(program.compiled, name=program.name, path=program.path, flow_id=definition.id)
    shown = {name: value for name, value in msgspec.to_builtins(made).items() if name not in _ELSEWHERE}
    files = [{"name": one.name, "text": one.text, "library": one.library} for one in program.sources]
    known = {"id": definition.id, "version": program.version, "org_id": definition.org_id}
    await tx.run(SQL.save_program, {
        **known, "path": program.path, "sources": msgspec.json.encode(files).decode(),
        "lists": msgspec.json.encode(shown).decode(),
    })  # fmt: skip
    await tx.run(SQL.save_statements, known)
    docs = {name: one.declared.doc for name, one in program.compiled.walked.items()}
    await tx.run(SQL.save_workflows, {
        **known, "names": list(hashes), "hashes": list(hashes.values()), "numbers": list(range(1, len(hashes) + 1)),
        "ids": [str(uuid.uuid3(definition.id, f"workflow {name}")) for name in hashes],
        "documentations": [docs[name] or "" for name in hashes],
    })  # fmt: skip


def _version(sources: Sequence[Source], compiled: Compiled) -> str:
    content = [[[one.text, one.library] for one in sources], [model.digest(plan) for plan in compiled.plans.values()]]
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()
