"""What each construct means: programs compiled, run in memory by the pure rooms, and their observable results."""

# ruff: noqa: E501, UP031

from typing import Any

import pytest
from afl_programs import Failure, agent, build, clean, run, running

ADD = "event facet Add(a: Int, b: Int) => (sum: Int)"


def add(args: dict[str, int]) -> dict[str, int]:
    return {"sum": args["a"] + args["b"]}


def w(body: str, *, params: str = "", returns: str = "out: Json", before: str = "") -> str:
    return f"namespace n {{ {before} workflow W({params}) => ({returns}) {body} }}"


def expression(text: str, **params: Any) -> Any:
    declared = ", ".join(f"{name}: Json" for name in params)
    found = run(w(f"andThen {{ yield W(out = {text}) }}", params=declared), params)
    return found if isinstance(found, str) and found.startswith("failed") else found["out"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("7 / 2", 3.5), ("-7 % 3", 2), ("1.5e3", 1500.0), ("- -2", 2), ("+$.n", 5),
        ('"a" ++ 1 ++ true ++ null', "a1truenull"), ("1 == true", False), ("1 == 1.0", True), ('"a" < "b"', True),
        ("!true || 1 < 2 && 2 >= 2", True), ("false && 1 / 0 == 1", False), ("[1, 2, 3,][1]", 2),
        ('#{"a": 1, b: [2]}.b[0]', 2), ('#{"a": #{"b": 3}}["a"].b', 3), ("$.n * 2", 10), ("[$.n, #{x: $.n}]", [5, {"x": 5}]),
        ('"\\u00e9\\x41\\n\\q"', "éA\n\\q"), ('"two\nlines"', "two\nlines"), ("[]", []), ("#{}", {}), ("null", None),
        ("2 + 3 ++ \"x\"", "5x"), ("1 + 1 == 2", True), ("$.n != 5", False), ("10 - 2 - 3", 5),
    ],
)  # fmt: skip
def test_expressions(text: str, value: Any) -> None:
    if value is None:
        assert expression(text, n=5) is None
    else:
        assert expression(text, n=5) == value


def test_a_zero_divisor_is_an_error_of_the_step() -> None:
    assert expression("1 / $.n", n=0) == "failed: 1 / 0: the divisor is zero"
    assert "divisor" in expression("1 % $.n", n=0)


def test_an_event_facet_is_a_task_and_steps_wait_for_what_they_name() -> None:
    text = w("andThen { x = Add(a = 1, b = $.n) y = Add(a = x.sum, b = x.a) yield W(out = y.sum) }", params="n: Int", before=ADD)
    assert run(text, {"n": 2}, Add=add) == {"out": 4}
    plan = clean(text).plans["n.W"]
    kinds = [node.work.kind for block in plan.blocks for node in block.nodes if isinstance(node.work, running.Task)]
    assert kinds == ["n.Add", "n.Add"]


def test_a_facet_is_a_record_with_its_defaults() -> None:
    before = 'facet P(x: Int, y: Int = 2, name: String = "p" ++ $.x) => (z: Int = 9)'
    assert run(w('andThen { p = P(x = 1) yield W(out = [p.x, p.y, p.name, p.z]) }', before=before)) == {"out": [1, 2, "p1", 9]}


def test_a_schema_builds_a_record() -> None:
    text = w("andThen { c = Cfg(a = 1, b = [2]) d = Take(cfg = c) yield W(out = d.cfg.b[0] + c.a) }",
             before="schema Cfg { a: Int, b: [Int] } facet Take(cfg: Cfg)")  # fmt: skip
    assert run(text) == {"out": 3}


def test_a_facet_with_a_body_is_a_sub_computation_and_a_workflow_can_be_a_step() -> None:
    text = """namespace n { %s
      facet Twice(x: Int) => (y: Int) andThen { s = Add(a = $.x, b = $.x) yield Twice(y = s.sum) }
      workflow Inner(x: Int, plus: Int = 1) => (y: Int) andThen { t = Twice(x = $.x) yield Inner(y = t.y + $.plus) }
      workflow W(n: Int) => (out: Int, given: Int) andThen { i = Inner(x = $.n) t = Twice(x = i.y)
        yield W(out = t.y, given = t.x + i.plus) } }""" % ADD
    assert run(text, {"n": 3}, Add=add) == {"out": 14, "given": 8}


