"""Whole runs of any plan with nested blocks: each ends, and how does not depend on who is faster."""

import zlib
from typing import Any

import running
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.plan import check, model
from weft.plan.expression import Apply, Expression, List, Map, Output, Param, Value
from weft.plan.model import Block, Call, Compute, Field, Node, Plan, Task
from weft.plan.rules import Rule

PATIENT: tuple[Rule, ...] = ("all_success", "all_done", "all_failed", "all_skipped", "none_failed", "none_skipped")
"""Rules that look at endings only when there are no more, or that no later one can change: outputs are the same then."""


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    blocks: list[Block] = []

    def expression(nodes: list[str], params: list[str]) -> Expression:
        choices: list[Expression] = [Value(1), Value("x"), Value([1, 2]), *map(Output, nodes), *map(Param, params)]
        found = draw(st.sampled_from(choices))
        how = draw(st.sampled_from(["plain", "plain", "list", "default", "add"]))
        if how == "list":
            return List((found,))
        if how == "default":
            return Apply("default", (found, Value(0)))
        return Apply("+", (found, Value(1))) if how == "add" else found

    def block(name: str, within: str | None, around: list[str], params: list[str], depth: int) -> None:
        own = [Field(one) for one in params if one.startswith(("item", "error"))] if within else []
        nodes: list[Node] = []
        for number in range(draw(st.integers(0, 3 if depth else 4))):
            seen = [*around, *(node.name for node in nodes)]
            mine, title = f"{name}.{number}", f"s{depth}{number}"
            each = draw(st.sampled_from([None, None, Value([1, 2, 3]), Value([]), Value(7)]))
            item = f"item{depth}{number}"
            kind = draw(st.sampled_from(["task", "compute", "call"] if depth < 2 else ["task", "compute"]))
            work: model.Work
            if kind == "call":
                work = Call(mine, {item: Param(item)} if each else {})
                block(mine, name, seen, [*params, *([item] if each else [])][-1 if each else len(params):], depth + 1)
            elif kind == "task":
                work = Task("t", Map({"n": expression(seen, params)}), {"timeout": Value(9)})
            else:
                work = Compute(expression(seen, params))
            catch = None
            if depth < 2 and draw(st.integers(0, 3)) == 0:
                catch = f"{mine}.catch"
                block(catch, name, seen, ["error", "error_type"], depth + 1)
            before = [node.name for node in nodes]
            nodes.append(Node(
                title, work, after=tuple(draw(st.lists(st.sampled_from(before), unique=True, max_size=2))) if before else (),
                rule=draw(st.sampled_from(PATIENT)), when=draw(st.sampled_from([None, None, None, Value(False)])),
                foreach=each, item=item, at_once=draw(st.sampled_from([None, 1, 2])) if each else None, catch=catch,
                allow_failure=draw(st.booleans()),
            ))  # fmt: skip
        outputs = {"out": expression([*around, *(node.name for node in nodes)], params)}
        blocks.append(Block(name, params=tuple(own), nodes=tuple(nodes), outputs=outputs, within=within))

    block("main", None, [], [], 0)
    return Plan("p", "main", tuple(blocks))


@settings(deadline=None, max_examples=150)
@given(plan=plans(), failing=st.integers(0, 7), seeds=st.tuples(st.integers(0, 999), st.integers(0, 999)))
def test_every_run_of_nested_blocks_ends_the_same_way(plan: Plan, failing: int, seeds: tuple[int, int]) -> None:
    assert check.problems(plan) == []

    def do(_kind: str, args: dict[str, Any]) -> Any:
        if zlib.crc32(str(args).encode()) % 8 < failing:
            raise running.Failure("told to")
        return args["n"]

    one, other = (running.run(plan, {}, do, seed=seed) for seed in seeds)
    assert one.result is not None and other.result is not None
    assert (one.result.state, one.result.output) == (other.result.state, other.result.output)
    assert sorted(one.log) == sorted(other.log)
    assert model.decode(model.encode(plan)) == plan
