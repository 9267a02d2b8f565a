"""Every rule of the checks: a program that breaks it, and nearly the same one that does not."""

# ruff: noqa: E501
import pytest
from afl_programs import build, rules

from weft.afl import compiling
from weft.afl.rules import RULES
from weft.afl.source import Source

E = "event facet E(a: Int = 1) => (b: Int, text: String, list: [Int], ok: Boolean) "


def n(body: str) -> str:
    return f"namespace n {{ {E} {body} }}"


def w(body: str, returns: str = "out: Json") -> str:
    return n(f"workflow W(p: Int = 1, q: [Int] = [], j: Json = null, s: String = \"\") => ({returns}) andThen {{ {body} }}")


BAD_AND_GOOD: dict[str, tuple[str, str]] = {
    "syntax": (w("x = = E()"), w("x = E()")),
    "character": (w("x = E() @"), w("x = E() /* @ */")),
    "string": (n('facet F(x: String = "a) }'), n('facet F(x: String = "a")')),
    "number": (n("facet F(x: Long = 9223372036854775808)"), n("facet F(x: Long = 9223372036854775807)")),
    "unclosed": ("namespace n { facet F()", "namespace n { facet F() }"),
    "depth": (n("facet F(x: Int = " + "(" * 60 + "1" + ")" * 60 + ")"), n("facet F(x: Int = " + "(" * 20 + "1" + ")" * 20 + ")")),
    "size": ("// " + "x" * (8 * 1024 * 1024), "// " + "x" * 1024),
    "bare-map": (n("facet F(x: Json = {})"), n("facet F(x: Json = #{})")),
    "duplicate-name": (n("facet E()"), n("facet F()")),
    "duplicate-step": (w("x = E() x = E()"), w("x = E() y = E() andThen { x = E() }")),
    "duplicate-field": (n("schema S { a: Int, a: Int }"), n("schema S { a: Int, b: Int }")),
    "duplicate-param": (n("facet F(a: Int, a: Int)"), n("facet F(a: Int) => (a: Int)")),
    "duplicate-return": (n("facet F() => (a: Int, a: Int)"), n("facet F() => (a: Int, b: Int)")),
    "duplicate-argument": (w("x = E(a = 1, a = 2)"), w("x = E(a = 1)")),
    "duplicate-key": (w('yield W(out = #{"k": 1, k: 2})'), w('yield W(out = #{"k": 1, l: 2})')),
    "duplicate-alias": (
        n("facet M(x: Int = 1) workflow W() andThen { e = E() with M() as m with M() as m }"),
        n("facet M(x: Int = 1) workflow W() andThen { e = E() with M() as m with M() as k }"),
    ),
    "workflow-outside": ("workflow W()", "namespace n { workflow W() }"),
    "schema-outside": ("schema S { a: Int }", "namespace n { schema S { a: Int } }"),
    "unknown-use": (n("use m"), n("use m") + " namespace m { }"),
    "unknown-facet": (w("x = Nobody()"), w("x = n.E()")),
    "unknown-type": (n("facet F(x: Strin)"), n("facet F(x: [String])")),
    "ambiguous-name": (
        "namespace a { facet F() } namespace b { facet F() } namespace c { workflow W() andThen { x = F() } }",
        "namespace a { facet F() } namespace b { facet F() } namespace c { use a workflow W() andThen { x = F() } }",
    ),
    "unknown-param": (w("x = E(a = $.nobody)"), w("x = E(a = $.p)")),
    "unknown-step": (w("x = E(a = y.b)"), w("y = E() x = E(a = y.b)")),
    "forward-step": (w("x = E(a = y.b) y = E()"), w("y = E() x = E(a = y.b)")),
    "step-cycle": (w("x = E(a = y.b) y = E(a = x.b)"), w("x = E() y = E(a = x.b)")),
    "self-step": (w("x = E(a = x.b)"), w("x = E() andThen { y = E(a = x.b) }")),
    "sibling-step": (w("x = E() andThen { y = E() } z = E(a = y.b)"), w("x = E() y = E() z = E(a = y.b)")),
    "hidden-step": (w("x = E() andThen foreach v in $.q { y = E() } z = E(a = y.b)"), w("x = E() andThen foreach v in $.q { y = E() z = E(a = y.b) }")),
    "unknown-attribute": (w("x = E() y = E(a = x.nobody)"), w("x = E() y = E(a = x.a)")),
    "missing-argument": (n("facet F(a: Int) workflow W() andThen { x = F() }"), n("facet F(a: Int) workflow W() andThen { x = F(a = 1) }")),
    "unknown-argument": (w("x = E(c = 1)"), w("x = E(a = 1)")),
    "no-effect": (
        n("facet F(a: Int) workflow W() andThen { x = F(a = 1) with Timeout(minutes = 1) }"),
        n("workflow W() andThen { x = E(a = 1) with Timeout(minutes = 1) }"),
    ),
    "secret-constant": (w("x = E() with Credentials(secret = $.s)"), w('x = E() with Credentials(secret = "TOKEN")')),
    "type-mismatch": (w('x = E(a = "1")'), w("x = E(a = 1)")),
    "narrowing": (w("x = E(a = 1.5)"), w("x = E(a = 1)")),
    "record-as-text": (
        n("schema S { a: Int } event facet T(t: String) workflow W() andThen { s = S(a = 1) t = T(t = s) }"),
        n("schema S { a: Int } event facet T(t: S) workflow W() andThen { s = S(a = 1) t = T(t = s) }"),
    ),
    "made-list": (w("x = E() yield W(out = x.text ++ 1)", "out: [Json]"), w("x = E() yield W(out = x.list ++ [1])", "out: [Int]")),
    "operator-type": (w("x = E() yield W(out = x.text + 1)"), w("x = E() yield W(out = x.text ++ 1)")),
    "condition-type": (
        n("workflow W(p: Int) andThen when { case $.p => { } case _ => { } }"),
        n("workflow W(p: Int) andThen when { case $.p > 0 => { } case _ => { } }"),
    ),
    "not-iterable": (n("workflow W(p: Int) andThen foreach v in $.p { }"), n("workflow W(p: [Int]) andThen foreach v in $.p { }")),
    "yield-target": (w("yield E(b = 1)"), w("x = E() andThen { yield E(b = 1) }")),
    "unknown-output": (w("yield W(nobody = 1)"), w("yield W(out = 1)")),
    "duplicate-yield": (w("yield W(out = 1) yield W(out = 2)"), w("yield W(out = 1)")),
    "last-wins": (
        n("workflow W(p: [Int]) => (out: Int) andThen foreach v in $.p { yield W(out = v) }"),
        n("workflow W(p: [Int]) => (out: [Int]) andThen foreach v in $.p { yield W(out = v) }"),
    ),
    "no-default-case": (
        n("workflow W(p: Int) andThen when { case $.p > 0 => { } }"),
        n("workflow W(p: Int) andThen when { case $.p > 0 => { } case _ => { } }"),
    ),
    "default-not-last": (
        n("workflow W(p: Int) andMatch { case _ => { } case $.p > 0 => { } }"),
        n("workflow W(p: Int) andMatch { case $.p > 0 => { } case _ => { } }"),
    ),
    "prompt-template": (n('event facet P() prompt { system "x" }'), n('event facet P() prompt { template "x" }')),
    "unknown-placeholder": (
        n('event facet P(a: Json) prompt { template "{b}" }'),
        n('event facet P(a: Json) prompt { template "{a.b} { not } {}" }'),
    ),
    "empty-script": (n("facet F() script { # nothing\n }"), n('facet F() script { result["a"] = 1 }')),
    "script-syntax": (n("facet F() script { if : }"), n("facet F() script { if 1: pass\n }")),
    "recursive-call": (n("workflow A() andThen { x = B() } workflow B() andThen { x = A() }"), n("workflow A() andThen { x = B() } workflow B() andThen { x = E() }")),
    "recursive-schema": (n("schema A { b: [B] } schema B { a: A }"), n("schema A { b: [B] } schema B { a: Int }")),
    "plan": (
        n("workflow W(j: Json = \"" + "x" * 3_000_000 + "\") => (out: Json) andThen { a = E() yield W(out = \"" + "\u20ac" * 2_000_000 + "\") }"),
        n('workflow W(j: Json = "x") => (out: Json) andThen { a = E() yield W(out = "y") }'),
    ),
}  # fmt: skip


