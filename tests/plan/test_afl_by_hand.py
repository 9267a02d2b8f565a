"""Three AFL programs lowered to plans by hand: a plan must be able to say what AFL says, not only what DAGs say."""

from typing import Any

import pytest
import running
from running import Failure

from weft.plan import model
from weft.plan.expression import Apply, Get, Map, Output, Param, Pluck, Value
from weft.plan.model import Block, Call, Compute, Field, Node, Plan, Task

SEEDS = range(20)


def out(node: str, key: str) -> Get:
    return Get(Output(node), key)


# namespace geo {
#   event facet Geocode(city: String) => (lat: Double, lon: Double)
#   workflow Locate(cities: [String], country: String = "de") => (lats: [Double], last: Double, found: Int = 0)
#     andThen foreach city in $.cities {
#       g = Geocode(city = $.city ++ ", " ++ $.country)
#       yield Locate(lats = g.lat, last = g.lon)
#     }
#     andThen { yield Locate(found = 1) }
# }
LOCATE = Plan(
    name="geo.Locate",
    entry="geo.Locate",
    blocks=(
        Block(
            name="geo.Locate",
            params=(Field("cities", "[string]"), Field("country", "string", default=Value("de"))),
            nodes=(
                Node(
                    "then1",
                    Call("geo.Locate/1", {"city": Param("city")}),
                    foreach=Param("cities"),
                    item="city",
                ),
                Node("then2", Call("geo.Locate/2")),
            ),
            outputs={
                "lats": Pluck(Output("then1"), "lats"),
                "last": Apply("last", (Pluck(Output("then1"), "last"),)),
                "found": Apply("default", (out("then2", "found"), Value(0))),
            },
        ),
        Block(
            name="geo.Locate/1",
            within="geo.Locate",
            params=(Field("city", "string"),),
            nodes=(
                Node(
                    "g",
                    Task(
                        "geo.Geocode",
                        Map({"city": Apply("++", (Param("city"), Value(", "), Param("country")))}),
                        returns=(Field("lat", "number"), Field("lon", "number")),
                    ),
                ),
            ),
            outputs={"lats": out("g", "lat"), "last": out("g", "lon")},
        ),
        Block(name="geo.Locate/2", within="geo.Locate", outputs={"found": Value(1)}),
    ),
)


def geocode(_kind: str, args: dict[str, Any]) -> dict[str, float]:
    return {"lat": len(args["city"]) + 0.5, "lon": len(args["city"]) + 0.25}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_foreach_collects_its_yields_in_the_order_of_its_elements(seed: int) -> None:
    done = running.run(LOCATE, {"cities": ["Ulm", "Bonn", "Berlin"]}, geocode, seed=seed)
    assert done.result == running.Known("completed", {"lats": [7.5, 8.5, 10.5], "last": 10.25, "found": 1})
    assert done.log == ["geo.Geocode"] * 3


def test_a_foreach_over_nothing_yields_nothing() -> None:
    done = running.run(LOCATE, {"cities": [], "country": "fr"}, geocode)
    assert done.result == running.Known("completed", {"lats": [], "found": 1})


def test_one_element_that_fails_fails_the_run_and_the_others_are_done() -> None:
    def one_fails(kind: str, args: dict[str, Any]) -> Any:
        if args["city"].startswith("Bonn"):
            raise Failure("no such city")
        return geocode(kind, args)

    done = running.run(LOCATE, {"cities": ["Ulm", "Bonn", "Berlin"]}, one_fails)
    assert done.result == running.Known("failed", error={"type": "Failure", "message": "no such city"})
    assert len(done.log) == 3


