"""Values with `${…}` in their texts → expressions.

A text that is one `${…}` becomes its value, whatever type that has; in a longer text it is joined in. `$${` is `${`.
"""

import re
from typing import Any

from weft.dagfile import syntax
from weft.dagfile.syntax import Wrong
from weft.plan.expression import MAX_SIZE, Apply, Expression, List, Map, Value

Path = tuple[str | int, ...]

_BLANKS = re.compile(r"\s*")


class WrongAt(Exception):
    """What is wrong in a text, and the path to it."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path, self.message = path, message


def compile_value(value: Any, path: Path, *, item: str | None = None) -> Expression:
    """A JSON value with references in its texts, as an expression. What has none stays one literal."""
    match value:
        case str():
            return compile_text(value, path, item=item)
        case list():
            items = tuple(compile_value(one, (*path, number), item=item) for number, one in enumerate(value))
            return Value([one.value for one in items if isinstance(one, Value)]) if _literal(items) else List(items)
        case dict():
            entries = {key: compile_value(one, (*path, key), item=item) for key, one in value.items()}
            if _literal(tuple(entries.values())):
                return Value({key: one.value for key, one in entries.items() if isinstance(one, Value)})
            return Map(entries)
        case _:
            return Value(value)


def compile_text(text: str, path: Path, *, item: str | None = None) -> Expression:
    """A text with `${…}` in it."""
    parts: list[Expression] = []
    literal, at = "", 0
    while (found := text.find("${", at)) >= 0:
        if found > at and text[found - 1] == "$":
            literal, at = literal + text[at : found - 1] + "${", found + 2
            continue
        literal += text[at:found]
        if literal:
            parts.append(Value(literal))
        expression, at = _one(text, found + 2, path, item=item)
        parts.append(expression)
        literal = ""
        if len(parts) > MAX_SIZE:
            raise WrongAt(path, f"more than {MAX_SIZE:,} parts in one text; make it elsewhere")
    literal += text[at:]
    if literal or not parts:
        parts.append(Value(literal))
    return parts[0] if len(parts) == 1 else Apply("++", tuple(parts))


def compile_condition(value: Any, path: Path) -> Expression:
    """A condition: true, false, `${…}`, or the expression itself without the braces."""
    if isinstance(value, bool):
        return Value(value)
    if not isinstance(value, str):
        raise WrongAt(path, "a condition is an expression, such as ${params.full == true}")
    if "${" in value:
        return compile_text(value.strip(), path)
    return _whole(value, path)


def _whole(text: str, path: Path) -> Expression:
    try:
        found, end = syntax.parse(text)
        if text[end:].strip():
            raise Wrong(end + 1, "this cannot follow here")
    except Wrong as wrong:
        raise WrongAt(path, f"column {wrong.column} of {_shown(text)}: {wrong.message}") from None
    return found


def _one(text: str, start: int, path: Path, *, item: str | None) -> tuple[Expression, int]:
    try:
        found, end = syntax.parse(text, start=start, item=item)
        blanks = _BLANKS.match(text, end)
        assert blanks is not None
        following = text[blanks.end() : blanks.end() + 1]
        if following != "}":
            raise Wrong(blanks.end() + 1, "} is expected here" if following else "the ${ is not closed: } is missing")
    except Wrong as wrong:
        raise WrongAt(path, f"column {wrong.column} of {_shown(text)}: {wrong.message}") from None
    return found, blanks.end() + 1


def _literal(items: tuple[Expression, ...]) -> bool:
    return all(isinstance(one, Value) for one in items)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:59]}…")
