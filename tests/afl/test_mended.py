"""What programs may rely on beyond single rules: one wrong thing is told once, values are of their types, nothing is lost."""

# ruff: noqa: E501
from typing import Any

import pytest
from afl_programs import Failure, build, rules, run

from weft.afl import formatting, lexer, library
from weft.afl.diagnostic import Report
from weft.afl.source import Source

E = "event facet E(a: Int = 1) => (b: Int) schema C { a: Int } "


def w(body: str, *, returns: str = "out: Json", params: str = "", before: str = E) -> str:
    return f"namespace n {{ {before} workflow W({params}) => ({returns}) {body} }}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("schema S { a: , b: Int }\n schema T { c: Int }\n facet F(s: S)\n workflow W(s: S) andThen { f = F(s = $.s) }", ["syntax"]),
        ('event facet P(x: Int) => (y: Int) prompt { sistem "a" template "{x}" }\n schema T { c: Int }\n workflow W() andThen { f = P(x = 1) }', ["syntax"]),
        ("event facet P(x Int, z: Int) => (y: Int)\n schema T { c: Int }\n workflow W() andThen { f = P(x = 1) g = P(z = f.y) }", ["syntax"]),
        ("event facet P(x: Int => (y: Int)\n workflow W() andThen { f = P(x = 1) g = P(x = f.y) }", ["syntax"]),
        ("facet P(x: Int) => (y: Int) andThen foreach { e = E() }\n schema T { c: Int }\n workflow W() andThen { f = P(x = 1) g = P(x = f.y) }", ["syntax"]),
        ("workflow W(q Int) => (out: Int) andThen { e = E(a = $.q) yield W(out = e.b) }", ["syntax"]),
        ("workflow W() => (out Int) andThen { e = E() yield W(out = e.b) }", ["syntax"]),
    ],
)  # fmt: skip
def test_one_mistake_is_told_once(text: str, expected: list[str]) -> None:
    assert rules(f"namespace n {{ {E}\n {text} }}") == expected


@pytest.mark.parametrize(
    ("body", "returns", "out"),
    [
        ("andThen foreach v in [1, 2] { yield W(out = [v, v]) }", "out: [[Int]]", [[1, 1], [2, 2]]),
        ("andThen foreach v in [1, 2] { yield W(out = [v, v]) }", "out: [Int]", [1, 1, 2, 2]),
        ("andThen foreach v in [1, 2] { yield W(out = []) }", "out: [[Int]]", [[], []]),
        ("andThen foreach v in [1, 2] { x = E() andThen foreach u in [3, 4] { yield W(out = [v, u]) } }", "out: [[Int]]", [[1, 3], [1, 4], [2, 3], [2, 4]]),
        ("andThen { yield W(out = null) }", "out: Json = 5", None),
        ('andThen { c = C(a = 1) yield W(out = c) }', "out: String", '{"a":1}'),
        ("andThen when { case false => { yield W(out = 1) } case _ => { } }", "out: Int = 5", 5),
        ("andThen { yield W(out = null) } catch { yield W(out = 2) }", "out: Json = 5", None),
        ("script { for i in [1, 2]:\n            result['out'] = i }", "out: Int", 2),
        ("script { x = 1\n  result['out'] = x }", "out: Int", 1),
        ("andThen { yield W(out = -9223372036854775808) }", "out: Long", -(2**63)),
    ],
)  # fmt: skip
def test_what_is_yielded_is_what_comes_out(body: str, returns: str, out: Any) -> None:
    assert run(w(body, returns=returns), E={"b": 1}) == {"out": out}


