"""A compiled program → the seed's FlowDefinition: all its lists, filled from the tree. Ids follow from the flow's id and the
place in it, so that the same program is the same definition.
"""

import uuid as uuids
from collections import ChainMap
from collections.abc import MutableMapping

from weft.afl import lexer
from weft.afl.compiling import Compiled
from weft.afl.entities import (
    BlockDefinition,
    FacetDefinition,
    FlowDefinition,
    FlowIdentity,
    MixinDefinition,
    NamespaceDefinition,
    Parameter,
    ScriptCode,
    SourceText,
    StatementArguments,
    StatementDefinition,
    StatementReferences,
    TextSource,
    WorkflowDefinition,
)  # fmt: skip
from weft.afl.syntax import (
    Argument,
    Attribute,
    Binary,
    Block,
    Body,
    Catch,
    Chain,
    Declaration,
    Expression,
    ListOf,
    Literal_,
    MapOf,
    Mixin,
    Param,
    Reference,
    Script,
    Step,
    Subscript,
    Unary,
    named_by,
)  # fmt: skip
from weft.base import json
from weft.plan import model

_KINDS = {"block": "AndThen", "foreach": "AndMap", "when": "When", "match": "AndMatch", "script": "Script"}


Seen = ChainMap[str, str]
"""The steps that can be named from a place, with their ids: a map for each block around it."""


def define(compiled: Compiled, *, name: str, path: str, flow_id: uuids.UUID, date: int = 0) -> FlowDefinition:
    """The definition of a program without errors."""
    return _Definer(compiled, name, path, flow_id, date).made()


class _Definer:
    def __init__(self, compiled: Compiled, name: str, path: str, flow_id: uuids.UUID, date: int) -> None:
        self._compiled, self._flow, self._date = compiled, flow_id, date
        self._made = FlowDefinition(str(flow_id), FlowIdentity(name, path, str(flow_id)))

    def made(self) -> FlowDefinition:
        program, made = self._compiled.program, self._made
        for space in program.spaces.values():
            if space.name or space.declared:
                docs = [opening.doc for _, opening in space.openings if opening.doc]
                uses = list(dict.fromkeys(use.name.text for _, use in space.uses))
                space_id = self._id(f"namespace {space.name}")
                made.namespaces.append(NamespaceDefinition(space_id, space.name, "\n".join(docs), uses))
        for schema in program.schemas():
            place = schema.source.place(schema.start)[0]
            space_id = self._id(f"namespace {schema.namespace}")
            facet = self._facet(schema.qualified)
            fields = _slots(schema.fields, lexer.tags(schema.doc)[1])
            made.facets.append(FacetDefinition(facet, schema.name.text, space_id, "schema", fields, [],
                                               schema.doc, schema.source.name, place))  # fmt: skip
        for declared in program.declarations():
            self._declaration(declared)
        for file in program.files:
            made.text_sources.append(TextSource(file.source.name, "afl", file.source.text))
        for workflow, plan in self._compiled.plans.items():
            made.compiled_sources.append(SourceText(workflow, "weft-plan", model.encode(plan).decode()))
        return made

    def _id(self, place: str) -> str:
        return str(uuids.uuid3(self._flow, place))

    def _facet(self, qualified: str) -> str:
        return self._id(f"facet {qualified}")

    def _declaration(self, declared: Declaration) -> None:
        facet, made = self._facet(declared.qualified), self._made
        line = declared.source.place(declared.start)[0]
        space_id = self._id(f"namespace {declared.namespace}")
        _, said_of, said_of_returns = lexer.tags(declared.doc)
        params, returns = _slots(declared.params, said_of), _slots(declared.returns, said_of_returns)
        made.facets.append(FacetDefinition(facet, declared.name.text, space_id, declared.kind, params, returns, declared.doc,
                                           declared.source.name, line))  # fmt: skip
        plan = self._compiled.plans.get(declared.qualified)
        if plan is not None:
            made.workflows.append(WorkflowDefinition(
                uuid=self._id(f"workflow {declared.qualified}"), name=declared.name.text,
                namespace_id=self._id(f"namespace {declared.namespace}"), facet_id=facet, flow_id=str(self._flow),
                starting_step=plan.entry, version=model.digest(plan), documentation=declared.doc or None, date=self._date,
            ))  # fmt: skip
        self._mixins(declared.mixins, facet)
        if declared.script is not None:
            self._script(declared.script, facet, declared)
        self._bodies(declared.bodies, declared.catch, facet, declared.qualified, declared, Seen())

    def _bodies(
        self, bodies: list[Body], catch: Catch | None, container: str, path: str, declared: Declaration, seen: Seen
    ) -> dict[str, str]:
        """Blocks of a declaration or step, in order; `seen`: the steps that can be named. Answers those inside."""
        beside = dict[str, str]()
        seen = seen.new_child(beside)
        for number, body in enumerate(bodies, start=1):
            at = f"{path}/{number}"
            block = BlockDefinition(self._id(f"block {at}"), _KINDS[body.kind], container, number,
                                    body.variable.text if body.variable else None,
                                    iterable=said(body.iterable) if body.iterable else None)  # fmt: skip
            self._made.blocks.append(block)
            if body.iterable is not None:
                self._refers(block.uuid, named_by(body.iterable), seen)
            if body.script is not None:
                self._script(body.script, block.uuid, declared)
            if body.block is not None:
                inner = self._block(body.block, block.uuid, at, declared, seen)
                if body.kind == "block":  # what is written after it can name its steps
                    _more(beside, inner)
            self._cases([(case.condition, case.block) for case in body.cases], block.uuid, at, declared, seen)
        if catch is not None:
            at = f"{path}/catch"
            block = BlockDefinition(self._id(f"block {at}"), "Catch", container, len(bodies) + 1)
            self._made.blocks.append(block)
            if catch.block is not None:
                self._block(catch.block, block.uuid, at, declared, seen)
            self._cases([(case.condition, case.block) for case in catch.cases], block.uuid, at, declared, seen)
        return beside

    def _cases(
        self, cases: list[tuple[Expression | None, Block]], container: str, path: str, declared: Declaration,
        seen: Seen,
    ) -> None:  # fmt: skip
        for number, (condition, inner) in enumerate(cases, start=1):
            at = f"{path}/{number}"
            shown = said(condition) if condition else "_"
            self._made.blocks.append(BlockDefinition(self._id(f"block {at}"), "Case", container, number, condition=shown))
            if condition is not None:
                self._refers(self._id(f"block {at}"), named_by(condition), seen)
            self._block(inner, self._id(f"block {at}"), at, declared, seen)

    def _refers(self, what: str, names: list[str], seen: Seen) -> None:
        """What a statement, a foreach or a case names, of the steps that it sees."""
        used = [seen[name] for name in dict.fromkeys(names) if name in seen]
        self._made.references.append(StatementReferences(what, used))

    def _block(
        self, block: Block, block_id: str, path: str, declared: Declaration, outer: Seen
    ) -> dict[str, str]:
        """Its statements. Answers all steps that it holds, for what is written after it."""
        seen, inside = outer.new_child(), dict[str, str]()
        for number, one in enumerate(block.statements, start=1):
            named = one.name.text if isinstance(one, Step) else f"yield {number}"
            at = f"{path}/{named}"
            statement = self._id(f"statement {at}")
            found = self._compiled.program.find(one.call.target.text, declared.namespace)
            schema = bool(found) and not isinstance(found[0], Declaration)
            kind = "Yield" if not isinstance(one, Step) else "Schema" if schema else "VariableAssignment"
            self._made.statements.append(StatementDefinition(
                statement, named, kind, block_id, one.call.target.text,
                self._facet(found[0].qualified) if len(found) == 1 else None, number, declared.source.name,
                declared.source.place(one.start)[0],
            ))  # fmt: skip
            self._made.arguments.append(StatementArguments(statement, [_argument(arg) for arg in one.call.args]))
            names = [name for arg in one.call.args for name in named_by(arg.value)]
            names += [name for mixin in one.call.mixins for arg in mixin.args for name in named_by(arg.value)]
            self._refers(statement, names, seen)
            self._mixins(one.call.mixins, statement)
            if isinstance(one, Step):
                seen[named] = inside[named] = statement
                inner = self._bodies(one.bodies, one.catch, statement, at, declared, seen)
                _more(seen, inner)
                _more(inside, inner)
        return inside

    def _mixins(self, mixins: list[Mixin], owner: str) -> None:
        for number, one in enumerate(mixins, start=1):
            alias = one.alias.text if one.alias else None
            self._made.mixins.append(MixinDefinition(self._id(f"mixin {owner} {number}"), one.target.text, owner, alias,
                                                     [_argument(arg) for arg in one.args]))  # fmt: skip

    def _script(self, script: Script, owner: str, declared: Declaration) -> None:
        line = declared.source.place(script.start)[0]
        self._made.script_code.append(ScriptCode(self._id(f"script {owner}"), owner, "python", script.code,
                                                 declared.source.name, line))  # fmt: skip


