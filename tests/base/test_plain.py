"""Text from anywhere on a terminal: nothing is obeyed, nothing hides, JSON means the same."""

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hostile
from weft.base import plain


@pytest.mark.parametrize("text", hostile.ALL)
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    assert plain.line(text).isprintable()
    assert all(one.isprintable() for one in plain.lines(text).split("\n"))
    assert not set(plain.line(text)) & set(hostile.HIDDEN)


@given(st.text())
def test_what_is_printable_stays_and_json_means_the_same(text: str) -> None:
    assert [one for one in plain.line(text) if one not in "\N{REPLACEMENT CHARACTER} "] == [
        one for one in text if one.isprintable() and one not in "\N{REPLACEMENT CHARACTER} "
    ]
    written = json.dumps({text: [text]}, ensure_ascii=False, indent=2)
    assert json.loads(plain.json(written)) == {text: [text]}
    assert all(one.isprintable() for one in plain.json(written).split("\n"))


def test_odd_spaces_are_spaces_and_lines_stay_lines() -> None:
    assert plain.line("1\u202f000\u00a0€\tok") == "1 000 € ok"
    assert plain.line("a\nb") == "a\N{REPLACEMENT CHARACTER}b"
    assert plain.lines("a\nb\r\n") == "a\nb\N{REPLACEMENT CHARACTER}\n"


def test_lines_of_a_log_obey_nobody() -> None:
    record = logging.LogRecord("a", logging.INFO, "f", 1, "it said %s", ("\x1b]0;mine\x07",), None)
    assert plain.Formatter("%(message)s").format(record) == "it said \ufffd]0;mine\ufffd"
