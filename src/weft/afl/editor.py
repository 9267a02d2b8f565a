"""What editors ask of a program: where a name is declared, what is said about it, what could be written here."""

import msgspec

from weft.afl import lexer
from weft.afl.compiling import Compiled
from weft.afl.lexer import KEYWORDS, TYPES
from weft.afl.program import Declared
from weft.afl.source import Source
from weft.afl.syntax import Declaration, Name, Param, Schema, Step
from weft.afl.walking import steps_of

_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")


class Place(msgspec.Struct, frozen=True):
    file: str
    start: int
    end: int
    source: Source


def word(source: Source, offset: int) -> tuple[str, int]:
    """The name with dots around an offset up to the end of the part that is pointed at, and whether `$.` is before it."""
    text = source.text
    start = end = offset
    while start > 0 and text[start - 1] in _NAME:
        start -= 1
    while end < len(text) and text[end] in _NAME and text[end] != ".":
        end += 1
    return text[start:end], start


def definition(compiled: Compiled, source: Source, offset: int) -> Place | None:
    """Where what is pointed at is declared: a facet, schema, namespace, step or param."""
    name, start = word(source, offset)
    if not name:
        return None
    enclosing = _enclosing(compiled, source, offset)
    if enclosing is not None and (name.startswith(".") or source.text[start - 1 : start] == "$"):
        wanted = name.strip(".").partition(".")[0]
        names = [*reversed(_variables(enclosing, offset)), *(one.name for one in enclosing.params)]
        slot = next((one for one in names if one.text == wanted), None)
        return Place(source.name, slot.start, slot.end, source) if slot else None
    found = _declared(compiled, source, offset, name)
    if found is not None:
        return Place(found.source.name, found.name.start, found.name.end, found.source)
    first = name.partition(".")[0]
    step = _step(enclosing, first, offset) if enclosing else None
    if step is not None:
        return Place(source.name, step.name.start, step.name.end, source)
    for space in compiled.program.spaces.values():
        if space.name == name and space.openings:
            file, opening = space.openings[0]
            return Place(file.source.name, opening.name.start, opening.name.end, file.source)
    return None


def hover(compiled: Compiled, source: Source, offset: int) -> str:
    """The signature and documentation of what is pointed at, as Markdown; empty if nothing is known."""
    name, start = word(source, offset)
    found = _declared(compiled, source, offset, name) if name else None
    if found is None and name and source.text[start - 1 : start] != "$":
        enclosing = _enclosing(compiled, source, offset)
        step = _step(enclosing, name.partition(".")[0], offset) if enclosing else None
        found = _declared(compiled, source, offset, step.call.target.text) if step else None
    if found is None:
        return ""
    lead, params, returns = lexer.tags(found.doc)
    told = [f"- `{name}`: {text}" for name, text in params.items()]
    told += [f"- → `{name}`: {text}" for name, text in returns.items()]
    return "\n\n".join(part for part in (f"```afl\n{signature(found)}\n```", lead, "\n".join(told)) if part)


def completion(compiled: Compiled, source: Source, offset: int) -> list[tuple[str, str]]:
    """Names that could be written here, each with what it is."""
    name, start = word(source, offset)
    enclosing = _enclosing(compiled, source, offset)
    before = source.text[start - 1 : start]
    if before == "$" or name.startswith("."):
        if enclosing is None:
            return []
        elements = [(one.text, "element") for one in _variables(enclosing, offset)]
        return [*elements, *((one.name.text, "param") for one in enclosing.params)]
    head, dot, _ = name.rpartition(".")
    if dot and enclosing is not None and (step := _step(enclosing, head.partition(".")[0], offset)) is not None:
        found = _declared(compiled, source, offset, step.call.target.text)
        if isinstance(found, Declaration):
            return [(one.name.text, "return") for one in found.returns] + [(one.name.text, "param") for one in found.params]
        return [(one.name.text, "field") for one in found.fields] if found else []
    if dot:
        space = compiled.program.spaces.get(head)
        return [(one, "facet") for one in space.declared] if space else []
    offered = [(one, "facet") for one in compiled.program.names(_namespace(compiled, source, offset))]
    if enclosing is not None:
        offered += [(one.name.text, "step") for one in steps_of(enclosing) if one.start < offset]
    return offered + [(one, "type") for one in TYPES] + [(one, "keyword") for one in KEYWORDS]


def signature(one: Declared) -> str:
    """A declaration in one line."""
    if isinstance(one, Schema):
        return f"schema {one.qualified} {{ {_slots(one.fields)} }}"
    kind = {"event": "event facet"}.get(one.kind, one.kind)
    returns = f" => ({_slots(one.returns)})" if one.returns else ""
    return f"{kind} {one.qualified}({_slots(one.params)}){returns}"


def _slots(params: list[Param]) -> str:
    return ", ".join(f"{one.name.text}: {'[' * one.type.lists}{one.type.name}{']' * one.type.lists}" for one in params)


def _declared(compiled: Compiled, source: Source, offset: int, name: str) -> Declared | None:
    found = compiled.program.find(name, _namespace(compiled, source, offset))
    return found[0] if len(found) == 1 else None


def _namespace(compiled: Compiled, source: Source, offset: int) -> str:
    for space in compiled.program.spaces.values():
        for file, opening in space.openings:
            if file.source is source and opening.start <= offset <= opening.end and space.name:
                return space.name
    return ""


def _enclosing(compiled: Compiled, source: Source, offset: int) -> Declaration | None:
    for one in compiled.program.declarations():
        if one.source is source and one.start <= offset <= one.end:
            return one
    return None


def _variables(declared: Declaration, offset: int) -> list[Name]:
    """The elements of the loops around an offset, from the outermost on."""
    bodies = [*declared.bodies, *(body for step in steps_of(declared) for body in step.bodies)]
    around = [one for one in bodies if one.variable is not None and one.start <= offset <= one.end]
    return [one.variable for one in sorted(around, key=lambda one: one.start) if one.variable is not None]


def _step(declared: Declaration, name: str, offset: int) -> Step | None:
    """The last step of a name that begins before an offset."""
    found = [one for one in steps_of(declared) if one.name.text == name and one.start <= offset]
    return max(found, key=lambda one: one.start) if found else None
