"""Values against the types of fields: what a run or a block is given, what a task gives back. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from weft.base import errors, json
from weft.base.names import closest
from weft.plan import operators
from weft.plan.evaluate import Scope, evaluate, outputs
from weft.plan.model import Block, Field, Record

SIMPLE = ("string", "integer", "number", "boolean", "map", "any")
_EXACTLY = {"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "map": (dict,)}
"""Types that need no second look: most of what comes back."""
_TYPE = re.compile(r"(\[*)([^\[\]]+)(\]*)")


def names(type_: str) -> str | None:
    """What a type is made of, without its brackets; None if it cannot be read."""
    found = _TYPE.fullmatch(type_)
    return found[2] if found and len(found[1]) == len(found[3]) else None


def bind(
    fields: Sequence[Field], given: Mapping[str, Any], *, records: Mapping[str, Record], outer: Scope | None = None,
    what: str = "param",
) -> dict[str, Any]:  # fmt: skip
    """Every field with its value, defaults filled in; InvalidInput names what is unknown, missing or does not fit."""
    known = [field.name for field in fields]
    for name in given:
        if name not in known:
            raise errors.InvalidInput(f"unknown {what} {name!r}{closest(name, known)}", pointer=f"/{name}")
    bound: dict[str, Any] = {}
    for field in fields:
        if field.name in given:
            value = given[field.name]
        elif field.default is not None:
            value = evaluate(field.default, Scope(params=dict(bound), run=outer.run if outer else {}, outer=outer))
        elif field.nullable:
            value = None
        else:
            raise errors.InvalidInput(f"{what} {field.name!r} is missing, and has no default", pointer=f"/{field.name}")
        problem = next(problems(field, value, records=records), None)
        if problem is not None:
            pointer, message = problem
            raise errors.InvalidInput(f"{what} {field.name!r}: {message}", pointer=f"/{field.name}{pointer}")
        bound[field.name] = value
    return bound


def returned(fields: Sequence[Field], value: Any, *, records: Mapping[str, Record]) -> dict[str, Any]:
    """What a task gave back, defaults filled in and more than was asked for kept; InvalidInput says what does not fit."""
    if not isinstance(value, dict):
        raise errors.InvalidInput(f"the result must be a map of {', '.join(field.name for field in fields) or 'nothing'}, "
                                  f"not {operators.described(value)}")  # fmt: skip
    if (wanted := exactly(fields)) is not None and is_exactly(wanted, value):
        return value
    known = {field.name: field.type for field in fields}
    asked = {
        name: _read(known[name], one, records, what=f"return {name!r}") for name, one in value.items() if name in known
    }
    return value | bind(fields, asked, records=records, what="return")


def exactly(fields: Sequence[Field]) -> tuple[tuple[str, tuple[type, ...]], ...] | None:
    """What each field must be an instance of; None if it takes a second look at some."""
    if any(field.type not in _EXACTLY or _is_bounded(field) for field in fields):
        return None
    return tuple((field.name, _EXACTLY[field.type]) for field in fields)


def is_exactly(wanted: Sequence[tuple[str, tuple[type, ...]]], value: Any) -> bool:
    """Whether a map has all that is wanted, as it is wanted, so that nothing of it need be read or filled in."""
    return type(value) is dict and all([type(value.get(name)) in types for name, types in wanted])


def given_back(block: Block, scope: Scope, *, records: Mapping[str, Record]) -> dict[str, Any]:
    """A block's outputs; InvalidInput says which is not of its type."""
    return typed(block.gives, outputs(block.outputs, scope), records=records, what="return")


def typed(
    wanted: Mapping[str, str], given: dict[str, Any], *, records: Mapping[str, Record], what: str
) -> dict[str, Any]:
    """What is given, as its types want it; InvalidInput if something that is given, and not null, is of another type."""
    for name, type_ in wanted.items():
        found = given.get(name)
        if found is None or type(found) in _EXACTLY.get(type_, ()):
            continue
        value = given[name] = _read(type_, given[name], records, what=f"{what} {name!r}")
        for pointer, message in _unfit(type_, value, records, ""):
            raise errors.InvalidInput(f"{what} {name!r}: {message}", pointer=f"/{name}{pointer}")
    return given


def _read(type_: str, value: Any, records: Mapping[str, Record], *, what: str) -> Any:
    """A list or record that somebody gave as JSON text, as scripts and models do, is what the text says, if that can be
    stored; one where a text is wanted is spelled out, as `++` does it.
    """
    if type_ == "string" and isinstance(value, dict | list):
        return operators.spelled(value)
    if isinstance(value, str) and (type_.startswith("[") or type_ in records) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.parsed(value, what=what)
        except ValueError:
            return value  # no JSON: a text, which does not fit
    return value


def problems(field: Field, value: Any, *, records: Mapping[str, Record]) -> Iterator[tuple[str, str]]:
    """What does not fit, each with its JSON pointer inside the value."""
    if value is None and (field.nullable or field.type == "any"):
        return
    yield from _unfit(field.type, value, records, "")
    if field.choices and not any(operators.equal(value, choice) for choice in field.choices):
        yield "", f"{operators.spelled(value)} is none of {', '.join(operators.spelled(one) for one in field.choices)}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        if field.minimum is not None and value < field.minimum:
            yield "", f"{value} is less than {field.minimum:g}"
        if field.maximum is not None and value > field.maximum:
            yield "", f"{value} is more than {field.maximum:g}"


def _is_bounded(field: Field) -> bool:
    return bool(field.choices) or field.minimum is not None or field.maximum is not None


def _unfit(type_: str, value: Any, records: Mapping[str, Record], at: str) -> Iterator[tuple[str, str]]:
    if type_.startswith("["):
        if not isinstance(value, list):
            yield at, f"must be a list ({type_}), not {operators.described(value)}"
            return
        for number, one in enumerate(value):
            yield from _unfit(type_[1:-1], one, records, f"{at}/{number}")
    elif type_ in records:
        if not isinstance(value, dict):
            yield at, f"must be of type {type_}, not {operators.described(value)}"
            return
        for field in records[type_].fields:
            if field.name in value:
                yield from ((f"{at}/{field.name}{rest}", message)
                            for rest, message in problems(field, value[field.name], records=records))  # fmt: skip
            elif field.default is None and not field.nullable:
                yield at, f"the field {field.name!r} of {type_} is missing"
    elif not _is(type_, value):
        yield at, f"must be of type {type_}, not {operators.described(value)}"


def _is(type_: str, value: Any) -> bool:
    match type_:
        case "any":
            return True
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return _is("number", value) and (isinstance(value, int) or value.is_integer())
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "map":
            return isinstance(value, dict)
        case _:
            return False
