"""Names and keys: what is allowed, and the words that refuse the rest."""

import hypothesis
import pytest
from hypothesis import strategies as st

from weft.base import errors, names

letters = st.characters(categories=["L", "Nd"]) | st.sampled_from("_.:/-")


@hypothesis.given(st.text(letters, min_size=1, max_size=255))
def test_letters_digits_and_a_few_signs_are_a_name(name: str) -> None:
    assert names.check(name, what="queue") == name


@pytest.mark.parametrize("name", ["", " ", "a ", " a", "a\n", "a\tb", "a+b", "a;b", "a'b", "a,b", "x" * 256, "a\0"])
def test_everything_else_is_not(name: str) -> None:
    with pytest.raises(errors.InvalidName, match=r"queue .* is not valid: use 1-255 letters, digits, spaces inside"):
        names.check(name, what="queue")


@pytest.mark.parametrize("name", [None, 7, b"a", ["a"]])
def test_a_name_is_text(name: object) -> None:
    with pytest.raises(errors.InvalidName, match="tag must be text"):
        names.check(name, what="tag")
    with pytest.raises(errors.InvalidName, match="key must be text"):
        names.check_key(name, what="key")


@pytest.mark.parametrize("key", ["a", "a b+c;d'e", "ä" * 512, "x" * 1024, "日"])
def test_a_key_is_free_text(key: str) -> None:
    assert names.check_key(key, what="key") == key


@pytest.mark.parametrize("key", ["", "x" * 1025, "ä" * 513, "a\0", "a\nb", "\x7f"])
def test_a_key_is_bounded_and_has_no_control_characters(key: str) -> None:
    with pytest.raises(errors.InvalidName, match="1-1024 bytes without control characters"):
        names.check_key(key, what="key")


def test_a_long_bad_name_is_shown_shortened() -> None:
    with pytest.raises(errors.InvalidName) as refused:
        names.check("!" * 10_000, what="queue")
    assert len(refused.value.message) < 250