def test_bodies_of_one_declaration_run_beside_each_other() -> None:
    text = w("andThen { a = Add(a = 1, b = 1) yield W(x = a.sum) } andThen { b = Add(a = 2, b = 2) yield W(y = b.sum) }",
             returns="x: Int, y: Int, z: Int = 7", before=ADD)  # fmt: skip
    assert run(text, Add=add) == {"x": 2, "y": 4, "z": 7}
    plan = clean(text).plans["n.W"]
    edges = running.Run(plan, agent(), 0).edges["n.W"]
    assert edges.upstream == {"andThen#1": (), "andThen#2": ()}


@pytest.mark.parametrize("word", ["andThen foreach", "andMap"])
def test_foreach_runs_once_for_each_element_and_collects_in_their_order(word: str) -> None:
    text = w(f"{word} v in $.all {{ a = Add(a = v, b = $.v) yield W(sums = a.sum, last = a.sum) }}",
             params="all: [Int]", returns="sums: [Int], last: Int = -1", before=ADD)  # fmt: skip
    assert run(text, {"all": [1, 2, 3]}, Add=add) == {"sums": [2, 4, 6], "last": 6}
    assert run(text, {"all": []}, Add=add) == {"sums": [], "last": -1}


@pytest.mark.parametrize(
    ("given", "out"), [({"a": 1, "b": 2}, ["a", "b"]), ("xy", ["x", "y"]), (None, []), ([{"k": 1}, {"k": 2}], [1, 2])]
)  # fmt: skip
def test_foreach_over_maps_texts_and_nothing(given: Any, out: list[Any]) -> None:
    value = "v.k" if isinstance(given, list) else "v"
    text = w(f"andThen foreach v in $.all {{ yield W(out = {value}) }}", params="all: Json", returns="out: [Json]")
    assert run(text, {"all": given}) == {"out": out}


def test_foreach_over_a_number_is_an_error_of_the_step() -> None:
    text = w("andThen foreach v in $.all { yield W(out = v) }", params="all: Json", returns="out: [Json]")
    assert run(text, {"all": 5}) == "failed: foreach needs a list, a map or a text, not the number 5"


def test_foreach_in_foreach_collects_flat() -> None:
    text = w("""andThen foreach row in $.rows {
               r = Keep(v = row) andThen foreach cell in r.v { yield W(out = cell * 2) } }""",
             params="rows: [[Int]]", returns="out: [Int]", before="facet Keep(v: [Int])")  # fmt: skip
    assert run(text, {"rows": [[1, 2], [3], []]}) == {"out": [2, 4, 6]}


WHEN = w("""andThen when { case $.n > 0 => { yield W(a = "positive") } case $.n > 10 => { yield W(b = "large") }
         case _ => { yield W(a = "other") } }""", params="n: Int", returns="a: String, b: String")  # fmt: skip


@pytest.mark.parametrize(("n", "out"), [(5, {"a": "positive"}), (11, {"a": "positive", "b": "large"}), (-1, {"a": "other"})])
def test_when_runs_every_true_case_and_the_other_only_if_none_was(n: int, out: dict[str, str]) -> None:
    assert run(WHEN, {"n": n}) == out


@pytest.mark.parametrize(("n", "out"), [(5, {"a": "positive"}), (11, {"a": "positive"}), (-1, {"a": "other"})])
def test_and_match_runs_the_first_true_case_only(n: int, out: dict[str, str]) -> None:
    assert run(WHEN.replace("andThen when", "andMatch"), {"n": n}) == out


