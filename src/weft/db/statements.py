"""Named SQL: `-- name: claim` starts a statement in a folder's `queries.sql` or `queries/*.sql`.

What several statements share stands once, as `-- piece: taken`, and goes where a line says `-- use: taken`: a file uses
its own, and those of the other files of its folder.

`SQL = statements.load("weft.queue")` reads them once at import; `SQL.claim` is the text. A test prepares every
statement against the schema and checks that its store uses it.
"""

import functools
import importlib.resources
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from weft.base import errors

_HEAD = re.compile(r"^-- (name|piece): (\w+)\s*$", re.MULTILINE)
_USE = re.compile(r"^( *)-- use: (\w+)$", re.MULTILINE)


class Part(NamedTuple):
    """Of a statement that somebody else puts together: rows of its own, and what is to be said with it."""

    text: str
    values: Mapping[str, Any] = {}


def union(parts: Iterable[Part]) -> Part:
    """The rows of all of them, by one statement."""
    texts, values = zip(*parts, strict=True)
    return Part("\nunion all\n".join(texts), dict(item for said in values for item in said.items()))


class Statements:
    """The statements of one folder, as attributes."""

    def __init__(self, package: str, texts: dict[str, str]) -> None:
        self.package = package
        self.texts = texts

    def __getattr__(self, name: str) -> str:
        try:
            return self.texts[name]
        except KeyError:
            raise AttributeError(f"{self.package} has no statement named {name}") from None


@functools.cache
def load(package: str) -> Statements:
    """Every named statement of a package's `queries.sql` and `queries/`."""
    root = importlib.resources.files(package)
    sources = [root / "queries.sql"]
    if (folder := root / "queries").is_dir():
        sources += sorted((item for item in folder.iterdir() if item.name.endswith(".sql")), key=lambda item: item.name)
    files = [source.read_text() for source in sources if source.is_file()]
    pieces = _once([_parts(file, "piece") for file in files], what=f"{package}: the piece")
    return Statements(package, _once([parse(file, pieces) for file in files], what=f"{package}: the statement"))


def parse(source: str, others: Mapping[str, str] | None = None) -> dict[str, str]:
    """Name → text, without the trailing semicolon and without what is said about the statement after it.

    `others` are pieces of other files.
    """
    pieces = {**(others or {}), **_parts(source, "piece")}
    return {name: _USE.sub(functools.partial(_piece, pieces), text) for name, text in _parts(source, "name").items()}


def _once(files: Sequence[Mapping[str, str]], *, what: str) -> dict[str, str]:
    """What is in all of the files; no name stands for two things."""
    found: dict[str, str] = {}
    for file in files:
        for name, text in file.items():
            if name in found:
                raise errors.ConfigError(f"{what} {name} is there twice")
            found[name] = text
    return found


def _parts(source: str, wanted: str) -> dict[str, str]:
    """The statements of a file, or its pieces, as they are written."""
    parts = _HEAD.split(source)
    found = zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    return {name: _statement(body) for what, name, body in found if what == wanted}


def _statement(body: str) -> str:
    lines = body.strip().splitlines()
    while lines and (not lines[-1].strip() or lines[-1].startswith("--")) and not _USE.match(lines[-1]):
        lines.pop()
    return "\n".join(lines).removesuffix(";")


def _piece(pieces: dict[str, str], use: re.Match[str]) -> str:
    try:
        return textwrap.indent(pieces[use[2]], use[1])
    except KeyError:
        raise errors.ConfigError(f"a statement uses {use[2]}, but there is no such piece") from None