@pytest.mark.parametrize(
    ("body", "value", "words"),
    [
        ("andThen { yield W(out = [1, 2][7]) }", 0, "there is no element 7"),
        ('andThen { yield W(out = #{"a": 1}["b"]) }', 0, "no field 'b'"),
        ("andThen { yield W(out = $.x.deep.er) }", {"deep": {}}, "no field 'er'"),
        ("andThen { yield W(out = $.x) }", "text", "return 'out': must be of type number, not the text 'text'"),
        ("andThen { e = E(a = $.x) yield W(out = e.b) }", "text", "argument 'a': must be of type number"),
        ("andThen { e = E() andThen { yield E(b = $.x) } yield W(out = e.b) }", "text", "return 'b': must be of type number"),
    ],
)  # fmt: skip
def test_a_value_that_is_not_there_or_of_another_type_is_an_error(body: str, value: Any, words: str) -> None:
    found = run(w(body, returns="out: Int = 5", params="x: Json"), {"x": value}, E={"b": 1})
    assert found.startswith("failed: ") and words in found
    assert run(w(f"{body} catch {{ yield W(out = 6) }}", returns="out: Int = 5", params="x: Json"), {"x": value}, E={"b": 1}) == {"out": 6}


def test_json_text_is_read_where_a_record_or_list_is_wanted() -> None:
    before = 'schema Q { ok: Boolean } event facet S() => (q: Q, l: [Int]) facet T() => (q: Q) script { import json\nresult["q"] = json.dumps({"ok": True}) }'
    text = w("andThen { s = S() t = T() yield W(out = [s.q.ok, s.l[0], t.q.ok]) }", before=before)
    assert run(text, S={"q": '{"ok": false}', "l": "[7]"}) == {"out": [False, 7, True]}
    assert "must be a list" in run(text, S={"q": '{"ok": false}', "l": "no"})


def test_a_return_of_the_only_step_that_has_it_is_found_from_a_later_block() -> None:
    before = "event facet Plan() => (tasks: Json) event facet Other() => (more: Json)"
    text = w("andThen { p = Plan() o = Other() } andThen foreach t in $.tasks { yield W(out = t.name) }", returns="out: [Json]", before=before)
    assert run(text, Plan={"tasks": [{"name": 1}, {"name": 2}]}, Other={"more": 1}) == {"out": [1, 2]}
    assert rules(text) == ["sibling-step"]
    assert rules(text.replace("o = Other()", "o = Plan()")) == ["unknown-param"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (w("andThen { l = L(l = [1, \"a\"]) }", before="facet L(l: [Int])"), ["type-mismatch"]),
        (w("andThen { e = E() with Retry(maxAttempts = $.s) }", params="s: String"), ["type-mismatch"]),
        (w("andThen { e = E() with Timeout(minutes = true) }"), ["type-mismatch", "type-mismatch"]),
        (w("", before=f"{E} implicit i = E(a = 1) with Nobody()"), ["no-effect", "unknown-facet"]),
        (w("", before=f"{E} implicit i = E(a = 1) with Retry(maxAttempts = 2)"), ["no-effect"]),
        (w("andThen { yield W(out = 1) with Nobody(x = 1) }"), ["no-effect", "unknown-facet"]),
        (w("andThen { q = Q(m = 1) with M() as m }", before="facet M(x: Int = 1) event facet Q(m: Json)"), ["duplicate-alias"]),
    ],
)  # fmt: skip
def test_what_was_passed_over_is_told(text: str, expected: list[str]) -> None:
    assert sorted(rules(text)) == expected


def test_an_alias_that_is_a_param_gives_it() -> None:
    text = w("andThen { q = Q() with M(x = 3) as m yield W(out = q.n) }", before="facet M(x: Int = 1) event facet Q(m: Json) => (n: Int)")
    assert run(text, Q=lambda args: {"n": args["m"]["x"]}) == {"out": 3}


def test_an_implicit_gives_what_its_mixins_say() -> None:
    before = f"{E} facet Many(a: Int = 0) implicit i = E() with Many(a = 4)"
    assert run(w("andThen { e = E() yield W(out = e.b) }", before=before), E=lambda args: {"b": args["a"]}) == {"out": 4}


def test_a_script_that_cannot_be_read_is_told_on_its_line() -> None:
    [told] = build(w("script {\n\n    x = 1\n    y = = 2\n}")).diagnostics
    assert (told.rule, told.line, told.column, told.excerpt) == ("script-syntax", 4, 5, "    y = = 2")


