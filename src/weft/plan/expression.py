"""What can be said in a plan where a value is needed. Data, not text: each front end has a syntax of its own.

As JSON an expression is a list with its word in front: `["get", ["output", "extract"], "rows"]`.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

Operator = Literal[
    "or", "and", "not", "==", "!=", ">=", "<=", ">", "<", "++", "+", "-", "*", "/", "%", "negate", "default", "last",
    "present", "merge", "flatten", "length", "contains",
]  # fmt: skip

Part = Literal["output", "state", "error"]

MAX_DEPTH = 64
MAX_SIZE = 20_000
"""Parts of one expression."""


class Value(msgspec.Struct, frozen=True, array_like=True, tag="value"):
    """Any JSON value, as it stands."""

    value: Any


class Param(msgspec.Struct, frozen=True, array_like=True, tag="param"):
    """A param of the block, or of one it is written in; the element, where a node has foreach."""

    name: str


class Output(msgspec.Struct, frozen=True, array_like=True, tag="output"):
    """What a node of the block, or of one it is written in, came to."""

    node: str
    part: Part = "output"


class Run(msgspec.Struct, frozen=True, array_like=True, tag="run"):
    """A fact about the run: its id, for when it was scheduled."""

    fact: str


class Secret(msgspec.Struct, frozen=True, array_like=True, tag="secret"):
    """A secret's place. Its value is never here: only whoever runs the task puts it in."""

    name: str


class Get(msgspec.Struct, frozen=True, array_like=True, tag="get"):
    """A field of a map."""

    base: "Expression"
    key: str


class Index(msgspec.Struct, frozen=True, array_like=True, tag="index"):
    """An element of a list by its number, or of a map by its key."""

    base: "Expression"
    index: "Expression"


class Pluck(msgspec.Struct, frozen=True, array_like=True, tag="pluck"):
    """The field of every map of a list that has it."""

    base: "Expression"
    key: str


class List(msgspec.Struct, frozen=True, array_like=True, tag="list"):
    items: tuple["Expression", ...]


class Map(msgspec.Struct, frozen=True, array_like=True, tag="map"):
    entries: dict[str, "Expression"]


class Apply(msgspec.Struct, frozen=True, array_like=True, tag="apply"):
    """An operator and what it is applied to."""

    operator: Operator
    arguments: tuple["Expression", ...]


Expression = Value | Param | Output | Run | Secret | Get | Index | Pluck | List | Map | Apply

NOTHING = Value(None)


def parts(expression: Expression) -> tuple[Expression, ...]:
    """What an expression is made of directly."""
    match expression:
        case Get() | Pluck():
            return (expression.base,)
        case Index():
            return (expression.base, expression.index)
        case List():
            return expression.items
        case Map():
            return tuple(expression.entries.values())
        case Apply():
            return expression.arguments
        case _:
            return ()


def walk(expression: Expression) -> Iterator[tuple[Expression, int]]:
    """All of an expression, each part with its depth. Without recursion: a hostile one may be deep."""
    stack = [(expression, 1)]
    while stack:
        one, depth = stack.pop()
        yield one, depth
        stack.extend((inner, depth + 1) for inner in parts(one))


def secrets(expression: Expression) -> dict[str, tuple[str, ...]]:
    """Where secrets go: JSON pointer → the names that may be filled in there.

    Known before anything is evaluated, so that a `${secrets.…}` that arrives as data is never taken for one.
    """
    found: dict[str, tuple[str, ...]] = {}
    stack = [("", expression)]
    while stack:
        pointer, one = stack.pop()
        if isinstance(one, Map):
            stack.extend((f"{pointer}/{escaped(key)}", inner) for key, inner in one.entries.items())
        elif isinstance(one, List):
            stack.extend((f"{pointer}/{number}", inner) for number, inner in enumerate(one.items))
        elif names := sorted({inner.name for inner, _ in walk(one) if isinstance(inner, Secret)}):
            found[pointer] = tuple(names)
    return found


def escaped(key: str) -> str:
    """A key as a JSON pointer spells it."""
    return key.replace("~", "~0").replace("/", "~1")
