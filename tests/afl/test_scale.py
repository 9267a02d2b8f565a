"""Four times the program is about four times the work: calls of functions are counted, so no clock has a say."""

# ruff: noqa: E501
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from afl_programs import build

from weft.afl import diagnostic, formatting
from weft.afl.compiling import Compiled

E = "event facet E(a: Int = 1) => (b: Int) "


def lines(count: int, line: str) -> str:
    """The line so many times, `#` being its number."""
    return "\n".join(line.replace("#", str(number)) for number in range(count))


def workflow(steps: str, before: str = "", returns: str = "") -> str:
    return f"namespace n {{ {E}\n{before}\nworkflow W(){returns} andThen {{\n{steps}\n}} }}"


PROGRAMS: dict[str, Callable[[int], str]] = {
    "misspelt calls": lambda n: workflow(lines(n, "x# = Fcaet#()"), lines(n, "facet Facet#()")),
    "unknown steps": lambda n: workflow(lines(n, "x# = E(a = setp#.b)")),
    "unknown params": lambda n: workflow(lines(n, "x# = E(a = $.p#)")),
    "unknown attributes": lambda n: workflow(lines(n, "x# = F(c# = 1)"), f"facet F({', '.join(f'p{i}: Int = 1' for i in range(20))})"),
    "unknown types": lambda n: "namespace n {" + lines(n, "schema S# { a: Int }") + lines(n, "facet F#(a: Sx#)") + "}",
    "unknown uses": lambda n: lines(n, "namespace space# { use sapce# }"),
    "implicits": lambda n: workflow(lines(n, "x# = F#()"), lines(n, "facet F#(a: Int)\nimplicit i# = F#(a = 1)")),
    "implicits of one": lambda n: workflow(lines(n, "x# = F()"), "facet F(a: Int)" + lines(n, "implicit i# = F(a = 1)")),
    "many used": lambda n: lines(n, "namespace s# { facet F#() }") + f"namespace m {{ {lines(n, 'use s#')} workflow W() andThen {{ {lines(n, 'x# = F#()')} }} }}",
    "ambiguous": lambda n: lines(n, "namespace s# { facet F() }") + lines(n, "namespace t# { workflow W() andThen { x = F() } }"),
    "steps of siblings": lambda n: workflow(lines(n, "x# = E() andThen { y# = E() }\nz# = E(a = y#.b)")),
    "bodies of siblings": lambda n: f"namespace n {{ {E} workflow W() {lines(n, 'andThen { x# = E() }')} {lines(n, 'andThen { z# = E(a = x#.b) }')} }}",
    "calls of a script": lambda n: workflow(lines(n, "x# = F()"), "facet F() => (a: Int) script {\n" + lines(n, "result['a'] = #") + "\n}"),
    "texts never closed": lambda n: lines(n, 'x\\"'),
    "texts of scripts never closed": lambda n: lines(n, 'facet F#() script { \\""" }'),
    "one line of quotes": lambda n: 'facet F() script { ' + '\\"' * n + " }",
    "long names": lambda n: "namespace " + ".".join("a" for _ in range(n)) + " { facet F() }",
    "workflows": lambda n: "namespace n {" + lines(n, "workflow W#() andThen { x = V() }") + "workflow V() }",
    "braces": lambda n: "facet F(a: Int = " + "(" * n,
    "step errors": lambda n: workflow(lines(n, "x# = = E()")),
    "legal": lambda n: workflow(lines(n, "x# = E()\ny# = E(a = x#.b)")),
}  # fmt: skip


def calls(work: Callable[[], Any]) -> int:
    """How many functions are called while something is done."""
    count = 0

    def see(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", PROGRAMS)
def test_work_grows_with_the_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostic, "MOST", 50)
    monkeypatch.setattr(diagnostic, "COMPARED", 3000)
    small, large = PROGRAMS[name](60), PROGRAMS[name](240)
    build(small)
    first, second = calls(lambda: build(small)), calls(lambda: build(large))
    # what is told is cut at a number of problems, so more of them may even take less than in proportion
    assert second < 6 * first


@pytest.mark.parametrize("name", PROGRAMS)
def test_formatting_grows_with_the_text(name: str) -> None:
    small, large = PROGRAMS[name](60), PROGRAMS[name](240)
    assert calls(lambda: formatting.format_text(large)) < 6 * calls(lambda: formatting.format_text(small)) + 1000


@pytest.mark.parametrize("name", [name for name in PROGRAMS if "quotes" in name or "closed" in name])
def test_what_is_never_closed_is_looked_for_once(name: str) -> None:
    assert build(PROGRAMS[name](20_000)).diagnostics  # to the end for each of them would take hours


def told(compiled: Compiled) -> set[str]:
    return {one.rule for one in compiled.diagnostics if one.severity == "error"}


def test_a_short_text_cannot_ask_for_a_huge_plan() -> None:
    params = ", ".join(f"p{number}: Int = 1" for number in range(2000))
    assert told(build(workflow(lines(2000, "x# = F()"), f"facet F({params})"))) == {"size"}
    scripts = "".join("andThen script { x = 1 } " for _ in range(2500))
    assert told(build(f"namespace n {{ workflow W() => (a: Int) {scripts} }}")) == {"size"}
    chain = "\n".join(f"workflow W{number}() andThen {{ x = W{number + 1}() }}" for number in range(700))
    assert told(build(f"namespace n {{ {chain} workflow W700() }}")) == {"plan"}