# event facet Charge(amount: Int) => (receipt: String)
# event facet Notify(text: String) => (id: Int)
# workflow Pay(amount: Int) => (receipt: String, note: Int) andThen {
#   c = Charge(amount = $.amount) with Retry(maxAttempts = 2) andThen {
#     n = Notify(text = c.receipt)
#     yield Charge(receipt = c.receipt ++ "!")
#   } catch when {
#     case error_type == "Declined" => { yield Charge(receipt = "declined: " ++ error) }
#     case _ => { s = Notify(text = error) yield Charge(receipt = "asked " ++ s.id) }
#   }
#   m = Notify(text = c.receipt)
#   yield Pay(receipt = c.receipt, note = m.id)
# }
PAY = Plan(
    name="Pay",
    entry="Pay",
    blocks=(
        Block(name="Pay", params=(Field("amount", "integer"),), nodes=(Node("then1", Call("Pay/1")),),
              outputs={"receipt": out("then1", "receipt"), "note": out("then1", "note")}),
        Block(
            name="Pay/1",
            within="Pay",
            nodes=(
                Node("c", Call("Pay/1/c"), catch="Pay/1/c/catch"),
                Node("m", Task("Notify", Map({"text": out("c", "receipt")}))),
            ),
            outputs={"receipt": out("c", "receipt"), "note": out("m", "id")},
        ),
        # the step with its body: inside it `c` is the facet's own result, outside it the step's
        Block(
            name="Pay/1/c",
            within="Pay/1",
            nodes=(
                Node("c", Task("Charge", Map({"amount": Param("amount")}), options={"max_attempts": Value(2)})),
                Node("then1", Call("Pay/1/c/1")),
            ),
            outputs={"receipt": Apply("default", (out("then1", "receipt"), out("c", "receipt")))},
        ),
        Block(
            name="Pay/1/c/1",
            within="Pay/1/c",
            nodes=(Node("n", Task("Notify", Map({"text": out("c", "receipt")}))),),
            outputs={"receipt": Apply("++", (out("c", "receipt"), Value("!")))},
        ),
        Block(
            name="Pay/1/c/catch",
            within="Pay/1",
            params=(Field("error", "string"), Field("error_type", "string")),
            nodes=(
                Node("case1", Compute(Apply("==", (Param("error_type"), Value("Declined"))))),
                Node("then1", Call("Pay/1/c/catch/1"), when=Output("case1")),
                Node("then2", Call("Pay/1/c/catch/2"), when=Apply("not", (Output("case1"),))),
            ),
            outputs={"receipt": Apply("default", (out("then1", "receipt"), out("then2", "receipt")))},
        ),
        Block(name="Pay/1/c/catch/1", within="Pay/1/c/catch",
              outputs={"receipt": Apply("++", (Value("declined: "), Param("error")))}),
        Block(
            name="Pay/1/c/catch/2",
            within="Pay/1/c/catch",
            nodes=(Node("s", Task("Notify", Map({"text": Param("error")}))),),
            outputs={"receipt": Apply("++", (Value("asked "), out("s", "id")))},
        ),
    ),
)  # fmt: skip


class Declined(Failure):
    pass


def paying(error: Exception | None) -> running.Handler:
    def do(kind: str, args: dict[str, Any]) -> dict[str, Any]:
        if kind == "Charge" and error is not None:
            raise error
        return {"receipt": f"paid {args['amount']}"} if kind == "Charge" else {"id": len(args["text"])}

    return do


@pytest.mark.parametrize("seed", SEEDS)
def test_a_step_with_a_body_is_over_when_its_body_is(seed: int) -> None:
    done = running.run(PAY, {"amount": 5}, paying(None), seed=seed)
    assert done.result == running.Known("completed", {"receipt": "paid 5!", "note": 7})
    assert done.log == ["Charge", "Notify", "Notify"]


def test_a_catch_makes_the_step_a_success() -> None:
    done = running.run(PAY, {"amount": 5}, paying(Declined("no money")))
    assert done.result == running.Known("completed", {"receipt": "declined: no money", "note": 18})
    assert done.log == ["Charge", "Notify"]


def test_the_other_case_of_a_catch() -> None:
    done = running.run(PAY, {"amount": 5}, paying(Failure("boom")))
    assert done.result == running.Known("completed", {"receipt": "asked 4", "note": 7})
    assert done.log == ["Charge", "Notify", "Notify"]


def test_a_catch_that_fails_fails_the_step_and_what_hangs_on_it_does_not_run() -> None:
    def everything_fails(kind: str, args: dict[str, Any]) -> Any:
        raise Failure(f"{kind} is down")

    done = running.run(PAY, {"amount": 5}, everything_fails)
    assert done.result == running.Known("failed", error={"type": "Failure", "message": "Notify is down"})
    assert done.log == ["Charge", "Notify"]


