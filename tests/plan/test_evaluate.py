"""Expressions: values, what is strict, what is absent, and limits."""

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.base import errors
from weft.plan import evaluate, expression, operators
from weft.plan.evaluate import Known, Scope
from weft.plan.expression import (
    Apply,
    Expression,
    Get,
    Index,
    List,
    Map,
    Operator,
    Output,
    Param,
    Pluck,
    Run,
    Secret,
    Value,
)

SCOPE = Scope(
    params={"day": "2026-01-02", "n": 7, "none": None},
    nodes={"extract": Known("completed", {"rows": [{"id": 1}, {"x": 2}, {"id": 3}]}),
           "load": Known("failed", error={"message": "disk full"}), "skip": Known("skipped")},
    run={"id": "r1"},
    outer=Scope(params={"n": 1, "outer": True}, nodes={"before": Known("completed", 5)}),
)  # fmt: skip


def op(name: Operator, *values: Any) -> Apply:
    return Apply(name, tuple(
        one if isinstance(one, get_args(Expression)) else Value(one) for one in values))  # fmt: skip


GOOD: list[tuple[Expression, Any]] = [
    (Value({"a": [1]}), {"a": [1]}),
    (Param("n"), 7),
    (Param("outer"), True),
    (Output("before"), 5),
    (Output("load", "state"), "failed"),
    (Get(Output("load", "error"), "message"), "disk full"),
    (Run("id"), "r1"),
    (Secret("KEY"), "${secrets.KEY}"),
    (Index(Get(Output("extract"), "rows"), Value(2)), {"id": 3}),
    (Index(Value({"a b": 1}), Value("a b")), 1),
    (Pluck(Get(Output("extract"), "rows"), "id"), [1, 3]),
    (List((Value(1), Param("n"))), [1, 7]),
    (Map({"x": Param("n")}), {"x": 7}),
    (op("+", 1, 2), 3), (op("-", 1, 2.5), -1.5), (op("*", 3, 4), 12), (op("/", 1, 2), 0.5), (op("/", 4, 2), 2.0),
    (op("%", -7, 3), 2), (op("negate", 3), -3),
    (op("==", 1, True), False), (op("==", 1, 1.0), True), (op("==", [1, {"a": False}], [1, {"a": 0}]), False),
    (op("==", None, None), True), (op("!=", "1", 1), True), (op("==", {"a": 1}, {"a": 1, "b": 2}), False),
    (op("<", "a", "b"), True), (op(">=", 2, 2), True),
    (op("and", False, op("/", 1, 0)), False), (op("or", True, op("/", 1, 0)), True), (op("not", False), True),
    (op("++", "a", 1, None, True, [1], {"b": 2}), 'a1nulltrue[1]{"b":2}'),
    (op("default", Output("skip"), 4), 4), (op("default", Output("never"), None), None),
    (op("default", Param("none"), Param("nobody"), 2), 2), (op("default", Get(Param("none"), "x"), 3), 3),
    (op("last", [1, 2]), 2), (op("length", "abc"), 3), (op("length", {"a": 1}), 1),
    (op("contains", [1, 2], 2.0), True), (op("contains", [1], True), False), (op("contains", "abc", "b"), True),
    (op("contains", {"a": 1}, "a"), True), (op("merge", {"a": 1, "b": 1}, None, {"a": 2}), {"a": 2, "b": 1}),
    (op("flatten", [[1, 2], [], 3]), [1, 2, 3]),
]  # fmt: skip


@pytest.mark.parametrize(("one", "value"), GOOD, ids=[str(one)[:70] for one, _ in GOOD])
def test_a_value(one: Expression, value: Any) -> None:
    found = evaluate.evaluate(one, SCOPE)
    assert found == value and type(found) is type(value)


