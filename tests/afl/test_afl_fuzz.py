"""Random and mutated programs: the compiler never fails, never hangs, and the formatter changes no meaning.

`WEFT_AFL_FUZZ=200000 make test ARGS="tests/afl/test_afl_fuzz.py tests/afl/test_random_programs.py"` is the whole run: 200 parts
of a thousand broken programs here, 20 of five hundred in the other file, where those that pass the checks are run.
"""

# ruff: noqa: E501

import os
import random
from pathlib import Path

import pytest
from afl_programs import meanings

from weft.afl import compiling, formatting
from weft.afl.lexer import KEYWORDS
from weft.afl.source import Source

CORPUS = [path.read_text() for path in sorted((Path(__file__).parent.parent.parent / "examples" / "afl").glob("*.afl"))]
WORDS = [
    *KEYWORDS, "true", "false", "null", "String", "Int", "Json", "[String]", "x", "y", "F", "G", "a.b", "$.x", "s.y", "_", "1",
    "2.5", '"text"', '"{x}"', "(", ")", "{", "}", "[", "]", "#{", ",", ":", "=", "=>", "==", "++", "&&", "||", "+", "-", "*", "/",
    "%", "!", ".", "$", ";", "\n", "// c\n", "/* c */", "/** d */", "script {", "'", '"', "\\", "é", "\0", "@", "99999999999999999999",
    "namespace n {", "facet F(x: Int) => (y: Int)", "workflow W() => (y: Int) andThen {", "s = F(x = 1)", "yield W(y = s.y)",
    "case _ => {", "case s.y > 1 => {", "catch {", "andThen foreach v in [1, 2] {", "with Retry(maxAttempts = 2)",
]  # fmt: skip
TOTAL = int(os.environ.get("WEFT_AFL_FUZZ", "2400"))
PARTS = max(4, TOTAL // 1000)


def soup(dice: random.Random) -> str:
    return " ".join(dice.choice(WORDS) for _ in range(dice.randrange(1, 60)))


def mutated(dice: random.Random) -> str:
    """A good program with a few wounds."""
    text = dice.choice(CORPUS)
    for _ in range(dice.randrange(1, 6)):
        at, length = dice.randrange(len(text) + 1), dice.randrange(0, 12)
        match dice.randrange(6):
            case 0:
                text = text[:at] + text[at + length :]
            case 1:
                text = text[:at] + dice.choice(WORDS) + text[at:]
            case 2:
                text = text[:at] + chr(dice.choice([0, 9, 34, 36, 39, 92, 123, 125, 0xE9, 0x1F600])) + text[at:]
            case 3:
                start = dice.randrange(len(text) + 1)
                text = text[:at] + text[start : start + 40] + text[at:]
            case 4:
                lines = text.split("\n")
                dice.shuffle(lines) if dice.random() < 0.1 else lines.pop(dice.randrange(len(lines)))
                text = "\n".join(lines)
            case _:
                text = text[:at]
        text = text or "x"
    return text


def survive(text: str, *, allow_external: bool) -> None:
    compiled = compiling.compile_sources([Source("fuzz.afl", text)], allow_external=allow_external)
    for one in compiled.diagnostics:
        assert one.line >= 1 and one.column >= 1 and (one.end_line, one.end_column) >= (one.line, one.column)
        assert one.rule != "plan" or "larger" in one.message or "deeper" in one.message, f"{one}\n{text}"
    made = formatting.format_text(text)
    assert formatting.format_text(made) == made, text
    if compiled.ok and compiled.plans:
        again = compiling.compile_sources([Source("fuzz.afl", made)], allow_external=allow_external)
        assert meanings(again) == meanings(compiled), text


@pytest.mark.parametrize("part", range(PARTS))
def test_no_program_makes_the_compiler_fail(part: int) -> None:
    dice = random.Random(part)
    for number in range(TOTAL // PARTS):
        text = soup(dice) if number % 3 == 0 else mutated(dice)
        try:
            survive(text, allow_external=number % 2 == 0)
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001
            pytest.fail(f"{type(error).__name__}: {error}\n{text}")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000, "[" * 5000, "#{a:" * 3000, "namespace n { facet F(x: Int = " + "(" * 5000, '"' + "\\" * 4001, "/*" * 4000,
        "namespace n { facet F(x: Int = " + "-" * 5000 + "1) }", "namespace n { facet F(x: Int = " + "1 + " * 5000 + "1) }",
        "namespace n { facet F(x: String = " + '"a" ++ ' * 3000 + '"b") }', "namespace n { facet F(x: Json = $.a" + ".b" * 3000 + ") }",
        "namespace n { workflow W() " + "andThen { s = W() " * 300 + "}" * 301, "script {" * 3000, "namespace n { facet F() script {" + "'''" * 999,
        "namespace n { facet F(x: Boolean = " + "true && " * 3000 + "true) }", "case " * 3000, "}" * 5000, "andThen " * 3000,
        "namespace n { facet F(x: " + "[" * 200 + "Int" + "]" * 200 + ") }", "$" * 3000, "namespace a {" * 2000, "é" * 20000, "\n" * 100_000,
    ],
    ids=lambda text: text[:24],
)  # fmt: skip
def test_what_is_hostile_is_refused_at_once(text: str) -> None:
    survive(text, allow_external=False)
