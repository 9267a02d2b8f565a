"""JSON: what PostgreSQL can hold is written, the rest is refused with the fix."""

from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from weft.base import errors, json

plain = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
documents = st.recursive(plain | text, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=20)


@hypothesis.given(documents)
def test_what_is_written_reads_back_the_same(value: Any) -> None:
    assert json.loads(json.text(value)) == value


@hypothesis.given(st.integers(1, 200))
def test_depth_is_the_number_of_containers(depth: int) -> None:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    assert json.depth(value) == min(depth, json.MAX_DEPTH + 1)
    if depth <= json.MAX_DEPTH:
        json.text(value)
    else:
        with pytest.raises(errors.InvalidPayload, match="flatten it"):
            json.text(value)


def test_depth_is_not_confused_by_width() -> None:
    json.text({"x": [[] for _ in range(1000)]})
    json.text({"x": "[[[[{{{{" * 100})


@pytest.mark.parametrize("value", ["\0", ["\0"], {"\0": 1}, {"a": {"b": ["c\0d"]}}])
def test_nul_is_refused(value: Any) -> None:
    with pytest.raises(errors.InvalidPayload, match="NUL"):
        json.text(value)


def test_a_backslash_before_u0000_is_not_nul() -> None:
    assert json.loads(json.text("\\u0000")) == "\\u0000"


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": (1, -float("inf"))}])
def test_what_is_no_number_is_refused_instead_of_becoming_null(value: Any) -> None:
    with pytest.raises(errors.InvalidPayload, match="NaN or infinity"):
        json.text(value, what="the result")


def test_the_limit_is_in_bytes_of_utf8() -> None:
    json.text("ä" * (json.MAX_BYTES // 2 - 1))
    with pytest.raises(errors.InvalidPayload, match=r"262,146 bytes of JSON, the limit is 262,144") as refused:
        json.text("ä" * (json.MAX_BYTES // 2))
    assert refused.value.details == {"size": json.MAX_BYTES + 2}


@pytest.mark.parametrize("value", [object(), {1: object()}, "\ud800"])
def test_what_has_no_json_is_refused(value: Any) -> None:
    with pytest.raises(errors.InvalidPayload):
        json.text(value)


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(errors.InvalidPayload, match="nested deeper"):
        json.text(endless)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('["\\u0000"]', "the answer contains a NUL character"),
        ('{"\\u0000": 1}', "the answer contains a NUL character"),
        ("[" * 65 + "]" * 65, "the answer is nested deeper than 64 levels; flatten it"),
        ("[" * 5000 + "]" * 5000, "the answer is nested deeper than 64 levels"),
        (b'{"a":' * 5000, "the answer is nested deeper than 64 levels"),
    ],
    ids=lambda one: one[:12],
)
def test_what_others_wrote_and_cannot_be_stored_is_refused(written: str | bytes, words: str) -> None:
    with pytest.raises(errors.InvalidPayload, match=words):
        json.parsed(written, what="the answer")


def test_what_others_wrote_is_what_it_says_or_no_json() -> None:
    assert json.parsed('["\\\\u0000"]') == ["\\u0000"]
    assert json.parsed(b"[" * 64 + b"]" * 64) == json.loads("[" * 64 + "]" * 64)
    for wrong in ("{", b"\xff", "\ud800", ""):
        with pytest.raises(ValueError):
            json.parsed(wrong)