BAD: list[tuple[Expression, str]] = [
    (op("/", 1, 0), "the divisor is zero"), (op("%", 1, 0), "the divisor is zero"),
    (op("+", "a", 1), "needs numbers, not the text 'a'; `++` joins text"), (op("+", True, 1), "needs numbers, not true"),
    (op("<", 1, "a"), "cannot be applied to the number 1 and the text 'a'"), (op("<", None, None), "cannot be applied"),
    (op("and", 1, True), "&& needs true or false, not the number 1"), (op("not", None), "needs true or false, not null"),
    (op("*", 2**62, 4), "too large a number"), (op("*", 1e308, 10), "too large a number"),
    (op("length", 3), "length cannot be applied"), (op("+", 1), "cannot be applied"), (op("merge", 3), "merge"),
    (Index(Value([1]), Value(1)), "there is no element 1: the list has 1"), (Index(Value([1]), Value(-1)), "no element -1"),
    (Index(Value([1]), Value("a")), "is no index of a list"), (Get(Value([1]), "a"), "no field 'a' in a list of 1"),
    (Get(Value({"rows": 1}), "row"), "no field 'row'; did you mean 'rows'?"), (Get(Param("none"), "x"), "in null"),
    (Output("skip"), "'skip' has no output: it is skipped"), (Output("never"), "it has not ended"),
    (Output("load"), "it is failed"), (Param("dya"), "no param 'dya'; did you mean 'day'?"), (Run("name"), "the run has no"),
    (Pluck(Value(3), "x"), "needs a list"), (op("last", []), "the list is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "message"), BAD, ids=[message[:50] for _, message in BAD])
def test_what_has_no_value_says_why(one: Expression, message: str) -> None:
    with pytest.raises(errors.ExpressionFailed) as caught:
        evaluate.evaluate(one, SCOPE)
    assert message in caught.value.message


def test_an_error_is_not_hidden_by_default() -> None:
    with pytest.raises(errors.ExpressionFailed, match="zero"):
        evaluate.evaluate(op("default", op("/", 1, 0), 3), SCOPE)


@pytest.mark.parametrize(("value", "found"), [
    ([1, None], [1, None]), ({"a": 1, "b": 2}, ["a", "b"]), ("hé", ["h", "é"]), (None, []), ([], []),
])  # fmt: skip
def test_what_foreach_goes_through(value: Any, found: list[Any]) -> None:
    assert evaluate.elements(Value(value), SCOPE) == found


@pytest.mark.parametrize("value", [3, True, 1.5, [0] * (evaluate.MAX_ELEMENTS + 1)], ids=lambda value: str(value)[:10])
def test_what_foreach_refuses(value: Any) -> None:
    with pytest.raises(errors.ExpressionFailed, match="foreach"):
        evaluate.elements(Value(value), SCOPE)


def test_outputs_leave_out_what_is_absent() -> None:
    assert evaluate.outputs({"a": Output("skip"), "b": Param("n")}, SCOPE) == {"b": 7}


def test_an_expression_cannot_grow_without_end() -> None:
    big: Expression = Value("x" * 1000)
    for _ in range(30):
        big = op("++", big, big)
    with pytest.raises(errors.ExpressionFailed, match="too many steps or makes too large a value"):
        evaluate.evaluate(big, SCOPE)


def test_secrets_are_found_by_place_before_anything_is_evaluated() -> None:
    header = op("++", "Bearer ", Secret("TOKEN"), Param("n"))
    args = Map({"headers": Map({"a/b": header}), "body": List((Value("${secrets.OTHER}"), Secret("KEY"))), "x": Param("n")})
    assert expression.secrets(args) == {"/headers/a~1b": ("TOKEN",), "/body/1": ("KEY",)}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=6,
)  # fmt: skip
NAMES = st.sampled_from(["n", "day", "extract", "load", "skip", "nobody", "id", "rows"])
EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(
    st.builds(Value, JSON) | st.builds(Param, NAMES) | st.builds(Output, NAMES) | st.builds(Run, NAMES),
    lambda inner: st.builds(Get, inner, NAMES) | st.builds(Index, inner, inner) | st.builds(Pluck, inner, NAMES)
    | st.builds(List, st.lists(inner, max_size=3).map(tuple)) | st.builds(Map, st.dictionaries(NAMES, inner, max_size=3))
    | st.builds(Apply, st.sampled_from(get_args(Operator)), st.lists(inner, max_size=3).map(tuple)),
    max_leaves=12,
)  # fmt: skip


@settings(deadline=None)
@given(EXPRESSIONS)
def test_any_expression_has_a_json_value_or_a_reason(one: Expression) -> None:
    try:
        found = evaluate.evaluate(one, SCOPE)
    except errors.ExpressionFailed as error:
        assert error.message
    else:
        assert operators.equal(msgspec.json.decode(msgspec.json.encode(found)), found)


@settings(deadline=None)
@given(EXPRESSIONS)
def test_any_expression_is_the_same_after_its_json(one: Expression) -> None:
    again = msgspec.json.decode(msgspec.json.encode(one), type=Expression)
    assert msgspec.json.encode(again) == msgspec.json.encode(one)
