"""Expressions as they are written → expressions of a plan, with their types."""

from weft.afl import fitting
from weft.afl.program import ANY
from weft.afl.references import References, Typed
from weft.afl.scope import Scope
from weft.afl.syntax import (
    Attribute,
    Binary,
    Chain,
    Expression,
    ListOf,
    Literal_,
    MapOf,
    Reference,
    Subscript,
    Unary,
)  # fmt: skip
from weft.plan import expression as plan
from weft.plan.expression import Apply, Index, Value, parts
from weft.plan.expression import List as Listed
from weft.plan.expression import Map as Mapped
from weft.plan.expression import Operator as PlanOperator

_LITERAL = {str: "String", bool: "Boolean", int: "Long", float: "Double", type(None): fitting.NULL}
_JOINED: dict[str, PlanOperator] = {"&&": "and", "||": "or"}


class Values(References):
    def value(self, one: Expression, scope: Scope) -> Typed:
        match one:
            case Literal_():
                return Value(one.value), _LITERAL[type(one.value)]
            case Reference():
                return self.reference(one, scope)
            case Attribute():
                alone = isinstance(one.base, Reference) and not one.base.dollar
                return self.attribute(one, scope, None if alone else self.value(one.base, scope))
            case Subscript():
                return self._subscript(one, scope)
            case ListOf():
                items = [self.value(item, scope) for item in one.items]
                return folded(Listed(tuple(item for item, _ in items))), f"[{fitting.common([kind for _, kind in items])}]"
            case MapOf():
                return self._map(one, scope)
            case Unary():
                return self._unary(one, scope)
            case Binary():
                return self._binary(one, scope)
            case Chain():
                return self._chain(one, scope)

    def wanted(self, wanted: str, one: Expression, scope: Scope) -> Typed:
        """As `value`; but what `++` joins where a list is wanted is a list of it, and of the elements of what are lists."""
        if not (wanted.startswith("[") and isinstance(one, Chain) and one.operator == "++"):
            return self.value(one, scope)
        items: list[plan.Expression] = []
        types: list[str] = []
        alone = False
        for operand in one.operands:
            expression, type_ = self.wanted(wanted, operand, scope)
            if fitting.lists(type_) >= fitting.lists(wanted):
                type_ = fitting.single(type_[1:-1])
            elif type_ not in ("Json", ANY):
                alone, expression = True, Listed((expression,))
            items.append(expression)
            types.append(type_)
        if alone:
            message = f"++ joins texts; as {fitting.called(wanted)} is wanted, it makes a list here"
            self.tell("made-list", message, one.start, one.end, "write [a, b] instead of a ++ b")
        return Apply("flatten", (Listed(tuple(items)),)), f"[{fitting.common(types)}]"

    def condition(self, one: Expression, scope: Scope) -> plan.Expression:
        expression, type_ = self.value(one, scope)
        if not fitting.boolean(type_):
            message = f"a condition must be true or false, not {fitting.called(type_)}"
            self.tell("condition-type", message, one.start, one.end, "compare it with something")
        return expression

    def fit(self, wanted: str, given: str, what: str, one: Expression) -> None:
        """Tells it if a value does not fit."""
        rule = fitting.verdict(wanted, given)
        if rule:
            message = f"{what} wants {fitting.called(wanted)}, not {fitting.called(given)}"
            hint = fitting.hint(wanted, given)
            self.tell(rule, message, one.start, one.end, hint if "quotes" not in hint or isinstance(one, Literal_) else "")

    def _map(self, one: MapOf, scope: Scope) -> Typed:
        entries: dict[str, plan.Expression] = {}
        for key, value in one.entries:
            if key.text in entries:
                self.tell("duplicate-key", f"the key {key.text!r} is there twice", key.start, key.end, "remove one")
            entries[key.text] = self.value(value, scope)[0]
        return folded(Mapped(entries)), "Json"

    def _subscript(self, one: Subscript, scope: Scope) -> Typed:
        base, type_ = self.value(one.base, scope)
        index, index_type = self.value(one.index, scope)
        wanted: tuple[str, ...]
        if type_.startswith("["):
            wanted, found = ("Long",), fitting.single(type_[1:-1])
        elif type_ in ("Json", ANY):
            wanted, found = ("Long", "String"), ANY
        elif fitting.is_record(type_):
            wanted, found = ("String",), ANY
        else:
            self.tell("operator-type", f"a {fitting.called(type_)} has no elements", one.start, one.end)
            return plan.NOTHING, ANY
        if all(fitting.verdict(kind, index_type) for kind in wanted):
            what = "a number" if wanted[0] == "Long" else "a text"
            message = f"the index must be {what}, not {fitting.called(index_type)}"
            self.tell("operator-type", message, one.index.start, one.index.end)
        return Index(base, index), found

    def _unary(self, one: Unary, scope: Scope) -> Typed:
        expression, type_ = self.value(one.operand, scope)
        if one.operator == "!":
            if not fitting.boolean(type_):
                self.tell("operator-type", f"! needs true or false, not {fitting.called(type_)}", one.start, one.end)
            return Apply("not", (expression,)), "Boolean"
        if fitting.arithmetic("-", type_, "Int") is None:
            self.tell("operator-type", f"{one.operator} needs a number, not {fitting.called(type_)}", one.start, one.end)
        if one.operator == "+":
            return Apply("+", (Value(0), expression)), type_
        return Apply("negate", (expression,)), type_

    def _binary(self, one: Binary, scope: Scope) -> Typed:
        left, left_type = self.value(one.left, scope)
        right, right_type = self.value(one.right, scope)
        said = f"{fitting.called(left_type)} and {fitting.called(right_type)}"
        if one.operator in ("+", "-", "*", "/", "%"):
            found = fitting.arithmetic(one.operator, left_type, right_type)
            if found is None:
                hint = "++ joins texts" if one.operator == "+" and "String" in (left_type, right_type) else ""
                self.tell("operator-type", f"{one.operator} needs numbers, not {said}", one.start, one.end, hint)
            return Apply(one.operator, (left, right)), found or ANY  # type: ignore[arg-type]
        if not fitting.comparable(one.operator, left_type, right_type):
            message = f"{one.operator} compares numbers or texts, not {said}"
            self.tell("operator-type", message, one.start, one.end)
        return Apply(one.operator, (left, right)), "Boolean"  # type: ignore[arg-type]

    def _chain(self, one: Chain, scope: Scope) -> Typed:
        operands = [self.value(operand, scope) for operand in one.operands]
        if one.operator == "++":
            return Apply("++", tuple(expression for expression, _ in operands)), "String"
        for (_, type_), written in zip(operands, one.operands, strict=True):
            if not fitting.boolean(type_):
                message = f"{one.operator} needs true or false, not {fitting.called(type_)}"
                self.tell("operator-type", message, written.start, written.end, "compare it with something")
        return balanced(_JOINED[one.operator], [expression for expression, _ in operands]), "Boolean"


