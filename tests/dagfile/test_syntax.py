"""`${…}` and what is inside it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.dagfile import template
from weft.dagfile.template import WrongAt
from weft.plan import evaluate
from weft.plan.evaluate import Known, Scope
from weft.plan.expression import Apply, Expression, Get, Map, Output, Param, Pluck, Secret, Value

SCOPE = Scope(
    params={"n": 3, "env": "prod", "city": "Ulm"},
    nodes={"extract": Known("completed", {"rows": 7, "files": [{"name": "a"}, {"name": "b"}]}),
           "load-data": Known("failed", error={"message": "no"}), "two words": Known("completed", [1, 2])},
    run={"id": "r1"},
)  # fmt: skip


@pytest.mark.parametrize(("text", "value"), [
    ("plain", "plain"), ("", ""), ("${params.n}", 3), ("n is ${params.n}!", "n is 3!"), ("${params.n}${params.n}", "33"),
    ("$${params.n}", "${params.n}"), ("a$${b}${params.n}$", "a${b}3$"), ("costs $5 {x}", "costs $5 {x}"),
    ("${tasks.extract.output.rows}", 7), ("${tasks.extract.output.files[1].name}", "b"),
    ("${tasks.extract.output.files[*].name}", ["a", "b"]), ("${tasks.load-data.state}", "failed"),
    ("${tasks.load-data.error.message}", "no"), ('${tasks["two words"].output[0]}', 1), ("${run.id}", "r1"),
    ("${1 + 2 * 3}", 7), ("${(1 + 2) * 3}", 9), ("${-2 - -3}", 1), ("${10 - 2 - 3}", 5), ("${7 % 4 / 2}", 1.5),
    ("${!(params.n > 2 && params.env == 'prod') || false}", False), ("${'a' ++ 1 + 1}", "a2"),
    ("${default(tasks.load-data.output, [1, 'x'])}", [1, "x"]), ("${length('}') == 1}", True), ("${ null }", None),
    ("${contains(['a', \"b\"], params.env)}", False), ("${'it\\'s\\n'}", "it's\n"), ("${1.5e1}", 15.0),
])  # fmt: skip
def test_a_text_and_its_value(text: str, value: Any) -> None:
    assert evaluate.evaluate(template.compile_text(text, ()), SCOPE) == value


def test_only_what_refers_becomes_an_expression() -> None:
    assert template.compile_value({"a": [1, {"b": "c"}]}, ()) == Value({"a": [1, {"b": "c"}]})
    found = template.compile_value({"a": "${params.n}", "b": [1]}, ())
    assert found == Map({"a": Param("n"), "b": Value([1])})
    assert template.compile_text("Bearer ${secrets.T}", ()) == Apply("++", (Value("Bearer "), Secret("T")))
    assert template.compile_text("${tasks.a.output[*].x}", ()) == Pluck(Output("a"), "x")


def test_an_element_is_known_only_where_there_is_one() -> None:
    assert template.compile_text("${city.name}", (), item="city") == Get(Param("city"), "name")
    with pytest.raises(WrongAt, match="'city' is not known here"):
        template.compile_text("${city}", ())


@pytest.mark.parametrize(("value", "found"), [
    (True, Value(True)), ("params.n > 2", None), ("${params.n > 2}", None), (" ${params.n > 2} ", None),
])  # fmt: skip
def test_a_condition_needs_no_braces(value: Any, found: Expression | None) -> None:
    compiled = template.compile_condition(value, ())
    assert found == compiled or evaluate.condition(compiled, SCOPE) is True


@pytest.mark.parametrize(("text", "message"), [
    ("${params.n", "the ${ is not closed: } is missing"),
    ("${}", "column 3 of '${}': a value is expected here"),
    ("${parms.n}", "'parms' is not known here; did you mean 'params'?"),
    ("${params}", "a param is expected after a dot"),
    ("${tasks.a.rows}", "a task has an output, a state and an error, but no 'rows'; write tasks.a.output.rows"),
    ("${tasks.a}", "output, state or error is expected after a dot"),
    ("${1 < 2 < 3}", "comparisons cannot be chained"),
    ("${default(1)}", "default takes 2 to 9 values, not 1"),
    ("${1 2}", "column 5 of '${1 2}': } is expected here"),
    ("${" + "(" * 60 + "}", "nested too deep"),
    ("${'abc}", "the text is not closed: ' is missing"),
    ("${prod}", "text needs quotes"),
    ("${params.n = 3}", "} is expected here"),
])  # fmt: skip
def test_what_is_wrong_is_told_with_its_column(text: str, message: str) -> None:
    with pytest.raises(WrongAt) as caught:
        template.compile_text(text, ("x",))
    assert message in caught.value.message and caught.value.path == ("x",)


@settings(deadline=None, max_examples=300)
@given(st.text(st.sampled_from("${}()[].,'\"ab1+-*/%<>=!&| \\paramstk"), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        template.compile_text(text, ())
    except WrongAt as wrong:
        assert wrong.message
