"""Duplicate names, and declarations outside of any namespace."""

from collections.abc import Iterable

from weft.afl.diagnostic import Report
from weft.afl.program import Program
from weft.afl.source import Source
from weft.afl.syntax import Block, Name, Param, Step


def check(program: Program, report: Report) -> None:
    """Everything about names that needs no resolution."""
    for space in program.spaces.values():
        seen: dict[str, str] = {}
        for file, opening in space.openings:
            names = [one.name for one in opening.schemas] + [one.name for one in opening.declarations]
            names += [one.name for one in opening.implicits]
            for name in names:
                if name.text in seen:
                    where = f"the namespace {space.name!r}" if space.name else "the program"
                    message = f"{where} has two declarations called {name.text!r}; the other is in {seen[name.text]}"
                    report.add("duplicate-name", message, file.source, name.start, name.end, hint="rename one")
                else:
                    seen[name.text] = f"{file.source.name}:{file.source.place(name.start)[0]}"
            for schema in opening.schemas:
                if not space.name:
                    message = f"the schema {schema.name.text!r} stands outside of any namespace"
                    report.add("schema-outside", message, file.source, schema.name.start, schema.name.end,
                               hint="put it into a namespace { … }")  # fmt: skip
                slots("duplicate-field", "field", schema.fields, file.source, report)
            for declared in opening.declarations:
                if not space.name and declared.kind == "workflow":
                    message = f"the workflow {declared.name.text!r} stands outside of any namespace"
                    report.add("workflow-outside", message, file.source, declared.name.start, declared.name.end,
                               hint="put it into a namespace { … }")  # fmt: skip
                slots("duplicate-param", "param", declared.params, file.source, report)
                slots("duplicate-return", "return", declared.returns, file.source, report)


def slots(rule: str, what: str, params: Iterable[Param], source: Source, report: Report) -> None:
    repeated(rule, what, (one.name for one in params), source, report)


def steps(block: Block, source: Source, report: Report) -> None:
    """The steps of one block; those of a block inside may have the same names."""
    repeated("duplicate-step", "step", (one.name for one in block.statements if isinstance(one, Step)), source, report)


def repeated(rule: str, what: str, names: Iterable[Name], source: Source, report: Report) -> None:
    seen: set[str] = set()
    for name in names:
        if name.text in seen:
            message = f"two {what}s are called {name.text!r}"
            report.add(rule, message, source, name.start, name.end, hint="rename one")
        seen.add(name.text)
