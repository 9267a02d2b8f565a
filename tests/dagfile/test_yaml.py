"""YAML: equal to a library of the trade wherever both take a text; what is left out is refused by name."""

import json
import random
from typing import Any

import pytest
import yaml as library
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.base import errors
from weft.dagfile import scalars, yaml

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12) | st.text(
    st.sampled_from("ab: #-?'\"\n\t,[]{}&*!|>%@`0.~\\"), max_size=14
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12,
)  # fmt: skip


def theirs(text: str) -> Any:
    """What PyYAML reads, its plain texts resolved as YAML 1.2 says; ValueError where it refuses or we do on purpose."""
    try:
        return plain(library.compose(text, Loader=library.SafeLoader))
    except (library.YAMLError, scalars.Wrong) as error:
        raise ValueError(str(error)) from None


def plain(node: Any) -> Any:
    match node:
        case None:
            return None
        case library.ScalarNode():
            return scalars.resolve(node.value, 0) if node.style is None else node.value
        case library.SequenceNode():
            return [plain(one) for one in node.value]
        case _:
            entries = [(key.value, plain(value)) for key, value in node.value]
            if not all(isinstance(key, str) for key, _ in entries) or len(dict(entries)) < len(entries):
                raise ValueError("keys")
            return dict(entries)


@settings(deadline=None, max_examples=300)
@given(
    value=JSON, flow=st.sampled_from([True, False, None]), style=st.sampled_from([None, '"', "'", "|", ">"]),
    indent=st.integers(1, 5), width=st.sampled_from([10, 30, 200]), unicode=st.booleans(),
)  # fmt: skip
def test_what_a_library_writes_is_read_back(
    value: Any, flow: bool | None, style: str | None, indent: int, width: int, unicode: bool
) -> None:
    text = library.safe_dump(
        value, default_flow_style=flow, default_style=style, indent=indent, width=width, allow_unicode=unicode,
        sort_keys=False,
    )  # fmt: skip
    if "? " in text or "!!" in text or "&id" in text:
        return  # long keys and tags: left out
    if any(mark in text for mark in "\x85\u2028\u2029"):
        return  # ends of lines to the library, which speaks YAML 1.1; characters like others in 1.2
    assert yaml.read(text).value == theirs(text)


@settings(deadline=None, max_examples=300)
@given(JSON, st.sampled_from([None, 1, 4, "\t"]), st.booleans())
def test_json_is_read_too(value: Any, indent: Any, ascii_only: bool) -> None:
    assert yaml.read(json.dumps(value, indent=indent, ensure_ascii=ascii_only)).value == value


PIECES = [
    "a", "b c", "1", ":", ": ", "- ", "-", " ", "  ", "\n", "\n", "\n  ", "\n    ", "#", " # x", "'", '"', "[", "]", "{",
    "}", ",", ", ", "|", ">", "|-\n", ">+\n", "~", "x: ", "y: ", "\\", "?", "0x1", "1e3", "---", "...", "é",
]  # fmt: skip


def test_whatever_both_take_means_the_same_to_both() -> None:
    """Texts put together at random. Most are wrong, and of those that both take both say the same."""
    dice = random.Random(4)
    counts = {"both": 0, "ours": 0, "theirs": 0, "neither": 0}
    for _ in range(20_000):
        text = "".join(dice.choice(PIECES) for _ in range(dice.randint(1, 9)))
        try:
            expected = theirs(text)
        except ValueError:
            expected = ...
        try:
            found = yaml.read(text).value
        except errors.InvalidDag:
            counts["neither" if expected is ... else "theirs"] += 1
        else:
            counts["ours" if expected is ... else "both"] += 1
            assert expected is ... or found == expected, text
    # theirs: pairs in lists, keys without values, empty keys; ours: a document's end at its beginning
    assert counts["both"] > 4_000 and counts["theirs"] < 1_500 and counts["ours"] < 300, counts


