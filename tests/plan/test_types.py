"""What is given to a run or a block is checked against its params."""

from typing import Any

import pytest

from weft.base import errors
from weft.plan import types
from weft.plan.expression import Apply, Param, Value
from weft.plan.model import Field, Record

RECORDS = {"Point": Record("Point", (Field("lat", "number"), Field("name", "string", nullable=True)))}


def bind(*fields: Field, **given: Any) -> dict[str, Any]:
    return types.bind(fields, given, records=RECORDS)


def test_defaults_may_name_the_params_before_them() -> None:
    day = Field("day", "string", default=Value("monday"))
    text = Field("text", "string", default=Apply("++", (Value("on "), Param("day"))))
    assert bind(day, text) == {"day": "monday", "text": "on monday"}
    assert bind(day, text, day="sunday") == {"day": "sunday", "text": "on sunday"}


@pytest.mark.parametrize(("type_", "value"), [
    ("string", ""), ("integer", 3), ("integer", 3.0), ("number", 3), ("number", 0.5), ("boolean", False), ("map", {}),
    ("any", None), ("any", [1]), ("[string]", ["a"]), ("[[integer]]", [[1], []]), ("Point", {"lat": 1}),
    ("[Point]", [{"lat": 1, "name": None, "more": 1}]),
])  # fmt: skip
def test_what_fits(type_: str, value: Any) -> None:
    assert bind(Field("x", type_), x=value) == {"x": value}


@pytest.mark.parametrize(("field", "value", "message", "pointer"), [
    (Field("x", "string"), 3, "must be of type string, not the number 3", "/x"),
    (Field("x", "integer"), 3.5, "must be of type integer, not the number 3.5", "/x"),
    (Field("x", "integer"), True, "not true", "/x"),
    (Field("x", "string"), None, "not null", "/x"),
    (Field("x", "[string]"), ["a", 1], "must be of type string", "/x/1"),
    (Field("x", "[string]"), "a", "must be a list ([string])", "/x"),
    (Field("x", "[Point]"), [{"name": "a"}], "the field 'lat' of Point is missing", "/x/0"),
    (Field("x", "Point"), {"lat": "a"}, "must be of type number", "/x/lat"),
    (Field("x", choices=("a", "b")), "c", 'c is none of a, b', "/x"),
    (Field("x", "integer", minimum=1), 0, "0 is less than 1", "/x"),
    (Field("x", "integer", maximum=9), 10, "10 is more than 9", "/x"),
])  # fmt: skip
def test_what_does_not_fit_is_told_with_its_place(field: Field, value: Any, message: str, pointer: str) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        bind(field, x=value)
    assert message in caught.value.message
    assert caught.value.details["pointer"] == pointer


def test_what_is_unknown_or_missing_is_told() -> None:
    with pytest.raises(errors.InvalidInput, match="unknown param 'dya'; did you mean 'day'"):
        bind(Field("day"), dya=1)
    with pytest.raises(errors.InvalidInput, match="param 'day' is missing, and has no default"):
        bind(Field("day"))
    assert bind(Field("day", nullable=True)) == {"day": None}


def test_what_a_task_gives_back_is_checked_too() -> None:
    fields = (Field("lat", "number"), Field("note", "string", default=Value("none")))
    assert types.returned(fields, {"lat": 1, "more": 2}, records={}) == {"lat": 1, "more": 2, "note": "none"}
    for wrong, message in (({"lat": "x"}, "return 'lat': must be of type number"), ({}, "return 'lat' is missing"),
                           ([1], "the result must be a map of lat, note, not a list of 1")):  # fmt: skip
        with pytest.raises(errors.InvalidInput, match=message):
            types.returned(fields, wrong, records={})
