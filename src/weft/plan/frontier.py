"""What follows when nodes end: who may start, who never will, how the block ends. Pure.

    a run starts           → start(edges)                       tallies to store, nodes that are ready at once
    nodes have ended       → advance(edges, ended, tallies)     tallies to change, nodes ready, nodes decided unrun
    each ending            → Count.plus(ending)                 the block's own ending, when no node is left open
    nodes are run again    → again(edges, endings, names)       tallies to replace, nodes that are ready
    nothing happens        → overdue(edges, endings, started)   the same, of what should have followed by now

Only the tallies of successors are needed, so that an ending costs what hangs on it and not the graph. A node that is
decided without running ends at once, and its successors are looked at too; where their tallies were not given,
`missing` names them: load them and ask again, with everything given before.
"""

from collections.abc import Mapping

import msgspec

from weft.plan import graph, rules
from weft.plan.graph import Edges
from weft.plan.rules import Ending, Tally


class Advance(msgspec.Struct, frozen=True):
    """What follows. If `missing` is not empty, nothing else is to be used."""

    ready: tuple[str, ...]
    ended: dict[str, Ending]
    """Decided without running: skipped or upstream_failed."""
    tallies: dict[str, Tally]
    """Those that changed."""
    missing: frozenset[str] = frozenset()


class Count(msgspec.Struct, frozen=True):
    """How far a block is, or a node with foreach: its nodes or its elements, counted. One row in the database."""

    total: int
    ended: int = 0
    failed: int = 0
    """Those whose failure counts."""

    def plus(self, ending: Ending, *, tolerated: bool = False) -> "Count":
        counts = ending in ("failed", "timed_out", "cancelled") and not tolerated
        return msgspec.structs.replace(self, ended=self.ended + 1, failed=self.failed + counts)

    @property
    def ending(self) -> Ending | None:
        """None while something is open. What only hung on a failure is not counted as one: its cause is."""
        if self.ended < self.total:
            return None
        return "failed" if self.failed else "completed"


def start(edges: Edges) -> Advance:
    """The tallies of all nodes, and those that wait for nothing."""
    tallies = {name: Tally(total=len(before), decided=not before) for name, before in edges.upstream.items()}
    return Advance(ready=tuple(name for name, tally in tallies.items() if tally.decided), ended={}, tallies=tallies)


def advance(edges: Edges, ended: Mapping[str, Ending], tallies: Mapping[str, Tally]) -> Advance:
    """What follows from these endings. Each ending must be told exactly once."""
    changed: dict[str, Tally] = {}
    decided: dict[str, Ending] = {}
    ready: list[str] = []
    missing: set[str] = set()
    stack = list(ended.items())
    while stack:
        node, ending = stack.pop()
        for name in edges.downstream[node]:
            before = changed.get(name) or tallies.get(name)
            if before is None:
                missing.add(name)
                continue
            tally = before.plus(ending)
            verdict = None if tally.decided else rules.verdict(edges.rules[name], tally)
            changed[name] = tally if verdict is None else msgspec.structs.replace(tally, decided=True)
            if verdict == "ready":
                ready.append(name)
            elif verdict is not None:
                decided[name] = verdict
                stack.append((name, verdict))
    return Advance(ready=tuple(ready), ended=decided, tallies=changed, missing=frozenset(missing))


def recount(edges: Edges, endings: Mapping[str, Ending], *, started: frozenset[str] = frozenset()) -> dict[str, Tally]:
    """Every tally as it must be if these nodes have ended and those have been started: to repair, and to run again."""
    found = {}
    for name, upstream in edges.upstream.items():
        tally = Tally(total=len(upstream), decided=name in endings or name in started)
        for before in upstream:
            if before in endings:
                tally = tally.plus(endings[before])
        found[name] = tally
    return found


def again(edges: Edges, endings: Mapping[str, Ending], names: frozenset[str]) -> Advance:
    """To run these nodes, and all that comes after them, once more; everything else must have ended.

    `ready` are to be started, `tallies` replace those of the nodes that are cleared.
    """
    cleared = graph.below(edges, names)
    kept = {name: ending for name, ending in endings.items() if name not in cleared}
    tallies = {name: tally for name, tally in recount(edges, kept).items() if name in cleared}
    return _decided(edges, tallies)


def overdue(edges: Edges, endings: Mapping[str, Ending], *, started: frozenset[str]) -> Advance:
    """What should have followed by now, of the nodes that have neither ended nor started; `tallies` replace theirs."""
    waiting = {name: tally for name, tally in recount(edges, endings, started=started).items() if not tally.decided}
    return _decided(edges, waiting)


def _decided(edges: Edges, tallies: dict[str, Tally]) -> Advance:
    """What becomes of nodes that wait, with what follows from that among them."""
    ready = []
    decided: dict[str, Ending] = {}
    # upstream first, so that what is decided without running is told to what comes after it
    for level in graph.levels(edges):
        for name in level:
            if name in tallies and not tallies[name].decided:
                verdict = rules.verdict(edges.rules[name], tallies[name])
                if verdict is not None:
                    tallies[name] = msgspec.structs.replace(tallies[name], decided=True)
                if verdict == "ready":
                    ready.append(name)
                elif verdict is not None:
                    decided[name] = verdict
                    for successor in edges.downstream[name]:
                        if successor in tallies:
                            tallies[successor] = tallies[successor].plus(verdict)
    return Advance(ready=tuple(ready), ended=decided, tallies=tallies)