@pytest.mark.parametrize(("text", "value"), [
    ("", None),
    ("# nothing\n", None),
    ("---\na: 1\n...\n", {"a": 1}),
    ("a: no\nb: 12:30\nc: 2026-01-01\nd: 1.50\ne: ~\nf:\ng: yes", {
        "a": "no", "b": "12:30", "c": "2026-01-01", "d": 1.5, "e": None, "f": None, "g": "yes"}),
    ("tasks:\n- name: a\n  after: [b, 'c d', \"e\\n\"]\n-\n  name: f\n- - 1\n  - 2\n", {
        "tasks": [{"name": "a", "after": ["b", "c d", "e\n"]}, {"name": "f"}, [1, 2]]}),
    ("run: |\n  one\n   two\n\n  three\n\n", {"run": "one\n two\n\nthree\n"}),
    ("run: |-\n  one\n", {"run": "one"}),
    ("run: |+\n  one\n\n", {"run": "one\n\n"}),
    ("run: |2\n    one\n", {"run": "  one\n"}),
    ("said: >\n  a long\n  line\n\n  and another\n    kept\n  end\n", {"said": "a long line\nand another\n  kept\nend\n"}),
    ("a: this is\n  one text\n\n  of two lines # and a comment\nb: 1", {"a": "this is one text\nof two lines", "b": 1}),
    ("a: 'it''s'\nb: \"x \\\n  y\"\nc: \"two\n\n  lines\"", {"a": "it's", "b": "x y", "c": "two\nlines"}),
    ("{a: 1, b: [x y, {c: d}], \"e\":2,\n  f: http://x/y#z }", {"a": 1, "b": ["x y", {"c": "d"}], "e": 2, "f": "http://x/y#z"}),
    ("when: ${params.n > 3}\nurl: http://a:80/b\n", {"when": "${params.n > 3}", "url": "http://a:80/b"}),
    ("\ufeffa: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
    ('"\\ud83d\\ude00"', "😀"),
])  # fmt: skip
def test_a_text_and_its_value(text: str, value: Any) -> None:
    assert yaml.read(text).value == value


@pytest.mark.parametrize(("text", "message"), [
    ("a: &x 1\nb: *x", "line 1, column 4: anchors are not allowed"),
    ("cron_expression: */5 * * * *", 'line 1, column 18: aliases are not allowed; if this is text, such as a cron'),
    ("a: !!python/object:os.system x", "tags are not allowed"),
    ("? [a]\n: b", "keys must be plain text"),
    ("a: 1\n---\nb: 2", "line 2, column 1: one document is enough"),
    ("%YAML 1.2\n---\na: 1", "directives are not allowed"),
    ("a:\n\tb: 1", "line 2, column 1: a tab cannot indent; use spaces"),
    ("a: 1\nb: 2\na: 3", "line 3, column 1: the key 'a' is here twice"),
    ("{a: 1, a: 2}", "line 1, column 8: the key 'a' is here twice"),
    ("a: 007", "is octal to some"),
    ("a: .inf", "no number that JSON can say"),
    ("a: 99999999999999999999", "more than 64 bits"),
    ("a: [1, 2\nb: 3", "a comma or ] is expected here"),
    ("a: [1, 2", "a bracket is not closed"),
    ("a: \"x", "line 1, column 4: this text is not closed"),
    ("a: 'x", "this text is not closed"),
    ('a: "\\q"', "\\q is no escape"),
    ('a: "\\ud800"', "half a character"),
    ("a: b: c", "a second colon on this line"),
    ("a: 1\n  b: 2", "line 2, column 3: a key cannot be inside a text"),
    ("a:\n    b: 1\n  c: 2", "line 3, column 3"),
    ("- a\nb: 1", "line 2, column 1: this does not belong to what is above it"),
    ("a: - b", "a list begins on a line of its own"),
    ("a: @x", "text cannot begin with @"),
    ("[" * 100, "nested deeper than 64 levels"),
    ("a: [" + "1," * 500_001 + "]", "more than 500,000 values"),
    ("a: " + "x" * (8 * 2**20), "larger than 8 MiB"),
    ("a: [b: c]", "a comma or ] is expected here"),
    ("{a}", "a colon is expected after the key 'a'"),
    ('a: "x" y', "this cannot follow on the same line"),
])  # fmt: skip
def test_what_is_not_read_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(errors.InvalidDag) as caught:
        yaml.read(text)
    assert message in caught.value.message


def test_everything_has_its_place() -> None:
    found = yaml.read("name: x\ntasks:\n  - name: a\n    after: [b,\n      c]\n")
    assert found.place(("tasks", 0, "after", 1)) == (5, 7)
    assert found.place(("tasks", 0, "name")) == (3, 11)
    assert found.place(("tasks", 7, "nobody")) == (3, 3)
    assert found.place(()) == (1, 1)


@settings(deadline=None, max_examples=500)
@given(st.text(max_size=40) | st.text(st.sampled_from("a:- \n'\"[]{},#|>&*!"), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        yaml.read(text)
    except errors.InvalidDag as error:
        assert error.details["line"] >= 1
