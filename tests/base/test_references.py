"""`${secrets.NAME}` in payloads."""

import json

from hypothesis import given
from hypothesis import strategies as st

from weft.base import references

VALUES = {"A": "the value of a", "b.c-1": 'with "quotes"\nand lines'}


def test_names_are_found_in_texts_only() -> None:
    payload = json.dumps({"x": "${secrets.A}", "y": ["Bearer ${secrets.b.c-1}", 1], "${secrets.key}": "$${secrets.not}"})
    assert references.names(payload) == {"A", "b.c-1"}
    assert references.names('{"a": "no secrets. here ${env.X}"}') == frozenset()


def test_values_take_their_places() -> None:
    payload = json.dumps({"x": "${secrets.A}", "y": ["<${secrets.b.c-1}|${secrets.A}>", 1, None], "z": "$${secrets.A}"})
    assert json.loads(references.filled(payload, VALUES)) == {
        "x": "the value of a", "y": ['<with "quotes"\nand lines|the value of a>', 1, None], "z": "${secrets.A}",
    }  # fmt: skip


def test_a_value_is_not_looked_into_again() -> None:
    assert json.loads(references.filled('{"x": "${secrets.A}"}', {"A": "${secrets.B}"})) == {"x": "${secrets.B}"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_a_payload_without_references_stays_as_it_is(payload: dict[str, object]) -> None:
    text = json.dumps(payload)
    if references.MARK not in text:
        assert references.names(text) == frozenset() and json.loads(references.filled(text, {})) == payload
