"""Edges, cycles and levels."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.plan import graph
from weft.plan.expression import Output, Value
from weft.plan.graph import Edges
from weft.plan.model import Block, Call, Compute, Node, Plan


def edges(nodes: dict[str, tuple[str, ...]]) -> Edges:
    block = Block("b", nodes=tuple(Node(name, Compute(Value(1)), after=after) for name, after in nodes.items()))
    return graph.edges(Plan("p", "b", (block,)))["b"]


def test_naming_an_output_is_waiting_for_it() -> None:
    block = Block("b", nodes=(
        Node("a", Compute(Value(1))),
        Node("b", Compute(Output("a")), when=Output("c"), after=("a",)),
        Node("c", Compute(Value(1))),
    ))  # fmt: skip
    assert graph.edges(Plan("p", "b", (block,)))["b"].upstream == {"a": (), "b": ("a", "c"), "c": ()}


def test_a_catch_is_waited_for_like_a_body() -> None:
    blocks = (
        Block("b", nodes=(Node("a", Compute(Value(1))), Node("x", Compute(Value(1)), catch="k"))),
        Block("k", within="b", nodes=(Node("y", Call("l")),)),
        Block("l", within="k", outputs={"z": Output("a")}),
    )
    found = graph.edges(Plan("p", "b", blocks))
    assert (found["b"].upstream["x"], found["k"].upstream["y"]) == (("a",), ())


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=3)))
def test_a_cycle_is_a_real_path_around(found: dict[str, list[str]]) -> None:
    upstream = {name: tuple(one for one in before if one in found and one != name) for name, before in found.items()}
    around = graph.cycle(upstream)
    order = {name: number for number, level in enumerate(graph.levels(edges(upstream))) for name in level}
    assert bool(around) == (order.keys() != upstream.keys())
    if around:
        assert around[0] == around[-1] and len(set(around)) == len(around) - 1 > 1
        assert all(before in upstream[after] for before, after in itertools.pairwise(around))
    else:
        assert all(order[before] < order[after] for after, all_ in upstream.items() for before in all_)


def test_levels_are_the_seeds_example() -> None:
    found = edges({"extract": (), "transform": ("extract",), "load": ("transform",), "notify": ("load",)})
    assert graph.levels(found) == [["extract"], ["transform"], ["load"], ["notify"]]


@pytest.mark.parametrize(("names", "found"), [("a", "abd"), ("c", "cd"), ("bc", "bcd"), ("", "")])
def test_below_are_all_that_come_after(names: str, found: str) -> None:
    assert graph.below(edges({"a": (), "b": ("a",), "c": (), "d": ("b", "c")}), names) == set(found)
