"""What the operators of expressions do. Strict: nothing is turned into another type but by `++`.

`1 == true` is false, `+` adds numbers only, and a zero divisor, a number beyond 64 bits or one that is not finite is
an error with its reason.
"""

import math
import operator
from collections.abc import Callable
from typing import Any, NoReturn

from weft.base import errors, json

_LARGEST = 2**63 - 1

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Absent(errors.ExpressionFailed):
    """There is nothing there. `default` gives something else instead."""


class Unfilled(Absent):
    """Nobody gave it: a node was skipped, or its block did not come to it. Outputs and `present` do without it; that a value
    has no such part is an error to them."""


def apply(name: str, values: list[Any]) -> Any:
    """The value of an operator, all of whose arguments are known."""
    match name, values:
        case "==", [left, right]:
            return equal(left, right)
        case "!=", [left, right]:
            return not equal(left, right)
        case ("<" | "<=" | ">" | ">="), [left, right]:
            return _compare(name, left, right)
        case "++", _:
            return "".join(spelled(value) for value in values)
        case ("+" | "-" | "*" | "/" | "%"), [left, right]:
            return _calculate(name, left, right)
        case "negate", [value]:
            return -_number("-", value)
        case "not", [value]:
            return not truth(value, "!")
        case "length", [str() | list() | dict() as value]:
            return len(value)
        case "contains", [list() as value, wanted]:
            return any(equal(one, wanted) for one in value)
        case "contains", [str() | dict() as value, str() as wanted]:
            return wanted in value
        case "last", [list() as value]:
            if not value:
                raise Unfilled("the list is empty")
            return value[-1]
        case "flatten", [list() as value]:
            return [inner for one in value for inner in (one if isinstance(one, list) else [one])]
        case "merge", _ if all(value is None or isinstance(value, dict) for value in values):
            return {key: inner for value in values if value is not None for key, inner in value.items()}
        case _:
            return _unfit(name, values)


def truth(value: Any, what: str) -> bool:
    """`value`, which must be true or false."""
    if not isinstance(value, bool):
        raise errors.ExpressionFailed(f"{what} needs true or false, not {described(value)}; compare it with something")
    return value


def equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same: 1 and 1.0 are, 1 and true are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return bool(left == right)


def spelled(value: Any) -> str:
    """A value inside a text: text as it is, anything else as JSON spells it."""
    return value if isinstance(value, str) else json.dumps(value).decode()


def described(value: Any) -> str:
    """A value in a message: what it is, and itself if it is short."""
    match value:
        case None | bool():
            return spelled(value)
        case str():
            return f"the text {value!r}" if len(value) <= 40 else f"a text of {len(value)} characters"
        case int() | float():
            return f"the number {value}"
        case list():
            return f"a list of {len(value)}"
        case dict():
            return f"a map of {len(value)}"
        case _:
            return f"a {type(value).__name__}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compare(name: str, left: Any, right: Any) -> bool:
    if (_is_number(left) and _is_number(right)) or (isinstance(left, str) and isinstance(right, str)):
        return _COMPARE[name](left, right)
    return _unfit(name, [left, right])


def _calculate(name: str, left: Any, right: Any) -> Any:
    left, right = _number(name, left), _number(name, right)
    try:
        match name:
            case "+":
                result = left + right
            case "-":
                result = left - right
            case "*":
                result = left * right
            case "/":
                result = left / right
            case _:
                result = left % right
    except ZeroDivisionError:
        raise errors.ExpressionFailed(f"{left} {name} 0: the divisor is zero") from None
    except OverflowError:
        result = math.inf
    fits = math.isfinite(result) if isinstance(result, float) else abs(result) <= _LARGEST
    if not fits:
        raise errors.ExpressionFailed(f"{left} {name} {right} is too large a number")
    return result


def _number(name: str, value: Any) -> Any:
    if not _is_number(value):
        joined = "; `++` joins text" if name == "+" and isinstance(value, str) else ""
        raise errors.ExpressionFailed(f"{name} needs numbers, not {described(value)}{joined}")
    return value


def _unfit(name: str, values: list[Any]) -> NoReturn:
    raise errors.ExpressionFailed(f"{name} cannot be applied to {' and '.join(described(value) for value in values)}")