def test_and_match_looks_at_no_condition_after_the_true_one() -> None:
    text = w("andMatch { case $.n == 0 => { yield W(out = 0) } case 10 / $.n > 1 => { yield W(out = 1) } case _ => { yield W(out = 2) } }",
             params="n: Int")  # fmt: skip
    assert [run(text, {"n": n}) for n in (0, 2, 20)] == [{"out": 0}, {"out": 1}, {"out": 2}]


CATCH = w("""andThen { a = Add(a = 1, b = 2) catch { yield Add(sum = 0) } yield W(out = a.sum) }""", before=ADD)


def failing(message: str) -> Any:
    def do(_args: Any) -> Any:
        raise Failure(message)

    return do


def test_a_catch_makes_the_step_a_success() -> None:
    assert run(CATCH, Add=add) == {"out": 3}
    assert run(CATCH, Add=failing("no")) == {"out": 0}


def test_a_catch_knows_the_error_and_may_choose() -> None:
    text = w("""andThen { a = Add(a = 1, b = 2) catch when {
        case error == "no" => { yield Add(sum = 1) } case $.error_type == "Failure" => { yield W(out = "said " ++ a.error) }
        case _ => { yield Add(sum = 3) } } yield W(x = a.sum) }""", returns="out: String, x: Int", before=ADD)  # fmt: skip
    assert run(text, Add=failing("no")) == {"out": "said no", "x": 1}
    assert run(text, Add=failing("boom")) == {"out": "said boom"}


def test_a_catch_of_a_declaration_catches_all_its_bodies() -> None:
    text = w("andThen { a = Add(a = 1, b = 2) yield W(out = a.sum) } catch { yield W(out = \"caught \" ++ error) }", before=ADD)
    assert run(text, Add=add) == {"out": 3}
    assert run(text, Add=failing("no")) == {"out": "caught no"}


def test_a_yield_is_left_out_as_a_whole_if_a_caught_step_has_not_what_it_names() -> None:
    text = w("""andThen { a = Add(a = 1, b = 2) catch { yield W(out = "failed") } yield W(out = "fine", sum = a.sum) }""",
             returns="out: String, sum: Int = 0", before=ADD)  # fmt: skip
    assert run(text, Add=add) == {"out": "fine", "sum": 3}
    assert run(text, Add=failing("no")) == {"out": "failed", "sum": 0}


def test_a_param_of_a_step_of_another_block_can_be_read_if_the_step_has_a_catch() -> None:
    text = w("andThen { x = Add(a = 4, b = 5) catch { yield Add(sum = 0) } } andThen { yield W(out = x.a + x.sum) }",
             returns="out: Int", before=ADD)  # fmt: skip
    assert run(text, Add=add) == {"out": 13}


def test_defaults_and_mixins_that_name_other_params_are_computed() -> None:
    text = """namespace n { facet Label(name: String)
      event facet F(a: Int, b: Int = $.a + 1, c: Int = $.b * 2) => (seen: Json) with Label(name = "n" ++ $.a)
      event facet G(a: Int, b: Int = $.a + 1) => (seen: Json) with Label(name = "g" ++ $.b) andThen { yield G(seen = [$.seen, $.b]) }
      workflow W() => (f: Json, g: Json, b: Int, body: Int) andThen {
        f = F(a = 1) g = G(a = 5, b = 7)
        h = F(a = 2, b = 3) andThen { yield W(body = $.c) }
        yield W(f = f.seen, g = g.seen, b = f.b) } }"""
    assert run(text, F=lambda args: {"seen": args}, G=lambda args: {"seen": args}) == {
        "f": {"a": 1, "b": 2, "c": 4, "name": "n1"}, "g": [{"a": 5, "b": 7, "name": "g7"}, 7], "b": 2, "body": 6}  # fmt: skip


def test_catches_inside_catches_and_bodies_inside_bodies() -> None:
    text = w("""andThen { a = Add(a = 1, b = 1) andThen foreach v in $.all {
          b = Add(a = v, b = a.sum) catch { c = Add(a = 0, b = v) catch { yield W(bad = v ++ ": " ++ error) } yield W(ok = c.sum) }
          yield W(ok = b.sum) } }""", params="all: [Int]", returns="ok: [Int], bad: [String]", before=ADD)  # fmt: skip

    def some(args: Any) -> Any:
        if (args["b"] == 2 and args["a"] > 5) or (args["a"] == 0 and args["b"] > 8):
            raise Failure("too much")
        return add(args)

    assert run(text, {"all": [1, 7, 9]}, Add=some) == {"ok": [3, 7], "bad": ["9: too much"]}


