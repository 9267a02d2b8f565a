"""`/v1/flows`: AFL programs: check them, save them (a version each), look at them and at their workflows."""

import asyncio
import datetime as dt
import uuid
from typing import Annotated, Any

import msgspec

from weft.afl import compiling
from weft.afl.diagnostic import Diagnostic
from weft.afl.entities import FlowDefinition
from weft.afl.source import Source
from weft.api import fields, pages
from weft.api.operation import Answer, Call, Operation
from weft.db.tx import Tx
from weft.flows import definitions, facets, programs
from weft.flows.definitions import Definition
from weft.flows.programs import Workflow
from weft.journal import record
from weft.plan.model import MAX_BYTES


class SourceFile(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A file of a program."""

    text: str
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=255)] = "source.afl"
    library: bool = False
    """It is there for the others: its workflows cannot be started."""


class Unchecked(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A program."""

    sources: Annotated[list[SourceFile], msgspec.Meta(min_length=1, max_length=1000)]
    allow_external: bool = False
    """Calls of what is not declared are warnings, and wait for an agent of that name."""


class NewFlow(Unchecked, forbid_unknown_fields=True, kw_only=True):
    """A program to be kept."""

    name: fields.Name | None = None
    """Unset: the namespace of its first workflow."""
    path: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    """Where it is from, in your words."""
    tags: Annotated[list[fields.Name], msgspec.Meta(max_length=50)] = []


class Checked(msgspec.Struct, kw_only=True):
    """What is wrong with a program, all of it, and the workflows it has if nothing is."""

    valid: bool
    diagnostics: list[Diagnostic]
    workflows: list[str]


class FlowWorkflow(msgspec.Struct, kw_only=True):
    """Where a run can begin."""

    id: uuid.UUID
    name: str
    documentation: str
    plan_hash: str


class Flow(msgspec.Struct, kw_only=True):
    """A program that is kept."""

    id: uuid.UUID
    name: str
    path: str
    version: str
    version_number: int
    workflow_names: list[str]
    tags: list[str]
    created_at: dt.datetime
    updated_at: dt.datetime


class WholeFlow(Flow, kw_only=True):
    """With its workflows, and what the compiler warned of when it was saved just now."""

    workflows: list[FlowWorkflow]
    warnings: list[Diagnostic] = []


class FlowQuery(pages.Paging, forbid_unknown_fields=True, kw_only=True):
    """Which flows."""

    name_prefix: fields.Name | None = None


class FlowPlace(msgspec.Struct, array_like=True):
    id: uuid.UUID


class FlowPage(msgspec.Struct):
    items: list[Flow]
    next_cursor: str | None


class Workflows(msgspec.Struct):
    """In the order they were written."""

    items: list[FlowWorkflow]


class Sources(msgspec.Struct):
    items: list[SourceFile]


class NeededHandler(msgspec.Struct, kw_only=True):
    """What an agent must handle for a flow to run, and how many do."""

    handler: str
    agents: int


class NeededHandlers(msgspec.Struct):
    items: list[NeededHandler]


async def check(call: Call[Unchecked, None]) -> Checked:
    wanted = call.body
    compiled = await asyncio.to_thread(
        compiling.compile_sources, _sources(wanted.sources), allow_external=wanted.allow_external
    )
    return Checked(valid=compiled.ok, diagnostics=compiled.diagnostics, workflows=list(compiled.plans))


async def create(call: Call[NewFlow, None]) -> Answer:
    wanted = call.body
    program = await asyncio.to_thread(
        programs.compile_flow, _sources(wanted.sources), name=wanted.name, path=wanted.path,
        allow_external=wanted.allow_external,
    )  # fmt: skip
    async with call.tx() as tx:
        saved = await programs.save(tx, program, org=call.principal.org, tags=wanted.tags)
        if saved.new:
            after = {"name": program.name, "version": program.version}
            await _journal(call, tx, saved.definition, action="flow.create", after=after)
    shown = WholeFlow(**_flow(saved.definition), workflows=[_workflow(one) for one in saved.workflows],
                      warnings=program.warnings)  # fmt: skip
    headers = {"location": f"/v1/flows/{saved.definition.id}"}
    return Answer(body=shown, status=201 if saved.new else 200, headers=headers)


async def page(call: Call[None, FlowQuery]) -> FlowPage:
    place = call.query.place(FlowPlace)
    async with call.tx() as tx:
        found = await definitions.page(
            tx, org=call.principal.org, kind="flow", before=place.id if place else None, take=call.query.limit + 1,
            prefix=call.query.name_prefix,
        )  # fmt: skip
    shown = pages.page(found, limit=call.query.limit, show=lambda one: Flow(**_flow(one)),
                       place=lambda one: FlowPlace(one.id))  # fmt: skip
    return FlowPage(shown.items, shown.next_cursor)


async def get(call: Call[None, None]) -> WholeFlow:
    async with call.tx() as tx:
        found = await _found(call, tx)
        there = await programs.workflows(tx, found)
    return WholeFlow(**_flow(found), workflows=[_workflow(one) for one in there])


async def workflows(call: Call[None, None]) -> Workflows:
    async with call.tx() as tx:
        return Workflows([_workflow(one) for one in await programs.workflows(tx, await _found(call, tx))])


async def sources(call: Call[None, None]) -> Sources:
    async with call.tx() as tx:
        return Sources(msgspec.convert(await programs.sources(tx, await _found(call, tx)), list[SourceFile]))


async def definition(call: Call[None, None]) -> FlowDefinition:
    async with call.tx() as tx:
        return await programs.described(tx, await _found(call, tx))


async def handlers(call: Call[None, None]) -> NeededHandlers:
    async with call.tx() as tx:
        found = await facets.needed(tx, (await _found(call, tx)).id)
    return NeededHandlers([NeededHandler(handler=name, agents=count) for name, count in found])


async def delete(call: Call[None, None]) -> None:
    async with call.tx() as tx:
        found = await _found(call, tx)
        await definitions.set_status(tx, found, "deleted")
        await _journal(call, tx, found, action="flow.delete", after={"name": found.name})


async def _found(call: Call[Any, Any], tx: Tx) -> Definition:
    return await definitions.get(tx, call.id, org=call.principal.org, kind="flow")


def _sources(files: list[SourceFile]) -> list[Source]:
    return [Source(one.name, one.text, library=one.library) for one in files]


def _flow(one: Definition) -> dict[str, Any]:
    return {
        "id": one.id, "name": one.name, "path": one.header.get("path", ""), "version": one.version,
        "version_number": one.number, "workflow_names": one.header.get("workflows", []), "tags": one.tags or [],
        "created_at": one.created_at, "updated_at": one.updated_at,
    }  # fmt: skip


def _workflow(one: Workflow) -> FlowWorkflow:
    return FlowWorkflow(id=one.id, name=one.name, documentation=one.documentation, plan_hash=one.plan_hash)


async def _journal(call: Call[Any, Any], tx: Tx, found: Definition, *, action: str, after: dict[str, Any]) -> None:
    await record.record(
        tx, org_id=call.principal.org, actor=call.principal.actor, action=action, object_type="flow",
        object_id=str(found.id), after=after,
    )  # fmt: skip


_TEXT = 'namespace hello {\n    event facet Greet(name: String) => (greeting: String)\n' \
        '    workflow SayHello(name: String = "world") => (message: String) andThen {\n        g = Greet(name = $.name)\n' \
        '        yield SayHello(message = g.greeting)\n    }\n}\n'  # fmt: skip
_PROGRAM: dict[str, Any] = {"sources": [{"name": "hello.afl", "text": _TEXT}]}
_ID = "0190c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55"
_HASH = "4be1c1e5b0b0a1f5d5a2d6b5c7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f901"
_WORKFLOW = {"id": _ID, "name": "hello.SayHello", "documentation": "", "plan_hash": _HASH}
_FLOW: dict[str, Any] = {
    "id": _ID, "name": "hello", "path": "hello.afl", "version": _HASH, "version_number": 1,
    "workflow_names": ["hello.SayHello"], "tags": [], "created_at": "2026-01-15T10:30:00Z",
    "updated_at": "2026-01-15T10:30:00Z",
}  # fmt: skip
_WRONG = {
    "rule": "unknown-facet", "severity": "error", "message": "there is no facet 'Gret'", "file": "hello.afl", "line": 4,
    "column": 13, "end_line": 4, "end_column": 17, "excerpt": "        g = Gret(name = $.name)",
    "hint": "did you mean 'Greet'?",
}  # fmt: skip
_AT = "/v1/flows/{id:uuid}"

OPERATIONS = (
    Operation(
        "POST", "/v1/flows/check", action="flow.check", handler=check, summary="Say what is wrong with an AFL program",
        description="Every problem with its rule, place (line, column, end) and hint. Nothing is stored.", body=Unchecked,
        answer=Checked, max_body=MAX_BYTES, example=_PROGRAM,
        answer_example={"valid": False, "diagnostics": [_WRONG], "workflows": []},
    ),
    Operation(
        "POST", "/v1/flows", action="flow.write", handler=create, summary="Save an AFL program, or a new version of it",
        description="Of a name that is there, other content becomes a new version, active at once; the same content "
        "changes nothing. A program with errors is refused; `details.problems` lists them. At most 8 MiB.",
        body=NewFlow, answer=WholeFlow, status=201, also={200: "This is the active version already."},
        errors=("INVALID_FLOW", "INVALID_NAME"), idempotent=True, max_body=MAX_BYTES, example={**_PROGRAM, "name": "hello"},
        answer_example={**_FLOW, "workflows": [_WORKFLOW], "warnings": []},
    ),
    Operation(
        "GET", "/v1/flows", action="flow.read", handler=page, summary="Flows, newest first", query=FlowQuery,
        answer=FlowPage, example={"name_prefix": "he"}, answer_example={"items": [_FLOW], "next_cursor": None},
    ),
    Operation(
        "GET", _AT, action="flow.read", handler=get, summary="A flow, with its workflows", answer=WholeFlow,
        errors=("NOT_FOUND",), answer_example={**_FLOW, "workflows": [_WORKFLOW], "warnings": []},
    ),
    Operation(
        "GET", f"{_AT}/workflows", action="flow.read", handler=workflows, summary="The workflows of a flow",
        answer=Workflows, errors=("NOT_FOUND",), answer_example={"items": [_WORKFLOW]},
    ),
    Operation(
        "GET", f"{_AT}/sources", action="flow.read", handler=sources, summary="The files of a flow, as they were saved",
        answer=Sources, errors=("NOT_FOUND",), answer_example={"items": [{**_PROGRAM["sources"][0], "library": False}]},
    ),
    Operation(
        "GET", f"{_AT}/definition", action="flow.read", handler=definition, summary="A flow taken apart",
        description="Namespaces, facets, workflows, mixins, blocks, statements, arguments, references, scripts and plans, "
        "in the words of seed 000's FlowDefinition.", answer=FlowDefinition, errors=("NOT_FOUND",),
        answer_example={"uuid": _ID, "name": {"name": "hello", "path": "hello.afl", "uuid": _ID}},
    ),
    Operation(
        "GET", f"{_AT}/handlers", action="flow.read", handler=handlers, summary="What agents must handle for a flow",
        description="Each event facet that it asks for, and how many live agents handle it. None: such steps would wait.",
        answer=NeededHandlers, errors=("NOT_FOUND",), answer_example={"items": [{"handler": "hello.Greet", "agents": 1}]},
    ),
    Operation(
        "DELETE", _AT, action="flow.write", handler=delete, status=204, errors=("NOT_FOUND",),
        summary="Delete a flow; its runs stay, and those that have begun go on",
    ),
)  # fmt: skip
