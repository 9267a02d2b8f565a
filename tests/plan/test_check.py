"""Everything that can be wrong with a plan is told, with its place and what to do."""

import re

import pytest

from weft.base import errors
from weft.plan import check, graph, model
from weft.plan.expression import Apply, Expression, Get, Output, Param, Secret, Value
from weft.plan.model import Block, Call, Compute, Field, Node, Plan, Record, Task

ONE = Compute(Value(1))


def plan(*nodes: Node, params: tuple[Field, ...] = (), more: tuple[Block, ...] = ()) -> Plan:
    return Plan("p", "b", (Block("b", params=params, nodes=nodes), *more))


def deep(levels: int) -> Expression:
    found: Expression = Value(1)
    for _ in range(levels):
        found = Apply("negate", (found,))
    return found


WRONG = [
    (plan(Node("a", ONE), Node("a", ONE)), "node 'a' of block 'b': two nodes have this name; rename one"),
    (plan(Node("extract", ONE), Node("b", ONE, after=("extarct",))),
     "node 'b' of block 'b': it waits for 'extarct', which is not there; did you mean 'extract'?"),
    (plan(Node("a", ONE, after=("a",))), "node 'a' of block 'b': it waits for itself; take that away"),
    (plan(Node("a", ONE, after=("c",)), Node("b", ONE, after=("a",)), Node("c", Compute(Output("b")))),
     "a cycle: a → b → c → a; take one of these dependencies away"),
    (plan(Node("a", ONE, rule="one_failed")), "one_failed needs something to wait for"),
    (plan(Node("rows", ONE), Node("b", Compute(Get(Output("row"), "x")))),
     "it names the output of 'row', which is not there; did you mean 'rows'?"),
    (plan(Node("a", Compute(Param("dya"))), params=(Field("day"),)),
     "the param 'dya', which is not there; did you mean 'day'?"),
    (plan(Node("a", Call("nobody"))), "there is no block 'nobody'"),
    (plan(Node("a", Call("c")), more=(Block("c", params=(Field("x"),)),)), "the param 'x' of block 'c' is missing"),
    (plan(Node("a", Call("c", {"y": Value(1)})), more=(Block("c"),)), "the block 'c' has no param 'y'"),
    (plan(Node("a", ONE, catch="c"), more=(Block("c", params=(Field("why"),)),)),
     "a catch is given error, error_type, but 'c' wants 'why'"),
    (plan(Node("a", Call("d")), more=(Block("c"), Block("d", within="c"))),
     "is written in 'c' and can only be called there"),
    (plan(more=(Block("b"),)), "block 'b': two blocks have this name"),
    (Plan("p", "main", (Block("mian"),)), "the entry 'main' is no block; did you mean 'mian'?"),
    (plan(more=(Block("c", within="d"), Block("d", within="c"))), "blocks are written inside each other"),
    (plan(more=(Block("c", within="nowhere"),)), "it is within 'nowhere', which is no block"),
    (plan(params=(Field("x", "strin"),)), "the type 'strin' of 'x' is not known; did you mean 'string'?"),
    (plan(params=(Field("x", "[string"),)), "the type '[string' of 'x' is not known"),
    (plan(params=(Field("x"), Field("x"))), "two params are called 'x'"),
    (plan(Node("a", Compute(Secret("KEY")))), "a secret can only be named in the arguments of a task"),
    (plan(Node("a", ONE, at_once=3)), "at_once must be 1 or more, and needs foreach"),
    (plan(Node("a", Compute(deep(100)))), "an expression is deeper than 64"),
    (plan(Node("a", Task("t", Value({"x": "y" * model.MAX_BYTES})))), "bytes of JSON, the most is 8,388,608"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "message"), WRONG, ids=[message[-40:] for _, message in WRONG])
def test_a_wrong_plan_is_refused_with_its_reason(wrong: Plan, message: str) -> None:
    with pytest.raises(errors.InvalidPlan) as caught:
        check.check(wrong)
    assert message in caught.value.message


def test_all_problems_are_told_at_once_but_not_too_many() -> None:
    nodes = [Node(f"n{number}", ONE, after=("nobody",)) for number in range(500)]
    assert len(check.problems(plan(*nodes))) == check.MOST
    with pytest.raises(errors.InvalidPlan, match="and 17 more"):
        check.check(plan(*nodes))


def test_an_element_has_its_name_only_where_there_is_one() -> None:
    good = plan(Node("a", Task("t", Param("city")), foreach=Value([1]), item="city"))
    assert check.problems(good) == []
    assert "no" not in [str(one) for one in check.problems(plan(Node("a", Compute(Param("item")))))]
    assert check.problems(plan(Node("a", Compute(Param("item"))))) != []


def test_a_block_may_call_itself() -> None:
    assert check.problems(plan(Node("a", Call("b"), when=Value(False)))) == []


def test_a_secret_may_be_named_where_it_is_filled_in() -> None:
    assert check.problems(plan(Node("a", Task("http", Secret("KEY"))))) == []


def test_records_are_types() -> None:
    point = Record("geo.Point", (Field("lat", "number"),))
    good = Plan("p", "b", (Block("b", params=(Field("x", "[geo.Point]"),)),), records=(point,))
    assert check.problems(good) == []


def test_ten_thousand_nodes_with_fifty_thousand_edges_are_a_plan() -> None:
    nodes = [
        Node(f"task-{number}", Task("t", Value({"n": number})), after=tuple(
            f"task-{before}" for before in range(max(0, number - 5 * 7), number, 7)))
        for number in range(10_000)
    ]  # fmt: skip
    large = plan(*nodes)
    found = check.check(large)
    assert len(found["b"]) > 49_000
    assert sum(map(len, graph.levels(found["b"]))) == 10_000
    assert model.digest(model.decode(model.encode(large))) == model.digest(large)


def test_a_cycle_through_ten_thousand_nodes_is_found() -> None:
    nodes = [Node(f"n{number}", ONE, after=(f"n{(number + 1) % 10_000}",)) for number in range(10_000)]
    [problem] = check.problems(plan(*nodes))
    assert re.fullmatch(r"a cycle: (n\d+ → ){8}… 9,991 more … → n\d+ → n\d+; take .*", problem.message)


def test_another_format_is_refused() -> None:
    encoded = model.encode(plan(Node("a", ONE)))
    assert encoded.startswith(b'{"name":"p","entry":"b"')
    with pytest.raises(errors.InvalidPlan, match="format is not 1"):
        model.decode(encoded.replace(b'"format":1', b'"format":2'))
    for broken in (b"{}", b"[]", b"{", b'{"format": 1}', b"[" * 100_000):
        with pytest.raises(errors.InvalidPlan):
            model.decode(broken)


def test_the_hash_names_the_content_not_the_way_it_was_written() -> None:
    one = plan(Node("a", Task("t", Value({"x": 1, "y": 2}))))
    other = plan(Node("a", Task("t", Value({"y": 2, "x": 1}))))
    third = plan(Node("a", Task("t", Value({"y": 2, "x": 2}))))
    assert model.digest(one) == model.digest(other) != model.digest(third)
