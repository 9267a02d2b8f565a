"""docs/reference/afl.md tells every word, rule and setting of mixins; its examples and those of the concept page run."""

import json
import re
import tempfile
from pathlib import Path

import pytest

import blocks
from weft.afl.lexer import KEYWORDS, LITERALS, OPERATORS, TYPES
from weft.afl.rules import RULES
from weft.afl.signature import ATTEMPTS, BACKOFF, MULTIPLIER

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "reference" / "afl.md"


def row(name: str) -> set[str]:
    found = re.search(rf"^\| {name} \| (.*) \|$", PAGE.read_text(), re.M)
    assert found, name
    return {word.replace("\\|", "|") for word in re.findall(r"`([^`]+)`", found[1])}


def test_every_word_is_told() -> None:
    assert row("keywords") == set(KEYWORDS)
    assert row("operators") == set(OPERATORS)
    assert set(LITERALS) <= row("literals")
    assert set(TYPES) <= row("types")


def test_every_rule_is_told() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| (error|warning) \| (.*) \|$", PAGE.read_text(), re.M)
    assert rows == [(name, rule.severity, rule.says) for name, rule in RULES.items()]


def test_everything_that_timeout_and_retry_take_is_told() -> None:
    text = PAGE.read_text()
    for name in (*ATTEMPTS, *BACKOFF, *MULTIPLIER, "ms", "milliseconds", "seconds", "minutes", "hours", "days"):
        assert f"`{name}`" in text, name


@pytest.mark.parametrize("page", [PAGE, ROOT / "docs" / "concepts" / "afl.md"], ids=lambda page: page.parent.name)
def test_the_examples_do_what_they_say(page: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # for the account that the server runs under
        assert blocks.Reader(Path(folder)).follow(page) > 0


def test_the_grammar_for_editors_has_the_same_words() -> None:
    grammar = json.loads((ROOT / "editors" / "afl.tmLanguage.json").read_text())["repository"]
    found = {key: re.search(r"\(([A-Za-z|]+)\)", grammar[key]["match"]) for key in ("keywords", "types", "constants")}
    words = {key: set(match[1].split("|")) for key, match in found.items() if match}
    assert words == {"keywords": set(KEYWORDS), "types": set(TYPES), "constants": set(LITERALS)}
    for key in ("keywords", "types", "constants", "numbers", "operators", "references", "calls"):
        re.compile(grammar[key]["match"])
