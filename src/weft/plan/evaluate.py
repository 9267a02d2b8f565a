"""An expression's value: a small interpreter without loops, bounded in steps and in size. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from weft.base import errors
from weft.base.names import closest
from weft.plan import operators
from weft.plan.expression import (
    Apply,
    Expression,
    Get,
    Index,
    List,
    Map,
    Output,
    Param,
    Part,
    Pluck,
    Run,
    Secret,
    Value,
)  # fmt: skip
from weft.plan.operators import Absent, Unfilled

BUDGET = 1_000_000
"""Steps of one evaluation, and characters and elements that it makes."""
MAX_ELEMENTS = 100_000


class Known(msgspec.Struct, frozen=True):
    """What a node came to."""

    state: str
    output: Any = None
    error: Any = None


class Scope(msgspec.Struct, frozen=True):
    """What an expression may name: a block's params and its nodes that have ended, then the same of the block around."""

    params: Mapping[str, Any] = {}
    nodes: Mapping[str, Known] = {}
    run: Mapping[str, Any] = {}
    outer: "Scope | None" = None

    def inside(self, params: Mapping[str, Any], nodes: Mapping[str, Known] | None = None) -> "Scope":
        """A scope that sees this one too."""
        return Scope(params=params, nodes=nodes or {}, run=self.run, outer=self)


def evaluate(expression: Expression, scope: Scope, *, budget: int = BUDGET) -> Any:
    """The value; ExpressionFailed says why there is none, Absent if only because something is not there."""
    return _Evaluation(scope, budget).of(expression)


def condition(expression: Expression, scope: Scope) -> bool:
    """A value that must be true or false."""
    return operators.truth(evaluate(expression, scope), "a condition")


def elements(expression: Expression, scope: Scope) -> list[Any]:
    """What foreach goes through: a list's elements, a map's keys, a text's characters; of null nothing."""
    value = evaluate(expression, scope)
    if value is None:
        return []
    if not isinstance(value, list | dict | str):
        raise errors.ExpressionFailed(f"foreach needs a list, a map or a text, not {operators.described(value)}")
    if len(value) > MAX_ELEMENTS:
        raise errors.ExpressionFailed(f"foreach over {len(value):,} elements; the most is {MAX_ELEMENTS:,}")
    return list(value)


def outputs(entries: Mapping[str, Expression], scope: Scope) -> dict[str, Any]:
    """A block's outputs: what nobody gave, because a node was skipped or yielded nothing, is left out."""
    found = {}
    for name, expression in entries.items():
        try:
            found[name] = evaluate(expression, scope)
        except Unfilled:
            continue
    return found


class _Evaluation:
    def __init__(self, scope: Scope, budget: int) -> None:
        self._scope = scope
        self._budget = budget

    def of(self, one: Expression) -> Any:
        self._spend(1)
        match one:
            case Value():
                return one.value
            case Param():
                return self._param(one.name)
            case Output():
                return self._output(one.node, one.part)
            case Run():
                return _key(self._scope.run, one.fact, what="the run")
            case Secret():
                return f"${{secrets.{one.name}}}"
            case Get():
                return _field(self.of(one.base), one.key, absent=Unfilled if _of_node(one.base) else Absent)
            case Index():
                return _element(self.of(one.base), self.of(one.index))
            case Pluck():
                return self._pluck(self.of(one.base), one.key)
            case List():
                return [self.of(item) for item in one.items]
            case Map():
                return {key: self.of(value) for key, value in one.entries.items()}
            case Apply():
                return self._apply(one)

    def _apply(self, one: Apply) -> Any:
        match one.operator, one.arguments:
            case "and", (left, right):
                return operators.truth(self.of(left), "&&") and operators.truth(self.of(right), "&&")
            case "or", (left, right):
                return operators.truth(self.of(left), "||") or operators.truth(self.of(right), "||")
            case "default", (wanted, *others):
                return self._default(wanted, others)
            case "present", (*wanted, last):
                return self._present(wanted, last)
            case _:
                values = [self.of(argument) for argument in one.arguments]
                result = operators.apply(one.operator, values)
                self._spend(len(result) if isinstance(result, str | dict) else 0)
                return result

    def _default(self, wanted: Expression, others: list[Expression]) -> Any:
        """The first that is there and not null; null only if the last is."""
        try:
            value = self.of(wanted)
        except Absent:
            if not others:
                raise
            value = None
        return self._default(others[0], others[1:]) if value is None and others else value

    def _present(self, wanted: list[Expression], last: Expression) -> Any:
        """The first that somebody gave, be it null."""
        for one in wanted:
            try:
                return self.of(one)
            except Unfilled:
                continue
        return self.of(last)

    def _param(self, name: str) -> Any:
        scope: Scope | None = self._scope
        while scope is not None:
            if name in scope.params:
                return scope.params[name]
            scope = scope.outer
        raise Unfilled(f"there is no param {name!r}{closest(name, self._scope.params)}")

    def _output(self, name: str, part: Part) -> Any:
        scope: Scope | None = self._scope
        while scope is not None:
            if name in scope.nodes:
                known = scope.nodes[name]
                if part != "output":
                    return known.state if part == "state" else known.error
                if known.state != "completed":
                    raise Unfilled(f"{name!r} has no output: it is {known.state}")
                return known.output
            scope = scope.outer
        raise Unfilled(f"{name!r} has no output: it has not ended")

    def _pluck(self, value: Any, key: str) -> list[Any]:
        if not isinstance(value, list):
            raise errors.ExpressionFailed(f"{key!r} of every element needs a list, not {operators.described(value)}")
        self._spend(len(value))
        return [one[key] for one in value if isinstance(one, dict) and key in one]

    def _spend(self, cost: int) -> None:
        self._budget -= cost
        if self._budget < 0:
            raise errors.ExpressionFailed("the expression takes too many steps or makes too large a value; do less in it")


def _of_node(base: Expression) -> bool:
    """Whether this is what a node came to: itself, or one inside of it that is handed out as `@name`."""
    if isinstance(base, Get) and base.key.startswith("@"):
        base = base.base
    return isinstance(base, Output)


def _key(value: Mapping[str, Any], key: str, *, what: str, absent: type[Absent] = Absent) -> Any:
    if key not in value:
        # the others are handed on between blocks, and nobody's to name
        known = [name for name in value if "^" not in name and not name.startswith("@")]
        raise absent(f"{what} has no field {key!r}{closest(key, known)}")
    return value[key]


def _field(value: Any, key: str, *, absent: type[Absent]) -> Any:
    if not isinstance(value, dict):
        raise (absent if value is None else errors.ExpressionFailed)(
            f"there is no field {key!r} in {operators.described(value)}"
        )
    return _key(value, key, what="the map", absent=absent)


def _element(value: Any, index: Any) -> Any:
    if isinstance(value, dict) and isinstance(index, str):
        return _key(value, index, what="the map")
    if isinstance(value, list) and isinstance(index, int) and not isinstance(index, bool):
        if not 0 <= index < len(value):
            raise Absent(f"there is no element {index}: the list has {len(value)}")
        return value[index]
    raise errors.ExpressionFailed(f"{operators.described(index)} is no index of {operators.described(value)}")