# facet Twice(x: Int) => (y: Int) andThen { d = Double(x = $.x)  yield Twice(y = d.y) }
# event facet Double(x: Int) => (y: Int)
# workflow Deep(n: Int) => (total: Int, path: String) andThen {
#   a = Twice(x = $.n)
#   b = Twice(x = a.y) andThen {
#     c = Double(x = b.x + a.y) andThen {
#       d = Double(x = c.y + a.y + $.n)
#       yield Double(y = d.y)
#     }
#     yield Twice(y = c.y)
#   }
#   yield Deep(total = b.y, path = a.y ++ ">" ++ b.y)
# }
DEEP = Plan(
    name="Deep",
    entry="Deep",
    blocks=(
        Block(name="Deep", params=(Field("n", "integer"),), nodes=(Node("then1", Call("Deep/1")),),
              outputs={"total": out("then1", "total"), "path": out("then1", "path")}),
        Block(
            name="Deep/1",
            within="Deep",
            nodes=(Node("a", Call("Twice", {"x": Param("n")})), Node("b", Call("Deep/1/b"))),
            outputs={"total": out("b", "y"),
                     "path": Apply("++", (out("a", "y"), Value(">"), out("b", "y")))},
        ),
        # an inline body replaces the facet's, which leaves the facet's record: its params
        Block(
            name="Deep/1/b",
            within="Deep/1",
            nodes=(Node("b", Compute(Map({"x": out("a", "y")}))), Node("then1", Call("Deep/1/b/1"))),
            outputs={"y": out("then1", "y")},
        ),
        Block(name="Deep/1/b/1", within="Deep/1/b", nodes=(Node("c", Call("Deep/1/b/1/c")),),
              outputs={"y": out("c", "y")}),
        Block(
            name="Deep/1/b/1/c",
            within="Deep/1/b/1",
            nodes=(
                Node("c", Task("Double", Map({"x": Apply("+", (out("b", "x"), out("a", "y")))}))),
                Node("then1", Call("Deep/1/b/1/c/1")),
            ),
            outputs={"y": Apply("default", (out("then1", "y"), out("c", "y")))},
        ),
        Block(
            name="Deep/1/b/1/c/1",
            within="Deep/1/b/1/c",
            nodes=(Node("d", Task("Double", Map({"x": Apply("+", (
                Apply("+", (out("c", "y"), out("a", "y"))), Param("n")))}))),),
            outputs={"y": out("d", "y")},
        ),
        Block(name="Twice", params=(Field("x", "integer"),), nodes=(Node("then1", Call("Twice/1")),),
              outputs={"y": out("then1", "y")}),
        Block(name="Twice/1", within="Twice", nodes=(Node("d", Task("Double", Map({"x": Param("x")}))),),
              outputs={"y": out("d", "y")}),
    ),
)  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_nested_blocks_see_the_steps_around_them(seed: int) -> None:
    done = running.run(DEEP, {"n": 3}, lambda _kind, args: {"y": 2 * args["x"]}, seed=seed)
    # a.y = 6; c = double(6 + 6) = 24; d = double(24 + 6 + 3) = 66
    assert done.result == running.Known("completed", {"total": 66, "path": "6>66"})
    assert done.log == ["Double"] * 3


def test_what_is_named_deep_inside_is_waited_for_outside() -> None:
    edges = running.Run(DEEP, lambda *_: None, 0).edges
    assert edges["Deep/1"].upstream == {"a": (), "b": ("a",)}
    assert edges["Deep/1/b"].upstream == {"b": (), "then1": ("b",)}


def test_a_failure_deep_inside_is_the_runs() -> None:
    def second_fails(_kind: str, args: dict[str, Any]) -> Any:
        if args["x"] == 12:
            raise Failure("too much")
        return {"y": 2 * args["x"]}

    done = running.run(DEEP, {"n": 3}, second_fails)
    assert done.result == running.Known("failed", error={"type": "Failure", "message": "too much"})


@pytest.mark.parametrize("plan", [LOCATE, PAY, DEEP], ids=lambda plan: plan.name)
def test_a_plan_is_the_same_after_its_json(plan: Plan) -> None:
    assert model.decode(model.encode(plan)) == plan
    assert model.digest(model.decode(model.encode(plan))) == model.digest(plan)
