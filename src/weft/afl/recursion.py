"""What contains itself: workflows and facets by their calls, schemas by their fields."""

from collections.abc import Mapping

from weft.afl.diagnostic import Report
from weft.afl.program import Program
from weft.afl.signature import Signatures
from weft.afl.syntax import Schema
from weft.afl.walking import Walked


def calls(walked: Mapping[str, Walked], report: Report) -> None:
    """Those that are on a cycle of calls."""
    graph = {name: [called.name for called in one.calls if called.name in walked] for name, one in walked.items()}
    for name in cyclic(graph):
        declared = walked[name].declared
        message = f"{declared.name.text!r} calls itself{'' if name in graph[name] else ', through others'}"
        report.add("recursive-call", message, declared.source, declared.name.start, declared.name.end,
                   hint="a run ends after 100 calls inside each other")  # fmt: skip


def schemas(program: Program, signatures: Signatures, report: Report) -> None:
    found = {one.qualified: one for one in program.schemas()}
    graph = {name: [slot.type.strip("[]") for slot in signatures.of(one).params.values() if slot.type.strip("[]") in found]
             for name, one in found.items()}  # fmt: skip
    for name in cyclic(graph):
        schema: Schema = found[name]
        message = f"the schema {schema.name.text!r} contains itself"
        report.add("recursive-schema", message, schema.source, schema.name.start, schema.name.end,
                   hint="a value of it cannot end, but for empty lists")  # fmt: skip


def cyclic(graph: Mapping[str, list[str]]) -> list[str]:
    """Everything from which one comes back to it. Tarjan's components, without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on: set[str] = set()
    found: set[str] = set()
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, following = work[-1]
            child = next(following, None)
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        one = stack.pop()
                        on.discard(one)
                        component.append(one)
                        if one == node:
                            break
                    if len(component) > 1 or node in graph[node]:
                        found.update(component)
            elif child not in index:
                index[child] = low[child] = len(index)
                stack.append(child)
                on.add(child)
                work.append((child, iter(graph[child])))
            elif child in on:
                low[node] = min(low[node], index[child])
    return [name for name in graph if name in found]