def test_a_step_of_a_schema_or_an_external_may_have_a_body() -> None:
    text = """namespace n { schema S { a: Int }
      workflow W() => (out: Json, more: Json) andThen {
        s = S(a = 2) andThen { e = far.Agent(x = $.a) yield W(out = e.y) }
        f = far.Agent(x = 5) andThen { yield W(more = [f.y, f.x]) } } }"""
    compiled = build(text, allow_external=True)
    done = running.run(compiled.plans["n.W"], {}, agent(Agent=lambda args: {"y": args["x"] * 10}))
    assert done.result is not None and done.result.output == {"out": 20, "more": [50, 5]}


def test_a_body_deep_inside_yields_to_the_workflow() -> None:
    text = w("""andThen { a = Add(a = 1, b = 2) andThen when {
        case a.sum > 2 => { b = Add(a = a.sum, b = 10) yield W(out = b.sum) } case _ => { yield W(out = -1) } } }""",
             returns="out: Int", before=ADD)  # fmt: skip
    assert run(text, Add=add) == {"out": 13}


def test_a_step_in_another_block_can_be_named_if_that_block_comes_first() -> None:
    text = w("""andThen { a = Add(a = 1, b = 2) andThen { inner = Add(a = 5, b = 5) } c = Add(a = inner.sum, b = a.sum) }
        andThen { yield W(out = c.sum) }""", returns="out: Int", before=ADD)  # fmt: skip
    assert run(text, Add=add) == {"out": 13}


def test_an_inline_body_replaces_the_facets_own_and_sees_what_the_step_was_given() -> None:
    text = """namespace n { %s
      facet F(x: Int, more: Int = 10) => (y: Int = 100) andThen { yield F(y = 1) }
      workflow W(n: Int) => (own: Int, inline: Int, none: Int) andThen {
        a = F(x = $.n)
        b = F(x = $.n) andThen { s = Add(a = $.x, b = $.more + $.n) yield F(y = s.sum) }
        c = F(x = 1) andThen { s = Add(a = b.x, b = b.more) }
        yield W(own = a.y, inline = b.y, none = c.y) } }""" % ADD
    assert run(text, {"n": 2}, Add=add) == {"own": 1, "inline": 14, "none": 100}


def test_an_event_facet_with_a_body_is_done_first() -> None:
    text = """namespace n { %s
      event facet Load(path: String) => (rows: Int, text: String) andThen {
        s = Add(a = $.rows, b = 1) yield Load(text = $.path ++ " " ++ s.sum) }
      workflow W() => (out: String, rows: Int) andThen { l = Load(path = "p") yield W(out = l.text, rows = l.rows) } }""" % ADD
    assert run(text, Add=add, Load={"rows": 4, "text": ""}) == {"out": "p 5", "rows": 4}


def test_the_order_of_precedence_of_arguments() -> None:
    text = """namespace n {
      facet Opts(b: Int = 20, c: Int = 20)
      event facet F(a: Int = 4, b: Int = 4, c: Int = 4, d: Int = 4) => (all: [Int])
      implicit usual = F(a = 3, b = 3, c = 3)
      workflow W() => (out: Json) andThen { f = F(a = 1) with Opts(c = 2) yield W(out = f.all) } }"""
    assert run(text, F=lambda args: {"all": [args[name] for name in "abcd"]}) == {"out": [1, 20, 2, 4]}