def balanced(operator: PlanOperator, operands: list[plan.Expression]) -> plan.Expression:
    """A chain as a tree of little depth. `and` and `or` go from left to right in it all the same."""
    if len(operands) == 1:
        return operands[0]
    middle = len(operands) // 2
    return Apply(operator, (balanced(operator, operands[:middle]), balanced(operator, operands[middle:])))


def folded(made: Listed | Mapped) -> plan.Expression:
    """A list or map of nothing but values is a value."""
    if not all(isinstance(one, Value) for one in parts(made)):
        return made
    if isinstance(made, Listed):
        return Value([one.value for one in made.items if isinstance(one, Value)])
    return Value({key: one.value for key, one in made.entries.items() if isinstance(one, Value)})


def constant(one: Expression) -> bool:
    """Whether an expression names nothing."""
    stack = [one]
    while stack:
        match stack.pop():
            case Reference():
                return False
            case Attribute(base=base):
                stack.append(base)
            case Subscript(base=base, index=index):
                stack += [base, index]
            case ListOf(items=items):
                stack += items
            case MapOf(entries=entries):
                stack += [value for _, value in entries]
            case Unary(operand=operand):
                stack.append(operand)
            case Binary(left=left, right=right):
                stack += [left, right]
            case Chain(operands=operands):
                stack += operands
            case _:
                pass
    return True