def test_every_rule_has_its_programs() -> None:
    assert set(BAD_AND_GOOD) == set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_a_program_that_breaks_it_is_told(rule: str) -> None:
    found = [one for one in build(BAD_AND_GOOD[rule][0]).diagnostics if one.rule == rule]
    assert found and found[0].severity == RULES[rule].severity
    assert found[0].excerpt[found[0].column - 1 :] or rule in ("unclosed", "size")


@pytest.mark.parametrize("rule", RULES)
def test_one_that_does_not_is_fine(rule: str) -> None:
    assert rules(BAD_AND_GOOD[rule][1]) == []


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("duplicate-name", "namespace n { facet F() } namespace n { facet F() }"),
        ("duplicate-name", "namespace n { facet F() implicit F = F() }"),
        ("unknown-use", "namespace n { use n.Nobody }"),
        ("duplicate-step", w("x = E() andThen { x = E() }")),
        ("duplicate-step", w("x = E() catch { x = E() }")),
        ("unknown-step", w("x = E() catch { yield W(out = x) }")),
        ("hidden-step", w("x = E() andThen { y = E() } catch { z = E(a = y.b) }")),
        ("unknown-facet", w("x = a.b.Nobody()")),
        ("unknown-facet", w("x = E() with Nobody()")),
        ("unknown-facet", n("implicit i = Nobody()")),
        ("unknown-type", n("schema S { a: [Nobody] }")),
        ("unknown-type", n("facet F() => (a: E)")),
        ("unknown-param", n("implicit i = E(a = $.x)")),
        ("unknown-step", w("yield W(out = nobody.x)")),
        ("unknown-step", w("x = E(a = p)")),
        ("unknown-attribute", w("x = E() catch { y = E(a = x.b) }")),
        ("unknown-attribute", w("x = E(a = $.p.field)")),
        ("unknown-attribute", n("schema S { a: Int } workflow W() => (o: Int) andThen { s = S(a = 1) yield W(o = s.b) }")),
        ("missing-argument", n("facet M(x: Int) workflow W() andThen { e = E() with M() }")),
        ("unknown-argument", w("x = E() with Retry(often = 3)")),
        ("type-mismatch", n('facet F(a: Int = "x")')),
        ("type-mismatch", n('facet F() => (a: [Int] = ["x"])')),
        ("type-mismatch", w("yield W(out = 1)", "out: String")),
        ("type-mismatch", n("schema S { a: Int } workflow W() andThen { s = S(a = true) }")),
        ("type-mismatch", w("x = E(a = null)")),
        ("type-mismatch", w("x = E() with Retry(maxAttempts = 0)")),
        ("type-mismatch", w("x = E() with Timeout(seconds = 0)")),
        ("operator-type", w('yield W(out = "a" < 1)')),
        ("operator-type", w("yield W(out = !1)")),
        ("operator-type", w('yield W(out = -"a")')),
        ("operator-type", w("yield W(out = 1 && true)")),
        ("operator-type", w('yield W(out = [1]["a"])')),
        ("operator-type", w("yield W(out = $.s[0])")),
        ("condition-type", w('x = E() catch when { case "x" => { } case _ => { } }')),
        ("no-default-case", w("x = E() catch when { case error == \"x\" => { } }")),
        ("not-iterable", w("x = E() andMap v in x.ok { }")),
        ("last-wins", w("x = E() andThen foreach v in $.q { yield W(out = v) }")),
        ("default-not-last", n("workflow W() andThen when { case _ => { } case _ => { } }")),
        ("duplicate-step", w("x = E() catch { y = E() y = E() }")),
        ("hidden-step", n("workflow W() andThen { x = E() } andThen foreach i in [1] { z = E() } andThen { y = E(a = z.b) }")),
        ("secret-constant", n('event facet B() andThen { } workflow W() andThen { x = B() with Credentials(secret = "S") }')),
        ("string", n('facet F(x: String = "\\u0000")')),
        ("string", n('facet F(x: String = "\\ud800")')),
        ("number", n("facet F(x: Double = 1.5e999)")),
        ("number", n("facet F(x: Double = 1e3)")),
        ("unclosed", "namespace n { /* "),
        ("unclosed", "namespace n { facet F() script { x"),
    ],
)  # fmt: skip
def test_other_ways_to_break_rules(rule: str, text: str) -> None:
    assert rule in rules(text)


