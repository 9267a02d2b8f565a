"""A workflow drawn: its blocks inside each other, as text for a terminal, as Mermaid for Markdown, as DOT for Graphviz."""

from collections.abc import Iterator

from weft.plan import graph
from weft.plan.model import Block, Call, Compute, Node, Plan, Task

_DEEPEST = 12


def text(plan: Plan) -> str:
    """A tree: each node with what it does and what it waits for."""
    edges = graph.edges(plan)
    lines = [plan.name]

    def draw(block: Block, prefix: str, seen: tuple[str, ...]) -> None:
        nodes = [node for node in block.nodes if not _minor(node)]
        for number, node in enumerate(nodes):
            last = number == len(nodes) - 1
            shown = [name for name in edges[block.name].upstream[node.name] if not _is_minor_name(block, name)]
            waits = f"  ← {', '.join(shown)}" if shown else ""
            lines.append(f"{prefix}{'└─ ' if last else '├─ '}{node.name}{_does(node)}{waits}")
            for inner in _inside(plan, node):
                if inner.name not in seen and len(seen) < _DEEPEST:
                    draw(inner, prefix + ("   " if last else "│  "), (*seen, inner.name))

    entry = plan.block(plan.entry)
    assert entry is not None
    draw(entry, "", (entry.name,))
    return "\n".join(lines)


def mermaid(plan: Plan) -> str:
    """A flowchart with a subgraph for each block."""
    edges = graph.edges(plan)
    lines = ["flowchart TB"]
    for number, block in enumerate(plan.blocks):
        lines.append(f'  subgraph b{number}["{_quoted(block.name, "&quot;")}"]')
        ids = {node.name: f"b{number}n{place}" for place, node in enumerate(block.nodes)}
        lines += [f'    {ids[node.name]}["{_quoted(node.name + _does(node), "&quot;")}"]' for node in block.nodes]
        upstream = edges[block.name].upstream
        lines += [f"    {ids[before]} --> {ids[name]}" for name, all_ in upstream.items() for before in all_]
        lines.append("  end")
    numbers = {block.name: number for number, block in enumerate(plan.blocks)}
    for number, block in enumerate(plan.blocks):
        for place, node in enumerate(block.nodes):
            lines += [f"  b{number}n{place} -.-> b{numbers[name]}" for name in graph.called(node)]
    return "\n".join(lines)


def dot(plan: Plan) -> str:
    """A digraph with a cluster for each block."""
    edges = graph.edges(plan)
    lines = [f'digraph "{_quoted(plan.name)}" {{', "  compound=true; node [shape=box];"]
    for number, block in enumerate(plan.blocks):
        lines.append(f'  subgraph "cluster_{number}" {{ label="{_quoted(block.name)}";')
        ids = {node.name: f"b{number}n{place}" for place, node in enumerate(block.nodes)}
        lines += [f'    {ids[node.name]} [label="{_quoted(node.name + _does(node))}"];' for node in block.nodes]
        upstream = edges[block.name].upstream
        lines += [f"    {ids[before]} -> {ids[name]};" for name, all_ in upstream.items() for before in all_]
        lines.append("  }")
    return "\n".join([*lines, "}"])


def _inside(plan: Plan, node: Node) -> Iterator[Block]:
    for name in graph.called(node):
        block = plan.block(name)
        if block is not None:
            yield block


def _minor(node: Node) -> bool:
    """What only holds arguments or conditions says nothing to people."""
    return isinstance(node.work, Compute) and (" if " in node.name or " any " in node.name or node.name.endswith(" (args)"))


def _is_minor_name(block: Block, name: str) -> bool:
    return any(node.name == name and _minor(node) for node in block.nodes)


def _does(node: Node) -> str:
    words = []
    match node.work:
        case Task(kind=kind):
            words.append(kind)
        case Call(block=block) if "/" not in block:
            words.append(block)
        case _:
            pass
    if node.foreach is not None:
        words.append(f"for each {node.item}")
    if node.catch is not None:
        words.append("caught")
    return f": {', '.join(words)}" if words else ""


def _quoted(value: str, quote: str = '\\"') -> str:
    plain = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in value)
    return plain.replace("\\", "\\\\").replace('"', quote)
