"""The grammar of the reference page is what the parser reads, and everything in it is run by a test."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import test_found_in_the_wild
import test_meaning
import test_mended
from afl_programs import arguments, build
from afl_programs import run as run_in_memory

from weft.afl import parser
from weft.afl.diagnostic import Report
from weft.afl.rules import RULES
from weft.afl.source import Source
from weft.afl.syntax import Body, Catch, Declaration, File
from weft.afl.walking import steps_of

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "afl.md"
TERMINALS = {
    "id": ["a", "model", "in", "x1", "catch"], "qname": ["F", "a.b.F", "in.model"], "string": ['"text"', '"a\nb"'],
    "doc": ["/** told */"], "python": ["x = {'a': 1}"], "literal": ["1", "1.5e3", "true", "null", '"t"'],
    "expr": ["$.a", "1 + 2 * -3", "a.b[0].c", "[1, 2,]", '#{"k": 1, k2: []}', "(1 < 2) && !true || a == null", '"a" ++ 1'],
}  # fmt: skip
_TOKEN = re.compile(r'"[^"]*"|[A-Za-z]+|[\[\](){}|=;]')


def productions() -> dict[str, list[str]]:
    """The page's grammar, but for expressions, whose line is for people."""
    text = re.search(r"## Grammar\n\n```\n(.*?)```", PAGE.read_text(), re.S)
    assert text is not None
    rules = re.sub(r"\(\*.*?\*\)", "", text[1]).partition("\nref ")[0]
    found: dict[str, list[str]] = {}
    for rule in re.split(r";(?=\s|$)", rules):
        if rule.strip():
            name, _, body = rule.partition("=")
            found[name.strip()] = _TOKEN.findall(body)
    return found


class Grammar:
    """Says sentences, and remembers which alternatives it has said."""

    def __init__(self, dice: random.Random) -> None:
        self.rules, self.dice, self.said = productions(), dice, set[tuple[str, int]]()

    def say(self, name: str, depth: int = 0) -> str:
        if name in TERMINALS:
            return self.dice.choice(TERMINALS[name])
        return " ".join(self._alternatives(iter(self.rules[name]), "", depth, name))

    def _alternatives(self, tokens: Iterator[str], closing: str, depth: int, name: str) -> list[str]:
        """One of the alternatives up to a bracket. All are read, and one is said."""
        parts: list[list[tuple[str, Any]]] = [[]]
        for token in tokens:
            if token == closing:
                break
            if token == "|":
                parts.append([])
            elif token in "[({":
                end = {"[": "]", "(": ")", "{": "}"}[token]
                inner = self._alternatives(tokens, end, depth + 1, f"{name}{token}")
                again = {"[": depth < 8 and self.dice.random() < 0.5, "{": depth < 8 and self.dice.random() < 0.6, "(": True}
                parts[-1].append(("said", inner if again[token] else []))
            else:
                parts[-1].append(("word", token))
        number = self.dice.randrange(len(parts))
        self.said.add((name, number))
        made = [word for kind, what in parts[number] for word in (what if kind == "said" else [what])]
        if closing:
            return made
        return [one[1:-1] if one.startswith('"') else self.say(one, depth + 2) for one in made]


def test_the_parser_reads_all_that_the_page_says() -> None:
    grammar = Grammar(random.Random(1))
    told: set[str] = set()
    for _ in range(400):
        text = grammar.say("program")
        report = Report()
        parser.parse(Source("said.afl", text), report)
        told |= {str(one) for one in report.diagnostics() if RULES[one.rule].family == "syntax" and one.rule != "depth"}
        assert not told, f"{told}\n{text}"
    assert {name for name, _ in grammar.said} >= {*grammar.rules}


def constructs(file: File) -> Iterator[str]:
    """What a program has of the grammar: where, and what."""
    for space in file.namespaces:
        yield from ("schema" for _ in space.schemas)
        yield from ("implicit" for _ in space.implicits)
        for one in space.declarations:
            yield one.kind
            yield from _of_declaration(one)


def _of_declaration(one: Declaration) -> Iterator[str]:
    yield from (f"declaration {name}" for name in ("script", "prompt") if getattr(one, name) is not None)
    yield from ("signature with" for _ in one.mixins)
    yield from _bodies("declaration", one.bodies, one.catch)
    for step in steps_of(one):
        yield from ("call with" + (" as" if mixin.alias else "") for mixin in step.call.mixins)
        yield from _bodies("step", step.bodies, step.catch)


def _bodies(where: str, bodies: list[Body], catch: Catch | None) -> Iterator[str]:
    yield from (f"{where} {body.word} {body.kind}" for body in bodies)
    if catch is not None:
        yield f"{where} catch{' when' if catch.cases else ''}"


WANTED = {
    "schema", "implicit", "facet", "event", "workflow", "signature with", "call with", "call with as", "declaration script",
    "declaration prompt",
    *(f"{where} {what}" for where in ("declaration", "step") for what in (
        "andThen block", "andThen foreach", "andThen when", "andThen script", "andMap foreach", "andMatch match", "catch",
        "catch when")),
}  # fmt: skip


def test_every_construct_is_run_by_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def run(text: str, *args: Any, **named: Any) -> Any:
        ran.append(text)
        return run_in_memory(text, *args, **named)

    for module in (test_meaning, test_found_in_the_wild, test_mended):
        monkeypatch.setattr(module, "run", run)
        for name, test in vars(module).items():
            for given in arguments(test) if name.startswith("test_") else ():
                test(**given)
    found = {one for text in ran for file in build(text).program.files for one in constructs(file)}
    assert found >= WANTED, WANTED - found
