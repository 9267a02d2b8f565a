"""A DAG drawn: as text for a terminal, as Mermaid for Markdown, as DOT for Graphviz."""

from weft.dagfile.dag import Dag
from weft.plan import graph
from weft.plan.model import Node


def text(dag: Dag) -> str:
    """Level by level: what could run at the same time stands together, each task with what it waits for."""
    edges = graph.edges(dag.plan)[dag.plan.entry]
    nodes = _nodes(dag)
    lines = [dag.name]
    levels = graph.levels(edges)
    for number, level in enumerate(levels):
        last = number == len(levels) - 1
        for place, name in enumerate(level):
            branch = ("└" if last and place == len(level) - 1 else "├") + ("─ " if place == 0 else "  ")
            waits = f"  ← {', '.join(edges.upstream[name])}" if edges.upstream[name] else ""
            lines.append(f"{branch}{_plain(name)}{_marks(nodes[name])}{_plain(waits)}")
    return "\n".join(lines)


def mermaid(dag: Dag) -> str:
    """A flowchart."""
    edges = graph.edges(dag.plan)[dag.plan.entry]
    numbers = {name: f"n{number}" for number, name in enumerate(edges.upstream)}
    nodes = _nodes(dag)
    lines = ["flowchart LR"]
    lines += [f'  {numbers[name]}["{_quoted(name + _marks(nodes[name]), "&quot;")}"]' for name in numbers]
    lines += [f"  {numbers[before]} --> {numbers[name]}" for name, all_ in edges.upstream.items() for before in all_]
    return "\n".join(lines)


def dot(dag: Dag) -> str:
    """A digraph."""
    edges = graph.edges(dag.plan)[dag.plan.entry]
    nodes = _nodes(dag)
    lines = [f'digraph "{_quoted(dag.name)}" {{', "  rankdir=LR; node [shape=box];"]
    lines += [f'  "{_quoted(name)}" [label="{_quoted(name + _marks(node))}"];' for name, node in nodes.items()]
    lines += [f'  "{_quoted(before)}" -> "{_quoted(name)}";' for name, all_ in edges.upstream.items() for before in all_]
    return "\n".join([*lines, "}"])


def _nodes(dag: Dag) -> dict[str, Node]:
    block = dag.plan.block(dag.plan.entry)
    assert block is not None
    return {node.name: node for node in block.nodes}


def _marks(node: Node) -> str:
    """What is special about a task, in a word or two."""
    marks = [
        "for each" if node.foreach is not None else "",
        "if" if node.when is not None else "",
        "" if node.rule == "all_success" else node.rule,
        "may fail" if node.allow_failure else "",
    ]
    said = ", ".join(mark for mark in marks if mark)
    return f" ({said})" if said else ""


def _plain(value: str) -> str:
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in value)


def _quoted(value: str, quote: str = '\\"') -> str:
    return _plain(value).replace("\\", "\\\\").replace('"', quote)
