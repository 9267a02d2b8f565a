"""YAML for definitions: the part of YAML 1.2 that people write by hand, with the place of everything.

In: block and flow maps and lists, plain, quoted and block texts, comments; JSON too, for its places. Out, each refused
by name: anchors and aliases (a few lines of them can mean gigabytes), tags, keys that are not text, several documents,
tabs as indentation, a key twice, numbers that readers of YAML disagree about. Time and memory grow with the text, which
has at most MAX_BYTES.

Our own, because a library is one package more in every installation, and because places are what we need most.
"""

import bisect
import re
from typing import Any, NamedTuple, NoReturn

from weft.base import errors
from weft.dagfile import scalars
from weft.dagfile.scalars import Wrong

MAX_BYTES = 8 * 1024 * 1024
MAX_NODES = 500_000
MAX_DEPTH = 64

_SPACES = re.compile(r" *")
_BLANK = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_PLAIN_KEY = re.compile(
    r"(?![&*!|>%@`\"'{}\[\],#]|[-?:](?:[ \t\n]|\Z))(?:[^\s:#]|:(?=[^\s])|(?<=\S)#|[ \t]+(?![\s#]|:(?:\s|\Z)))+"
)
_PLAIN_IN_FLOW = re.compile(r"(?:[^\s:#,\[\]{}]|:(?=[^\s,\[\]{}])|(?<=\S)#|[ \t]+(?=[^\s#:,\[\]{}]|:(?=[^\s,\[\]{}])))+")
_COLON = re.compile(r"[ \t]*:(?=\s|\Z)")
_DASH = re.compile(r"-(?=\s|\Z)")
_REFUSED = {
    "&": "anchors are not allowed; write the value out where it is needed",
    "*": "aliases are not allowed; if this is text, such as a cron expression, quote it: \"*/5 * * * *\"",
    "!": "tags are not allowed; quote it if it is text",
    "?": "keys must be plain text",
    "%": "directives are not allowed; quote it if it is text",
    "@": "text cannot begin with @; quote it",
    "`": "text cannot begin with `; quote it",
    "|": "a block of text cannot begin here",
    ">": "a block of text cannot begin here",
}


class Located(NamedTuple):
    """A value and where it begins. In maps and lists the values are such, too."""

    value: Any
    offset: int


class Place(NamedTuple):
    line: int
    column: int


class Document:
    """What was read: `value` as plain data, `place` to find something in the text."""

    def __init__(self, text: str, root: Located) -> None:
        self.value = _plain(root)
        self._root = root
        self._lines = _line_starts(text)

    def place(self, path: tuple[str | int, ...]) -> Place:
        """Where the value at a path begins, or the last part of the path that is there."""
        found = self._root
        for part in path:
            try:
                found = found.value[part]
            except (KeyError, IndexError, TypeError):
                break
        return _place(self._lines, found.offset)


def read(text: str) -> Document:
    """The document of a text; InvalidDag says what is wrong with it, and where."""
    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise errors.InvalidDag(f"the definition is larger than {MAX_BYTES // 2**20} MiB; split it, or keep data elsewhere")
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        return Document(plain, _Reader(plain).document())
    except Wrong as wrong:
        line, column = _place(_line_starts(plain), wrong.offset)
        raise errors.InvalidDag(f"line {line}, column {column}: {wrong.message}", line=line, column=column) from None


def _plain(node: Located) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(value) for key, value in node.value.items()}
    return [_plain(value) for value in node.value] if isinstance(node.value, list) else node.value


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer("\n", text))]