def test_mixins_are_passed_on_flat_or_under_their_alias() -> None:
    text = """namespace n {
      facet Label(name: String = "any") facet Note(channel: String)
      event facet F(a: Int) => (seen: Json) with Label()
      workflow W() => (out: Json, via: String) andThen {
        f = F(a = 1) with Note(channel = "#x") as note with Timeout(minutes = 2) with Retry(maxAttempts = 2, backoffSeconds = 5)
        yield W(out = f.seen, via = f.note.channel) } }"""
    assert run(text, F=lambda args: {"seen": args}) == {
        "out": {"a": 1, "name": "any", "note": {"channel": "#x"}}, "via": "#x"}  # fmt: skip


def options(text: str) -> dict[str, Any]:
    plan = clean(text).plans["n.W"]
    [task] = [node.work for block in plan.blocks for node in block.nodes if isinstance(node.work, running.Task)]
    return {name: value.value for name, value in task.options.items()}


def test_timeout_and_retry_say_how_the_task_is_tried_and_the_call_wins() -> None:
    text = w("andThen { f = F() with Timeout(minutes = 2, seconds = 30) }",
             before="event facet F() with Timeout(hours = 1) with Retry(maxRetries = 2, backoff_ms = 500)")  # fmt: skip
    assert options(text) == {
        "timeout": 150, "max_attempts": 3, "retry": {"backoff": "exponential", "base": 0.5, "multiplier": 2, "cap": 600}}  # fmt: skip
    assert options(text.replace("with Timeout(minutes = 2, seconds = 30)", ""))["timeout"] == 3600


@pytest.mark.parametrize(("said", "attempts"), [
    ("", 1), ("with Timeout(seconds = 1)", 1), ("with Retry()", 3), ("with Retry(backoffSeconds = 1)", 3),
    ("with Retry(maxAttempts = 7)", 7), ("with Retry(retries = 1)", 2),
])  # fmt: skip
@pytest.mark.parametrize("where", ["call", "signature"])
def test_an_agents_work_is_tried_once_unless_the_program_says_retry(said: str, attempts: int, where: str) -> None:
    call, signature = (said, "") if where == "call" else ("", said)
    assert options(w(f"andThen {{ f = F() {call} }}", before=f"event facet F() {signature}"))["max_attempts"] == attempts


def test_credentials_name_a_secret() -> None:
    text = w('andThen { f = F(a = 1) with Credentials(secret = "TOKEN", user = "me") x = F(a = f.a) }',
             before="event facet F(a: Int) => (ok: Boolean)")  # fmt: skip
    seen: list[Any] = []
    run(text, F=lambda args: seen.append(args) or {"ok": True})
    assert {"a": 1, "user": "me", "credentials": "${secrets.TOKEN}"} in seen


def test_a_call_tells_an_event_facet_with_a_body_how_it_is_tried() -> None:
    text = """namespace n {
      event facet F(a: Int) => (b: Int) with Retry(maxAttempts = 5) andThen { yield F(b = $.b + 1) }
      workflow W() => (out: Int) andThen {
        f = F(a = 1) with Retry(maxAttempts = 2) with Label(name = "x") yield W(out = f.b) }
      facet Label(name: String) }"""
    seen: list[Any] = []
    assert run(text, F=lambda args: seen.append(args) or {"b": args["a"]}) == {"out": 2}
    assert seen[0] == {"a": 1, "name": "x"}


def test_a_script_before_the_bodies_adds_params_and_one_after_them_fills_returns() -> None:
    text = w("""script { # years
        result["years"] = [params["first"], params["first"] + 1]
        result["title"] = "}"
      } andThen foreach year in $.years { yield W(out = year) }
      andThen script python { result["count"] = len(params["out"]) }""",
             params="first: Int", returns="out: [Int], title: String, count: Int")  # fmt: skip
    assert run(text, {"first": 7}) == {"out": [7, 8], "title": "}", "count": 2}


def test_a_script_is_the_work_of_an_event_facet() -> None:
    text = w("andThen { f = F(a = 2) yield W(out = f.b) }",
             before='event facet F(a: Int) => (b: Int) script python "result[\'b\'] = params[\'a\'] * 2"')  # fmt: skip
    assert run(text) == {"out": 4}


