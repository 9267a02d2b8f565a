"""The example programs: they compile, are formatted, and mean the same however they are spaced."""

import re
from pathlib import Path

import pytest
from afl_programs import clean, meanings

from weft.afl import formatting

EXAMPLES = sorted((Path(__file__).parent.parent.parent / "examples" / "afl").glob("*.afl"))


def test_there_are_twelve() -> None:
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_compiles_without_a_word_and_is_formatted(path: Path) -> None:
    text = path.read_text()
    assert clean(text).diagnostics == []
    assert formatting.format_text(text) == text


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_formatting_keeps_the_meaning(path: Path) -> None:
    text = path.read_text()
    spoilt = re.sub(r"^[ ]+(?! )", " ", text, flags=re.M).replace(" = ", "=").replace(", ", " ,")
    made = formatting.format_text(spoilt)
    assert formatting.format_text(made) == made

    def plans(one: str) -> dict[str, str]:
        return meanings(clean(one))

    assert plans(made) == plans(spoilt)
    assert plans(formatting.format_text(text)) == plans(text)
