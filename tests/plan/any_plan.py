"""Any plan: nested blocks, foreach, conditions, catches, every trigger rule, failures that are tolerated.

How a run of one ends does not depend on who is faster: a node that may start before all it waits for have ended names
none of their outputs, and nothing depends on which of several failures came first.
"""

from typing import Any, get_args

from hypothesis import strategies as st

from weft.plan import model, rules
from weft.plan.expression import Apply, Expression, List, Map, Output, Param, Value
from weft.plan.model import Block, Call, Compute, Field, Node, Plan, Task
from weft.plan.rules import Rule

_RULES: tuple[Rule, ...] = get_args(Rule)
_EAGER: tuple[Rule, ...] = ("one_success", "one_failed", "one_done")
_ERROR = ("error", "error_type")


@st.composite
def plans(draw: st.DrawFn, options: st.SearchStrategy[dict[str, Any]] | None = None) -> Plan:
    """`options`: what tasks may be told besides their arguments, which say it too (`told`)."""
    blocks: list[Block] = []

    def expression(nodes: list[str], params: list[str]) -> Expression:
        known = [Apply("==", (Param(one), Value(None))) if one in _ERROR else Param(one) for one in params]
        choices: list[Expression] = [Value(1), Value("x"), Value([1, 2]), *map(Output, nodes), *known]
        found = draw(st.sampled_from(choices))
        match draw(st.sampled_from(["plain", "plain", "list", "default", "add"])):
            case "list":
                return List((found,))
            case "default":
                return Apply("default", (found, Value(0)))
            case "add":
                return Apply("+", (found, Value(1)))
        return found

    def work(name: str, block: str, seen: list[str], params: list[str], item: str | None, depth: int) -> model.Work:
        match draw(st.sampled_from(["task", "compute", "call"] if depth < 2 else ["task", "compute"])):
            case "call":
                inner(name, block, seen, [*params, item] if item else params, [item] if item else [], depth + 1)
                return Call(name, {item: Param(item)} if item else {})
            case "task":
                told = draw(options) if options is not None else {"timeout": 9}
                args = {"n": expression(seen, [*params, item] if item else params), "told": Value(told)}
                return Task("t", Map(args), {key: Value(value) for key, value in told.items()})
        return Compute(expression(seen, [*params, item] if item else params))

    def node(number: int, block: str, before: list[str], around: list[str], params: list[str], depth: int) -> Node:
        name, item = f"{block}.{number}", f"item{depth}{number}"
        after = tuple(draw(st.lists(st.sampled_from(before), unique=True, max_size=2))) if before else ()
        rule = draw(st.sampled_from(_RULES))
        if rule in rules.OF_OTHERS and not after:
            rule = "all_done"
        seen = [] if rule in _EAGER else [*around, *before]
        each = draw(st.sampled_from([None, None, Value([1, 2, 3]), Value([]), Value(7), *map(Output, seen[-1:])]))
        when = draw(st.sampled_from([None, None, None, Value(False), Apply("==", (expression(seen, params), Value(1)))]))
        done = work(name, block, seen, params, item if each else None, depth)
        catch = None
        if depth < 2 and draw(st.integers(0, 3)) == 0:
            catch = f"{name}.catch"
            inner(catch, block, seen, [*params, *_ERROR], list(_ERROR), depth + 1)
        return Node(
            f"s{depth}{number}", done, after=after, rule=rule, when=when, foreach=each, item=item, catch=catch,
            at_once=draw(st.sampled_from([None, 1, 2])) if each else None, allow_failure=draw(st.booleans()),
        )  # fmt: skip

    def inner(name: str, within: str | None, around: list[str], params: list[str], own: list[str], depth: int) -> None:
        nodes: list[Node] = []
        for number in range(draw(st.integers(0, 3 if depth else 5))):
            nodes.append(node(number, name, [one.name for one in nodes], around, params, depth))
        outputs = {"out": expression([*around, *(one.name for one in nodes)], params)}
        fields = tuple(Field(one) for one in own)
        blocks.append(Block(name, params=fields, nodes=tuple(nodes), outputs=outputs, within=within))

    inner("main", None, [], ["given"], ["given"], 0)
    return Plan("p", "main", tuple(blocks))