def test_a_facet_with_a_script_and_an_inline_body() -> None:
    text = w('andThen { f = F(a = 2) andThen { yield W(out = f.b + $.a) } }', returns="out: Int",
             before='facet F(a: Int) => (b: Int) script { result["b"] = params["a"] * 2 }')  # fmt: skip
    assert run(text) == {"out": 6}


def test_a_prompt_is_a_task_for_a_model() -> None:
    text = w('andThen { f = Ask(name = "Ada") yield W(out = f.text) }', before="""
        event facet Ask(name: String) => (text: String) prompt { system "Be brief." template "Greet {name}." model "m" }""")
    plan = clean(text).plans["n.W"]
    seen: list[Any] = []

    def do(kind: str, args: Any) -> Any:
        seen.append((kind, args))
        return {"text": "Hi"}

    assert running.run(plan, {}, do).result.output == {"out": "Hi"}  # type: ignore[union-attr]
    assert seen == [("afl.prompt", {"facet": "n.Ask", "system": "Be brief.", "template": "Greet {name}.", "model": "m",
                                    "returns": {"text": "string"}, "params": {"name": "Ada"}})]  # fmt: skip


def test_a_yield_may_name_a_mixin_of_the_signature() -> None:
    text = """namespace n { facet Cost(amount: Int = 1)
      facet F(x: Int) => (y: Int) with Cost() andThen { yield F(y = $.x) yield Cost(amount = 7) }
      workflow W() => (out: Json) andThen { f = F(x = 1) yield W(out = f.amount + f.y) } }"""
    assert run(text) == {"out": 8}


def test_what_a_sibling_block_yielded_is_a_param_of_the_next() -> None:
    text = w("andThen { a = Add(a = 1, b = 1) yield W(items = [a.sum, 5]) } andThen foreach i in $.items { yield W(out = i + 1) }",
             returns="items: [Int], out: [Int]", before=ADD)  # fmt: skip
    assert run(text, Add=add) == {"items": [2, 5], "out": [3, 6]}


def test_words_are_names_where_they_can_be_nothing_else() -> None:
    text = """namespace model.in {
      event facet when(model: String, in: Int, catch: Int = 1) => (namespace: String, String: Int)
      workflow W(case: Int) => (yield: Int) andThen {
        with = when(model = "m", in = $.case)
        catch = when(model = with.namespace, in = with.String)
        andThen = when(model = "x", in = catch.String) andThen { foreach = when(model = "y", in = 1) }
        yield W(yield = andThen.String) } }"""
    assert run(text, {"case": 3}, name="model.in.W", when=lambda args: {"namespace": "n", "String": args["in"] + 1}) == {"yield": 6}


def test_separators_are_free() -> None:
    text = "namespace n{event facet F(a:Int,)=>(b:Int,)\nworkflow W\n(\n)\n=>\n(out:Int)\nandThen\n{x=F\n(a=1)y=F(a=x.b);\n;yield W(out=y.b,)}}"
    assert run(text, F=lambda args: {"b": args["a"] + 1}) == {"out": 3}


def test_files_are_one_program_and_names_are_found_through_use() -> None:
    one = "namespace a.types { schema P { x: Int } }  namespace a.ops { use a.types event facet Make(x: Int) => (p: P) }"
    two = "namespace b { use a.ops uses a.types workflow W() => (out: Int) andThen { m = Make(x = 1) k = a.types.P(x = m.p.x) yield W(out = k.x) } }"
    compiled = clean(two, one)
    done = running.run(compiled.plans["b.W"], {}, agent(Make=lambda args: {"p": {"x": args["x"] + 1}}))
    assert done.result is not None and done.result.output == {"out": 2}


def test_an_agent_that_returns_something_else_fails_the_step() -> None:
    plan = clean(w("andThen { x = Add(a = 1, b = 2) yield W(out = x.sum) }", before=ADD)).plans["n.W"]
    [task] = [node.work for block in plan.blocks for node in block.nodes if isinstance(node.work, running.Task)]
    assert [(field.name, field.type) for field in task.returns or ()] == [("sum", "integer")]