def _place(lines: list[int], offset: int) -> Place:
    line = bisect.bisect_right(lines, offset)
    return Place(line, offset - lines[line - 1] + 1)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._nodes = 0
        self._depth = 0

    def document(self) -> Located:
        if self._text.startswith("%"):
            self._refuse(_REFUSED["%"])
        self._next_content()
        if self._marker("---"):
            self._at += 3
            self._next_content()
        root = self._located(None) if self._over() or self._marker("...") else self._block(-1)
        self._next_content()
        if self._marker("..."):
            self._at += 3
            self._next_content()
        if not self._over():
            if self._marker("---"):
                self._refuse("one document is enough")
            self._refuse("this does not belong to what is above it; check its indentation")
        return root

    def _block(self, parent: int) -> Located:
        """Whatever begins here, in block style, inside something indented by `parent`."""
        column = self._column()
        if _DASH.match(self._text, self._at):
            return self._list(column)
        if self._key_ahead():
            return self._map(column)
        return self._scalar(parent)

    def _list(self, column: int) -> Located:
        start, items = self._at, []
        self._enter()
        while True:
            self._at += 1
            items.append(self._value(column, inline=True))
            self._next_content()
            if self._over() or self._column() != column or not _DASH.match(self._text, self._at) or self._marker("---"):
                break
        self._leave(column)
        return self._located(items, start)

    def _map(self, column: int) -> Located:
        start, entries = self._at, dict[str, Located]()
        self._enter()
        while True:
            key = self._key(entries)
            colon = _COLON.match(self._text, self._at)
            assert colon is not None
            self._at = colon.end()
            entries[key] = self._value(column, inline=False)
            self._next_content()
            if self._over() or self._column() != column or self._marker("---") or self._marker("..."):
                break
            if not self._key_ahead():
                self._refuse("a key and a colon are expected here, as above")
        self._leave(column)
        return self._located(entries, start)

    def _value(self, column: int, *, inline: bool) -> Located:
        """What belongs to a dash or a key: on the same line, or on the next ones and further in."""
        start = self._at
        self._skip_blanks()
        if not self._blank():
            if inline:
                return self._block(column)
            if _DASH.match(self._text, self._at):
                self._refuse("a list begins on a line of its own")
            return self._scalar(column)
        self._next_content()
        if not self._over():
            here = self._column()
            if here > column and not self._marker("---"):
                return self._block(column)
            if not inline and here == column and _DASH.match(self._text, self._at) and not self._marker("---"):
                return self._list(here)
        return self._located(None, start)

    def _key_ahead(self) -> bool:
        """Whether a key and its colon begin here, on this line."""
        before = self._at
        try:
            if self._text[before] in "\"'":
                line = self._text.find("\n", before)
                end = scalars.quoted(self._text, before)[1]
                return (line < 0 or end <= line) and _COLON.match(self._text, end) is not None
            found = _PLAIN_KEY.match(self._text, before)
            return found is not None and _COLON.match(self._text, found.end()) is not None
        except Wrong:
            return False  # told when it is read as a text

    def _key(self, entries: dict[str, Located]) -> str:
        start = self._at
        if self._text[start] in "\"'":
            key, self._at = scalars.quoted(self._text, start)
        else:
            found = _PLAIN_KEY.match(self._text, start)
            assert found is not None
            key, self._at = found[0].rstrip(), found.end()
        if key in entries:
            raise Wrong(start, f"the key {key!r} is here twice")
        return key

    def _scalar(self, parent: int) -> Located:
        """A text, a number or a flow collection, with nothing after it on its line."""
        start, first = self._at, self._text[self._at]
        if first in "[{":
            node = self._flow()
        elif first in "\"'":
            value, self._at = scalars.quoted(self._text, start)
            node = self._located(value, start)
        elif first in "|>":
            value, self._at = scalars.block(self._text, start, parent)
            return self._located(value, start)
        else:
            self._plain_ahead()
            value, self._at = scalars.plain(self._text, start, parent)
            return self._located(scalars.resolve(value, start), start)
        self._skip_blanks()
        if not self._blank():
            self._refuse("this cannot follow on the same line; is a comma, a quote or a line break missing?")
        return node

    def _flow(self) -> Located:
        """`[…]` or `{…}`, over as many lines as it likes."""
        start, first = self._at, self._text[self._at]
        self._enter()
        self._at += 1
        items: list[Located] = []
        entries: dict[str, Located] = {}
        closing = "]" if first == "[" else "}"
        while self._flow_content() != closing:
            if closing == "]":
                items.append(self._flow_value())
            else:
                key = self._flow_key(entries)
                entries[key] = self._flow_value()
            if self._flow_content() == ",":
                self._at += 1
            elif self._text[self._at] != closing:
                self._refuse(f"a comma or {closing} is expected here")
        self._at += 1
        self._depth -= 1
        return self._located(items if closing == "]" else entries, start)

    def _flow_key(self, entries: dict[str, Located]) -> str:
        start = self._at
        quoted = self._text[start] in "\"'"
        if quoted:
            key, self._at = scalars.quoted(self._text, start)
        else:
            self._plain_ahead()
            found = _PLAIN_IN_FLOW.match(self._text, start)
            if found is None:
                self._refuse("a key is expected here")
            key, self._at = found[0].rstrip(), found.end()
        if self._flow_content() != ":":
            self._refuse(f"a colon is expected after the key {key!r}")
        self._at += 1
        if key in entries:
            raise Wrong(start, f"the key {key!r} is here twice")
        return key

    def _flow_value(self) -> Located:
        first = self._flow_content()
        start = self._at
        if first in "[{":
            return self._flow()
        if first in "\"'":
            value, self._at = scalars.quoted(self._text, start)
            return self._located(value, start)
        if first in ",]}":
            self._refuse("a value is expected here")
        self._plain_ahead()
        found = _PLAIN_IN_FLOW.match(self._text, start)
        if found is None:
            self._refuse("a value is expected here")
        self._at = found.end()
        return self._located(scalars.resolve(found[0].rstrip(), start), start)

    def _flow_content(self) -> str:
        """The next character that counts, inside brackets."""
        while not self._over():
            blank = _BLANK.match(self._text, self._at)
            if blank is not None and blank.end() > self._at:
                self._at = blank.end()
            elif self._text[self._at] in " \t":
                self._at += 1
            else:
                return self._text[self._at]
        self._refuse("a bracket is not closed")

    def _plain_ahead(self) -> None:
        first, after = self._text[self._at], self._text[self._at + 1 : self._at + 2]
        if (first in _REFUSED and first != "?") or (first == "?" and after in ("", " ", "\n")):
            self._refuse(_REFUSED[first])
        if first in ",]}" or (first in "-:" and after in ("", " ", "\t", "\n")):
            self._refuse(f"{first} is not expected here; quote it if it is text")

    def _next_content(self) -> None:
        """Past blanks and comments to the next line with something in it, or further on this one."""
        while not self._over():
            blank = _BLANK.match(self._text, self._at)
            if blank is None or blank.end() == self._at:
                break
            self._at = blank.end()
        spaces = _SPACES.match(self._text, self._at)
        assert spaces is not None
        self._at = spaces.end()
        if self._text[self._at : self._at + 1] == "\t":
            self._refuse("a tab cannot indent; use spaces")

    def _skip_blanks(self) -> None:
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1

    def _blank(self) -> bool:
        """Whether nothing but a comment follows on this line."""
        following = self._text[self._at : self._at + 1]
        return following in ("", "\n") or (following == "#" and self._text[self._at - 1 : self._at] in ("", " ", "\t", "\n"))

    def _column(self) -> int:
        return self._at - (self._text.rfind("\n", 0, self._at) + 1)

    def _marker(self, marker: str) -> bool:
        if not self._text.startswith(marker, self._at):
            return False
        return self._column() == 0 and self._text[self._at + 3 : self._at + 4] in ("", " ", "\t", "\n")

    def _over(self) -> bool:
        return self._at >= len(self._text)

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._refuse(f"nested deeper than {MAX_DEPTH} levels; flatten it")

    def _leave(self, column: int) -> None:
        """After a block: what follows must be indented less."""
        self._depth -= 1
        if not self._over() and self._column() > column:
            self._refuse("this is indented more than what it belongs to")

    def _located(self, value: Any, start: int | None = None) -> Located:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._refuse(f"more than {MAX_NODES:,} values; split the definition, or keep data elsewhere")
        return Located(value, self._at if start is None else start)

    def _refuse(self, message: str) -> NoReturn:
        raise Wrong(self._at, message)
