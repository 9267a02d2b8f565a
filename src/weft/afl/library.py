"""Which files a program needs besides those it was given: what it uses and does not declare, found in an index of files."""

import re
from collections.abc import Callable, Mapping

from weft.afl import parser
from weft.afl.diagnostic import Report
from weft.afl.source import Source
from weft.afl.syntax import File
from weft.afl.walking import steps_of

_NAMESPACE = re.compile(r"\bnamespace\s+([A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*)\s*\{")


def declares(text: str) -> set[str]:
    """The namespaces that a text seems to open: good enough to choose files by."""
    return {re.sub(r"\s", "", found[1]) for found in _NAMESPACE.finditer(text)}


def resolve(sources: list[Source], index: Mapping[str, list[str]], load: Callable[[str], Source]) -> list[Source]:
    """The sources with all files that they need, and that those need. `index`: namespace → files that open it."""
    found = list(sources)
    names = {source.name for source in sources}
    known: set[str] = set()
    wanted: dict[str, None] = {}
    todo = list(sources)
    while todo:
        files = [parser.parse(source, Report()) for source in todo]
        known |= {space.name.text for file in files for space in file.namespaces}
        for file in files:
            wanted |= dict.fromkeys(_needs(file))
        todo = []
        for namespace in wanted:
            for name in index.get(namespace, ()) if namespace not in known else ():
                if name not in names:
                    names.add(name)
                    todo.append(load(name))
        found += todo
    return found


def _needs(file: File) -> list[str]:
    """Namespaces that a file names."""
    found: list[str] = []
    for space in file.namespaces:
        for use in space.uses:
            found += [use.name.text, use.name.text.rpartition(".")[0]]
        for declared in space.declarations:
            for step in steps_of(declared):
                targets = [step.call.target.text, *(mixin.target.text for mixin in step.call.mixins)]
                found += [target.rpartition(".")[0] for target in targets if "." in target]
            for param in (*declared.params, *declared.returns):
                found += [param.type.name.rpartition(".")[0]] if "." in param.type.name else []
    return found
