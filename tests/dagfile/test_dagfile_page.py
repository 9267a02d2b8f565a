"""docs/reference/dagfile.md tells every word, rule and expression there is, and its example runs."""

import re
import tempfile
from pathlib import Path
from typing import get_args

import msgspec
import pytest

import blocks
from weft.dagfile import dag, payload, syntax
from weft.plan.rules import Rule

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "dagfile.md"


def words(heading: str) -> set[str]:
    """What stands in backticks in the first column of the table under a heading."""
    found = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S)
    assert found, heading
    rows = re.findall(r"^\| (`.*?) \|(?=[^|]*\|$)", found[1], re.M)
    return {word for row in rows for word in re.findall(r"`([^`]+)`", row)}


@pytest.mark.parametrize(("heading", "shape"), [("The DAG", dag.WrittenDag), ("A task", dag.WrittenTask)])
def test_every_word_is_described(heading: str, shape: type[msgspec.Struct]) -> None:
    assert words(heading) == set(shape.__struct_fields__)


def test_every_word_of_a_param_and_of_the_defaults_is_described() -> None:
    text = PAGE.read_text()
    for shape in (dag.WrittenParam, dag.WrittenDefaults, dag.WrittenRetry, dag.WrittenGroup):
        for name in shape.__struct_fields__:
            assert f"`{name}`" in text, name


def test_every_rule_is_described() -> None:
    assert words("Trigger rules") == set(get_args(Rule))


def test_every_payload_is_described() -> None:
    told = {word for key, more in payload._WORDS.items() for word in (key, *more)}
    assert words("What a task does") == told | {"action"}


def test_every_expression_that_is_shown_can_be_read() -> None:
    shown = words("References")
    assert len(shown) > 15
    for one in shown:
        text = one.replace("\\", "")
        if text not in ("++", "&&", "||", "!"):
            _, end = syntax.parse(re.sub(r"\b(x|y|list|a|b)(?=[,)])", "null", text), item="item")
            assert end > 0


def test_the_example_does_what_it_says() -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert blocks.Reader(Path(folder)).follow(PAGE) == 3
