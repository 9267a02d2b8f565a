"""What is wrong with a plan, all of it, each with its place and how to mend it. Linear in the plan's size."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from weft.base import errors
from weft.base.names import closest
from weft.plan import graph, rules, types
from weft.plan.expression import MAX_DEPTH, MAX_SIZE, Expression, Output, Param, Secret, walk
from weft.plan.graph import Edges
from weft.plan.model import MAX_BYTES, MAX_EDGES, MAX_NODES, Block, Call, Field, Node, Plan, Task, encode

MOST = 20
"""Problems that are told at once: looking for what a name may have meant takes time."""


class Problem(msgspec.Struct, frozen=True):
    """Where (block, node, which of its words) and what."""

    message: str
    block: str = ""
    node: str = ""
    word: str = ""
    """The field of the node it is about, such as `after`."""
    value: str = ""
    """What that field says, if it is one of several."""

    def __str__(self) -> str:
        place = [f"node {self.node!r}"] if self.node else []
        place += [f"block {self.block!r}"] if self.block else []
        return f"{' of '.join(place)}: {self.message}" if place else self.message


def check(plan: Plan) -> dict[str, Edges]:
    """The edges of a plan in which nothing is wrong; InvalidPlan names the first problems."""
    found = problems(plan)
    if found:
        more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
        raise errors.InvalidPlan("; ".join(str(one) for one in found[:3]) + more, problems=[str(one) for one in found])
    return graph.edges(plan)


def problems(plan: Plan) -> list[Problem]:
    """Everything that is wrong, in order of its place; at most MOST."""
    found: list[Problem] = []
    for rule in (_size, _blocks, _names, _calls, _edges, _references):
        for problem in rule(plan):
            found.append(problem)
            if len(found) == MOST:
                return found
        if found and rule in (_size, _blocks):
            break  # what follows would stumble over it
    return found


def _size(plan: Plan) -> Iterator[Problem]:
    nodes = sum(len(block.nodes) for block in plan.blocks)
    if nodes > MAX_NODES:
        yield Problem(f"the plan has {nodes:,} nodes, the most is {MAX_NODES:,}; split it")
    deep = False
    for block, node, expression in _expressions(plan):
        for number, (_, depth) in enumerate(walk(expression)):
            if depth > MAX_DEPTH or number >= MAX_SIZE:
                deep = True
                yield Problem(f"an expression is deeper than {MAX_DEPTH} or larger than {MAX_SIZE:,} parts; "
                              "use nodes that compute its parts", block, node.name if node else "")  # fmt: skip
                break
    if not deep and (size := len(encode(plan))) > MAX_BYTES:
        yield Problem(f"the plan is {size:,} bytes of JSON, the most is {MAX_BYTES:,}; keep data elsewhere and refer to it")


def _blocks(plan: Plan) -> Iterator[Problem]:
    names = [block.name for block in plan.blocks]
    for name in _repeated(names):
        yield Problem("two blocks have this name; rename one", block=name)
    if plan.entry not in names:
        yield Problem(f"the entry {plan.entry!r} is no block{closest(plan.entry, names)}")
    outer = graph.nested(plan)
    for name, within in outer.items():
        if within not in names:
            yield Problem(f"it is within {within!r}, which is no block{closest(within, names)}", block=name)
    around = graph.cycle({name: (outer[name],) if outer.get(name) in names else () for name in names})
    if around:
        yield Problem(f"blocks are written inside each other: {' → '.join(around)}", block=around[0])


def _names(plan: Plan) -> Iterator[Problem]:
    for block in plan.blocks:
        for repeated in _repeated(node.name for node in block.nodes):
            yield Problem("two nodes have this name; rename one", block.name, repeated, "name")
        for repeated in _repeated(field.name for field in block.params):
            yield Problem(f"two params are called {repeated!r}; rename one", block.name)
    records = {record.name for record in plan.records}
    for place, field in _fields(plan):
        name = types.names(field.type)
        if name is None or name not in {*types.SIMPLE, *records}:
            known = (*types.SIMPLE, *sorted(records))
            yield Problem(f"the type {field.type!r} of {field.name!r} is not known{closest(field.type, known)}", place)


def _calls(plan: Plan) -> Iterator[Problem]:
    blocks = {block.name: block for block in plan.blocks}
    for block in plan.blocks:
        for node in block.nodes:
            for name in graph.called(node):
                if name not in blocks:
                    yield Problem(f"there is no block {name!r}{closest(name, blocks)}", block.name, node.name, "work")
                elif blocks[name].within not in (None, block.name):
                    yield Problem(f"the block {name!r} is written in {blocks[name].within!r} and can only be called there",
                                  block.name, node.name, "work")  # fmt: skip
                elif isinstance(node.work, Call) and name == node.work.block:
                    yield from _arguments(block, node, call=node.work, params=blocks[name].params)
            if node.catch in blocks:
                given = {"error", "error_type", *([node.item] if node.foreach is not None else ())}
                for field in blocks[node.catch].params:
                    if field.name not in given and field.default is None and not field.nullable:
                        message = f"a catch is given {', '.join(sorted(given))}, but {node.catch!r} wants {field.name!r}"
                        yield Problem(message, block.name, node.name, "catch")


def _arguments(block: Block, node: Node, *, call: Call, params: tuple[Field, ...]) -> Iterator[Problem]:
    known = [field.name for field in params]
    for name in call.args:
        if name not in known:
            message = f"the block {call.block!r} has no param {name!r}{closest(name, known)}"
            yield Problem(message, block.name, node.name, "work")
    for field in params:
        if field.name not in call.args and field.default is None and not field.nullable:
            yield Problem(f"the param {field.name!r} of block {call.block!r} is missing", block.name, node.name, "work")


def _edges(plan: Plan) -> Iterator[Problem]:
    edges = graph.edges(plan)
    total = sum(len(one) for one in edges.values())
    if total > MAX_EDGES:
        yield Problem(f"the plan has {total:,} edges, the most is {MAX_EDGES:,}; put a node in between")
    for block in plan.blocks:
        upstream = edges[block.name].upstream
        for node in block.nodes:
            yield from _waits(block, node, upstream)
        around = graph.cycle({name: tuple(one for one in before if one != name) for name, before in upstream.items()})
        if around:
            shown = around if len(around) <= 12 else [*around[:8], f"… {len(around) - 10:,} more …", *around[-2:]]
            yield Problem(f"a cycle: {' → '.join(shown)}; take one of these dependencies away",
                          block.name, around[1], "after", around[0])  # fmt: skip


def _waits(block: Block, node: Node, upstream: Mapping[str, tuple[str, ...]]) -> Iterator[Problem]:
    for name in node.after:
        if name not in upstream:
            message = f"it waits for {name!r}, which is not there{closest(name, upstream)}"
            yield Problem(message, block.name, node.name, "after", name)
    if node.name in upstream[node.name]:
        yield Problem("it waits for itself; take that away", block.name, node.name, "after", node.name)
    if node.rule in rules.OF_OTHERS and not upstream[node.name] and not node.after:
        yield Problem(f"{node.rule} needs something to wait for", block.name, node.name, "rule")
    if node.at_once is not None and (node.foreach is None or node.at_once < 1):
        yield Problem("at_once must be 1 or more, and needs foreach", block.name, node.name, "at_once")


def _references(plan: Plan) -> Iterator[Problem]:
    inside = graph.nested(plan)
    nodes = {block.name: {node.name for node in block.nodes} for block in plan.blocks}
    params = {block.name: {field.name for field in block.params} for block in plan.blocks}
    for block, node, expression in _expressions(plan):
        item = {node.item} if node and node.foreach is not None and expression is not node.foreach else set()
        place = block, node.name if node else "", "work"
        secret = node is None or not isinstance(node.work, Task) or expression is not node.work.args
        for one, _ in walk(expression):
            if isinstance(one, Output) and not any(one.node in names for names in _around(block, nodes, inside)):
                near = closest(one.node, sorted(set().union(*_around(block, nodes, inside))))
                yield Problem(f"it names the output of {one.node!r}, which is not there{near}", *place, one.node)
            elif isinstance(one, Param) and not any(one.name in names for names in (item, *_around(block, params, inside))):
                near = closest(one.name, sorted(item.union(*_around(block, params, inside))))
                yield Problem(f"it names the param {one.name!r}, which is not there{near}", *place, one.name)
            elif isinstance(one, Secret) and secret:
                yield Problem("a secret can only be named in the arguments of a task", *place, one.name)


def _around(block: str, own: Mapping[str, set[str]], inside: Mapping[str, str]) -> Iterator[set[str]]:
    """The names of a block and of those it is written in. Not joined: many blocks may stand in one that has many."""
    at: str | None = block
    while at is not None:
        yield own[at]
        at = inside.get(at)


def _expressions(plan: Plan) -> Iterator[tuple[str, Node | None, Expression]]:
    """Every expression with its block, and its node if it is a node's."""
    for block in plan.blocks:
        for node in block.nodes:
            yield from ((block.name, node, expression) for expression in graph.expressions(node))
        yield from ((block.name, None, expression) for expression in block.outputs.values())
        yield from ((block.name, None, one.default) for one in block.params if one.default is not None)


def _fields(plan: Plan) -> Iterator[tuple[str, Field]]:
    for block in plan.blocks:
        yield from ((block.name, field) for field in block.params)
        yield from ((block.name, Field(name, type_)) for name, type_ in block.gives.items())
        for node in block.nodes:
            if isinstance(node.work, Task):
                yield from ((block.name, field) for field in node.work.returns or ())
                yield from ((block.name, Field(name, type_)) for name, type_ in node.work.takes.items())
    for record in plan.records:
        yield from ((record.name, field) for field in record.fields)


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
