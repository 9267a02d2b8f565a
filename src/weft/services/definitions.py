"""`flow` and `workflow`: programs that are kept, and where runs of them can begin."""

import uuid as uuids
from collections.abc import Sequence
from typing import Any

import msgspec

from weft.afl.entities import FlowDefinition, WorkflowDefinition
from weft.afl.source import Source
from weft.base import errors, json
from weft.db import statements
from weft.flows import definitions, programs
from weft.flows.programs import Program
from weft.journal import record
from weft.services.link import ACTOR, Link, id_of, must_be

SQL = statements.load("weft.services")

_SAID = ("file_artifacts", "jar_artifacts", "resources", "inline", "classification", "publisher", "ownership")
"""Fields of a flow that are not found out from its sources."""


class Flows:
    """A flow is its sources: what is compiled from them cannot be saved without them."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def get_by_id(self, uuid: str) -> FlowDefinition | None:
        return self._one(uuid=uuid)

    def get_by_path(self, path: str) -> FlowDefinition | None:
        return self._one(path=path)

    def get_by_name(self, name: str) -> FlowDefinition | None:
        return self._one(name=name)

    def save(self, flow: FlowDefinition) -> None:
        """Compiles its sources (or `inline`); content that is not the same makes a new version. Sets the ids."""
        self._link.run(self._save(flow))

    def delete(self, uuid: str) -> bool:
        """It cannot be started any more. Its runs stay, and what they need of it."""
        return self._link.run(self._delete(uuid))

    def _one(self, *, uuid: str | None = None, name: str | None = None, path: str | None = None) -> FlowDefinition | None:
        wanted = {"id": id_of(uuid or ""), "name": name, "path": path, "org_id": self._link.org}
        return self._link.one(SQL.flow, wanted, type=FlowDefinition)

    async def _save(self, flow: FlowDefinition) -> None:
        async with self._link.writing() as tx:
            kept = await tx.rows(SQL.libraries_of, {"name": flow.name.name, "org_id": self._link.org})
        program = _compiled(flow, {row[0] for row in kept})
        said = {name: value for name in _SAID if (value := msgspec.to_builtins(getattr(flow, name)))}
        async with self._link.writing() as tx:
            saved = await programs.save(tx, program, org=self._link.org)
            found = saved.definition
            if said:
                await tx.run(SQL.describe_flow, {
                    "id": found.id, "version": found.version, "path": program.path, "said": json.text(said, what="the flow"),
                })  # fmt: skip
            if saved.new:
                await _journal(self._link, tx, "flow.save", found.id, {"version": found.version})
        flow.uuid = flow.name.uuid = str(found.id)

    async def _delete(self, uuid: str) -> bool:
        if id_of(uuid) is None:
            return False
        async with self._link.writing() as tx:
            try:
                found = await definitions.get(tx, uuid, org=self._link.org, kind="flow")
            except errors.NotFound:
                return False
            await definitions.set_status(tx, found, "deleted")
            await _journal(self._link, tx, "flow.delete", found.id, {})
        return True


class Workflows:
    """Workflows come and go with the flow that declares them."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def get_by_id(self, uuid: str) -> WorkflowDefinition | None:
        found = self._some(uuid=uuid)
        return found[0] if found else None

    def get_by_name(self, name: str) -> WorkflowDefinition | None:
        """By its qualified name, or by its last part."""
        found = self._some(name=name)
        return found[0] if found else None

    def get_by_flow(self, flow_id: str) -> Sequence[WorkflowDefinition]:
        return self._some(flow=flow_id)

    def save(self, workflow: WorkflowDefinition) -> None:
        """Changes its documentation; all else is said by the flow's sources."""
        self._link.run(self._save(workflow))

    def _some(
        self, *, uuid: str | None = None, name: str | None = None, flow: str | None = None
    ) -> list[WorkflowDefinition]:
        return self._link.read(SQL.workflows, {"uuid": uuid, "name": name, "flow": flow}, type=WorkflowDefinition)

    async def _save(self, workflow: WorkflowDefinition) -> None:
        id = must_be(workflow.uuid, what="workflow")
        said = {"id": id, "org_id": self._link.org, "documentation": workflow.documentation or ""}
        async with self._link.writing() as tx:
            if not await tx.run(SQL.document_workflow, said):
                raise errors.NotFound(f"there is no workflow {id}; save the flow that declares it")


def _compiled(flow: FlowDefinition, libraries: set[str]) -> Program:
    """`libraries`: files that were saved as such; the entity has no word for it."""
    sources = [Source(one.name, one.text, library=one.name in libraries) for one in flow.text_sources]
    if not sources and flow.inline is not None:
        sources = [Source(flow.name.path or f"{flow.name.name}.afl", flow.inline.text)]
    if not sources:
        raise errors.InvalidInput("a flow is saved with its sources; fill text_sources or inline")
    return programs.compile_flow(sources, name=flow.name.name or None, path=flow.name.path)


async def _journal(link: Link, tx: Any, action: str, id: uuids.UUID, after: dict[str, Any]) -> None:
    await record.record(
        tx, org_id=link.org, actor=ACTOR, action=action, object_type="flow", object_id=str(id), after=after
    )