def test_several_errors_are_told_at_once() -> None:
    text = """namespace n {
    facet (a: Int)
    event facet E(a Int)
    workflow W() => (out: Int) andThen {
        x = E(1)
        y = nothing
        z = E(a = 1 +)
        yield W(out = x.b
    }
    facet Fine(a: Int)
    workflow V() andThen { x = Fine(a = "s") }
}"""
    lines = sorted({one.line for one in build(text).diagnostics})
    assert {2, 3, 5, 6, 7, 11} <= set(lines)


def test_externals_are_warnings_if_they_are_allowed_and_become_tasks() -> None:
    text = w('x = far.away.Agent(a = 1) y = Near() yield W(out = x.anything)')
    assert set(rules(text)) == {"unknown-facet"} and not build(text).ok
    compiled = build(text, allow_external=True)
    assert compiled.ok and [one.severity for one in compiled.diagnostics] == ["warning", "warning"]
    kinds = [node.work.kind for block in compiled.plans["n.W"].blocks for node in block.nodes if hasattr(node.work, "kind")]
    assert kinds == ["far.away.Agent", "Near"]


def test_a_librarys_warnings_are_its_own_affair_and_it_has_no_plans() -> None:
    library = Source("lib.afl", "workflow Outside() namespace lib { facet F() }", library=True)
    compiled = compiling.compile_sources([Source("a.afl", "namespace n { use lib workflow W() andThen { f = F() } }"), library])
    assert compiled.diagnostics == [] and list(compiled.plans) == ["n.W"]