def _more(names: MutableMapping[str, str], inner: dict[str, str]) -> None:
    """Adds steps whose names mean nothing else."""
    for name, id in inner.items():
        names.setdefault(name, id)


def said(one: Expression) -> str:
    """An expression as text again, with all its brackets."""
    match one:
        case Literal_(value=value):
            return json.dumps(value).decode()
        case Reference(name=name, dollar=dollar):
            return f"$.{name}" if dollar else name
        case Attribute(base=base, name=name):
            return f"{said(base)}.{name}"
        case Subscript(base=base, index=index):
            return f"{said(base)}[{said(index)}]"
        case ListOf(items=items):
            return f"[{', '.join(map(said, items))}]"
        case MapOf(entries=entries):
            return "#{" + ", ".join(f'"{key.text}": {said(value)}' for key, value in entries) + "}"
        case Unary(operator=operator, operand=operand):
            return f"{operator}{said(operand)}"
        case Binary(operator=operator, left=left, right=right):
            return f"({said(left)} {operator} {said(right)})"
        case Chain(operator=operator, operands=operands):
            return "(" + f" {operator} ".join(map(said, operands)) + ")"


def _slots(params: list[Param], said_of: dict[str, str]) -> list[Parameter]:
    return [
        Parameter(one.name.text, "[" * one.type.lists + one.type.name + "]" * one.type.lists,
                  said(one.default) if one.default is not None else None, one.default is not None,
                  said_of.get(one.name.text, ""))
        for one in params
    ]  # fmt: skip


def _argument(one: Argument) -> Parameter:
    return Parameter(one.name.text, "Json", said(one.value))
