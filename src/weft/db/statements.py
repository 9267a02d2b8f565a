"""Named SQL: `-- name: claim` starts a statement in a folder's `queries.sql` or `queries/*.sql`.

What several statements of a file share stands once, as `-- piece: taken`, and goes where a line says `-- use: taken`.

`SQL = statements.load("weft.queue")` reads them once at import; `SQL.claim` is the text. A test prepares every
statement against the schema and checks that its store uses it.
"""

import functools
import importlib.resources
import re
import textwrap

from weft.base import errors

_HEAD = re.compile(r"^-- (name|piece): (\w+)\s*$", re.MULTILINE)
_USE = re.compile(r"^( *)-- use: (\w+)$", re.MULTILINE)


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
    texts: dict[str, str] = {}
    for source in sources:
        if source.is_file():
            for name, text in parse(source.read_text()).items():
                if name in texts:
                    raise errors.ConfigError(f"{package}: the statement {name} is there twice")
                texts[name] = text
    return Statements(package, texts)


def parse(source: str) -> dict[str, str]:
    """Name → text, without the trailing semicolon and without what is said about the statement after it."""
    parts = _HEAD.split(source)
    texts: dict[str, dict[str, str]] = {"name": {}, "piece": {}}
    for what, name, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        texts[what][name] = _statement(body)
    return {name: _USE.sub(functools.partial(_piece, texts["piece"]), text) for name, text in texts["name"].items()}


def _statement(body: str) -> str:
    lines = body.strip().splitlines()
    while lines and (not lines[-1].strip() or lines[-1].startswith("--")) and not _USE.match(lines[-1]):
        lines.pop()
    return "\n".join(lines).removesuffix(";")


def _piece(pieces: dict[str, str], use: re.Match[str]) -> str:
    try:
        return textwrap.indent(pieces[use[2]], use[1])
    except KeyError:
        raise errors.ConfigError(f"a statement uses {use[2]}, but its file has no such piece") from None
