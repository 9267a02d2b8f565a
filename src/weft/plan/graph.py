"""The edges of a plan, and paths through them: derived from it once, then kept by whoever runs it."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from weft.plan.expression import Expression, Output, walk
from weft.plan.model import Block, Call, Compute, Node, Plan, Task
from weft.plan.rules import Rule


class Edges(msgspec.Struct, frozen=True):
    """One block's nodes, in the order they are written, with what comes before and after each."""

    upstream: Mapping[str, tuple[str, ...]]
    downstream: Mapping[str, tuple[str, ...]]
    rules: Mapping[str, Rule]
    tolerated: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return sum(map(len, self.upstream.values()))


def edges(plan: Plan) -> dict[str, Edges]:
    """The edges of each block. Names that are not there are left out: `check` reports them."""
    inside = nested(plan)
    free: dict[str, frozenset[str]] = {}
    for block in _innermost_first(plan):
        free[block.name] = _free(block, inside, free)
    return {block.name: _edges(block, inside, free) for block in plan.blocks}


def nested(plan: Plan) -> dict[str, str]:
    """Block → the block it is written in."""
    return {block.name: block.within for block in plan.blocks if block.within is not None}


def expressions(node: Node) -> Iterator[Expression]:
    """Every expression a node has of its own."""
    yield from (one for one in (node.when, node.foreach) if one is not None)
    match node.work:
        case Task(args=args, options=options):
            yield args
            yield from options.values()
        case Compute(value=value):
            yield value
        case Call(args=given):
            yield from given.values()


def called(node: Node) -> tuple[str, ...]:
    """The blocks a node calls: its work, and what catches its failure."""
    work = (node.work.block,) if isinstance(node.work, Call) else ()
    return work if node.catch is None else (*work, node.catch)


def outputs(expression: Expression) -> Iterator[str]:
    """The nodes whose output, state or error an expression names."""
    return (one.node for one, _ in walk(expression) if isinstance(one, Output))


def cycle(upstream: Mapping[str, tuple[str, ...]]) -> list[str]:
    """One cycle as the path around it, the first name again at its end; empty if there is none."""
    waiting = {name: len(before) for name, before in upstream.items()}
    after = reverse(upstream)
    free = [name for name, count in waiting.items() if not count]
    while free:
        name = free.pop()
        del waiting[name]
        for successor in after[name]:
            waiting[successor] -= 1
            if not waiting[successor]:
                free.append(successor)
    if not waiting:
        return []
    # everything left waits for something left: going upstream must come around
    path: dict[str, None] = {}
    name = next(iter(waiting))
    while name not in path:
        path[name] = None
        name = next(before for before in upstream[name] if before in waiting)
    walked = list(path)
    around = walked[walked.index(name) :]
    return [name, *reversed(around)]


def reverse(upstream: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Who waits for each."""
    found: dict[str, list[str]] = {name: [] for name in upstream}
    for name, before in upstream.items():
        for one in before:
            found[one].append(name)
    return {name: tuple(after) for name, after in found.items()}


def levels(block: Edges) -> list[list[str]]:
    """The nodes in steps of what could run at the same time, in the order they are written."""
    waiting = {name: len(before) for name, before in block.upstream.items()}
    level = [name for name, count in waiting.items() if not count]
    found = []
    while level:
        found.append(level)
        following: dict[str, None] = {}
        for name in level:
            for successor in block.downstream[name]:
                waiting[successor] -= 1
                if not waiting[successor]:
                    following[successor] = None
        level = list(following)
    return found


def below(block: Edges, names: Iterable[str]) -> set[str]:
    """These nodes and everything that comes after them."""
    stack = list(names)
    found = set(stack)
    while stack:
        for successor in block.downstream[stack.pop()]:
            if successor not in found:
                found.add(successor)
                stack.append(successor)
    return found


def _innermost_first(plan: Plan) -> list[Block]:
    """Blocks before those they are written in; any order where `within` goes around, which `check` reports."""
    outer = nested(plan)

    def depth(name: str) -> int:
        seen = {name}
        while (name := outer.get(name, "")) and name not in seen:
            seen.add(name)
        return len(seen)

    return sorted(plan.blocks, key=lambda block: -depth(block.name))


def _named(node: Node, block: Block, inside: Mapping[str, str], free: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """The nodes that a node names, itself or in the blocks written inside that it calls."""
    for expression in expressions(node):
        yield from outputs(expression)
    for name in called(node):
        if inside.get(name) == block.name:
            yield from sorted(free.get(name, ()))


def _free(block: Block, inside: Mapping[str, str], free: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """What a block names that is not its own."""
    found = {name for node in block.nodes for name in _named(node, block, inside, free)}
    for expression in (*block.outputs.values(), *(one.default for one in block.params if one.default is not None)):
        found.update(outputs(expression))
    return frozenset(found - {node.name for node in block.nodes})


def _edges(block: Block, inside: Mapping[str, str], free: Mapping[str, frozenset[str]]) -> Edges:
    own = {node.name for node in block.nodes}
    upstream = {
        node.name: tuple(dict.fromkeys(
            name for name in (*node.after, *_named(node, block, inside, free)) if name in own
        ))
        for node in block.nodes
    }  # fmt: skip
    return Edges(
        upstream=upstream,
        downstream=reverse(upstream),
        rules={node.name: node.rule for node in block.nodes},
        tolerated=frozenset(node.name for node in block.nodes if node.allow_failure),
    )