@pytest.mark.parametrize(
    "text",
    [
        "script /* why */ { x = 1 }", "script // why\n{ x = 1 }", "script python /* why */ { x = 1 }",
        "script /* python */ { x = 1 }", "andThen script /* why */ python { x = 1 }",
    ],
)  # fmt: skip
def test_comments_before_a_script_stay(text: str) -> None:
    whole = w(text)
    made = formatting.format_text(whole)
    before, after = (lexer.lex(Source("", one), Report()) for one in (whole, made))
    assert [one[:2] for one in before.tokens] == [one[:2] for one in after.tokens]
    assert made.count("why" if "why" in text else "/* python */") == 1 and formatting.format_text(made) == made


FILES = {
    "beside.afl": "namespace own { facet Beside(s: types.Inner) with mixed.Signed() }",
    "types.afl": "namespace types { use deeper schema Inner { d: deeper.Deep } }",
    "deeper.afl": "namespace deeper { schema Deep { x: Int } }",
    "mixed.afl": "namespace mixed { facet Signed(a: Int = 1) }",
    "implied.afl": "namespace implied { facet Target(x: Int) }",
    "unused.afl": "namespace own { facet NotTwice() } namespace unused { }",
}


def test_files_are_found_by_all_that_a_program_names() -> None:
    main = Source("main.afl", "namespace own { facet Here() implicit i = implied.Target(x = 1) workflow W(s: types.Inner) andThen { b = Beside(s = $.s) h = Here() } }")
    index: dict[str, list[str]] = {}
    for name, text in FILES.items():
        for namespace in library.declares(text):
            index.setdefault(namespace, []).append(name)
    found = library.resolve([main], index, lambda name: Source(name, FILES[name], library=True))
    assert {one.name for one in found} >= {"main.afl", "beside.afl", "types.afl", "deeper.afl", "mixed.afl", "implied.afl"}
    assert not rules(main.text, *(one.text for one in found[1:]))
    own = Source("main.afl", "namespace own { facet Here() workflow W() andThen { h = Here() } }")
    assert library.resolve([own], index, lambda name: Source(name, FILES[name])) == [own]


def test_a_catch_of_a_declaration_may_have_cases() -> None:
    text = w("""andThen { x = Bad() yield W(out = x.n) } catch when {
        case error == "down" => { yield W(out = "it is " ++ error) }
        case _ => { yield W(out = error_type) } }""", before="event facet Bad() => (n: Int)")  # fmt: skip

    def fails(_args: Any) -> Any:
        raise Failure("down")

    assert run(text, Bad=fails) == {"out": "it is down"}
    assert run(text, Bad={"n": 1}) == {"out": 1}


def test_a_prompt_is_asked_with_its_params() -> None:
    before = 'facet P(name: String) => (text: String) prompt { system "s" template "Hello {name}" model "m" }'
    text = w('andThen { p = P(name = "Ada") yield W(out = p.text) }', before=before)
    assert run(text, P=lambda args: {"text": f"to {args['name']}"}) == {"out": "to Ada"}


def test_a_step_has_the_bodies_that_a_declaration_has() -> None:
    before = "event facet Add(a: Int, b: Int) => (sum: Int) facet P(x: Int) => (y: Int, l: [Int])"
    text = w("""andThen {
        m = P(x = 1) andMap v in [1, 2] { s = Add(a = v, b = m.x) yield P(l = s.sum) }
        c = P(x = 2) andMatch { case $.x == 1 => { yield P(y = 1) } case $.x == 2 => { yield P(y = 20) } case _ => { yield P(y = 3) } }
        t = P(x = 3) andThen { yield P(y = 4) } andThen script { result["y"] = params["x"] * params["y"] }
        yield W(out = [m.l, c.y, t.y]) }""", before=before)  # fmt: skip
    assert run(text, Add=lambda args: {"sum": args["a"] + args["b"]}) == {"out": [[2, 3], 20, 12]}
