"""Which files a program needs besides those it was given: what it names and does not declare, found in an index of files."""

import re
from collections.abc import Callable, Iterator, Mapping

from weft.afl import parser
from weft.afl.diagnostic import Report
from weft.afl.lexer import TYPES
from weft.afl.signature import BUILTIN
from weft.afl.source import Source
from weft.afl.syntax import Call, File, Namespace, Param
from weft.afl.walking import steps_of

_NAMESPACE = re.compile(r"\bnamespace\s+([A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*)\s*\{")


def declares(text: str) -> set[str]:
    """The namespaces that a text seems to open: good enough to choose files by."""
    return {re.sub(r"\s", "", found[1]) for found in _NAMESPACE.finditer(text)}


def resolve(sources: list[Source], index: Mapping[str, list[str]], load: Callable[[str], Source]) -> list[Source]:
    """The sources with all files that they need, and that those need. `index`: namespace → files that open it.

    A file that only has the same namespace is none of these: somebody's other programs lie in the same folder.
    """
    found = list(sources)
    names = {source.name for source in sources}
    declared: dict[str, set[str]] = {}
    files: list[File] = []
    looked: dict[str, tuple[Source, File]] = {}
    todo = [parser.parse(source, Report()) for source in sources]
    while todo:
        for file in todo:
            for namespace, members in _members(file):
                declared.setdefault(namespace, set()).update(members)
        files += todo
        everywhere = {name for members in declared.values() for name in members}
        spaces = (space for file in files for space in file.namespaces)
        todo = []
        for namespace, wanted in dict.fromkeys(one for space in spaces for one in _needs(space, declared, everywhere)):
            for name in (name for name in index.get(namespace, ()) if name not in names):
                if name not in looked:
                    source = load(name)
                    looked[name] = source, parser.parse(source, Report())
                source, file = looked[name]
                if wanted is None or any(one == namespace and wanted in members for one, members in _members(file)):
                    names.add(name)
                    found.append(source)
                    todo.append(file)
    return found


def _members(file: File) -> Iterator[tuple[str, set[str]]]:
    for space in file.namespaces:
        yield space.name.text, {one.name.text for one in space.schemas} | {one.name.text for one in space.declarations}


def _needs(
    space: Namespace, declared: Mapping[str, set[str]], everywhere: set[str]
) -> Iterator[tuple[str, str | None]]:
    """The namespaces in which something may be that this one names and nobody declares yet, and what; None: all of it. A
    namespace that is there may go on in other files.
    """
    used = [use.name.text for use in space.uses]
    for name in used:
        prefix, _, short = name.rpartition(".")
        if name not in declared and short not in declared.get(prefix, ()):
            yield from ((name, None), (prefix, short))
    for name in dict.fromkeys(_names(space)):
        prefix, dot, short = name.rpartition(".")
        if dot:
            places = [prefix, f"{space.name.text}.{prefix}"]
            if not any(short in declared.get(place, ()) for place in places):
                yield from ((place, short) for place in places)
        elif name not in everywhere and name not in TYPES and name not in BUILTIN:
            yield from ((place, name) for place in (space.name.text, *used))


def _names(space: Namespace) -> Iterator[str]:
    """Facets and types that a namespace names."""
    for schema in space.schemas:
        yield from _types(schema.fields)
    for implicit in space.implicits:
        yield from _called(implicit.call)
    for declared in space.declarations:
        yield from _types(declared.params)
        yield from _types(declared.returns)
        yield from (mixin.target.text for mixin in declared.mixins)
        for step in steps_of(declared):
            yield from _called(step.call)


def _types(params: list[Param]) -> Iterator[str]:
    return (one.type.name for one in params)


def _called(call: Call) -> Iterator[str]:
    yield call.target.text
    yield from (mixin.target.text for mixin in call.mixins)
