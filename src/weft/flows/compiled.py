"""A plan as it is run: with its edges, and what each node's expressions name. Kept per process by the plan's hash."""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from weft.db import statements
from weft.db.tx import Tx
from weft.flows import work
from weft.plan import expression, frontier, graph, model, types
from weft.plan.expression import Expression
from weft.plan.frontier import Advance
from weft.plan.graph import Edges
from weft.plan.model import Block, Call, Compute, Node, Plan, Record, Task

SQL = statements.load("weft.flows")

Exactly = tuple[tuple[str, tuple[type, ...]], ...]
"""Fields, and what each must be an instance of."""

_decode = msgspec.json.decode
_KEPT = 256
_NOTED = 20_000
_FEW = 100
_SMALL = 1000
"""Elements of a foreach whose outputs are gathered although nobody names them: for people to look at."""


class Prepared(NamedTuple):
    """A node, and what is known of it before it runs."""

    node: Node
    before: frozenset[str]
    """The nodes whose outputs are needed to decide whether it runs, and on what."""
    work: frozenset[str]
    """The same for its work."""
    secrets: dict[str, tuple[str, ...]]
    """Where in its arguments secrets may be."""
    options: dict[str, Any] | None
    """What its tasks are told, if that is the same in every run."""
    followed: bool
    """Whether others hang on it."""


class Compiled(msgspec.Struct, frozen=True):
    plan: Plan
    edges: dict[str, Edges]
    blocks: dict[str, Block]
    nodes: dict[str, dict[str, Node]]
    first: dict[str, Advance]
    """Block → what is to be done when it is opened."""
    records: dict[str, Record]
    prepared: dict[str, dict[str, Prepared]]
    """Block → node → what is known of it."""
    outputs: dict[str, frozenset[str]]
    """Block → what its outputs name."""
    gathered: frozenset[tuple[str, str]]
    """(block, node) whose output somebody names."""
    quiet: dict[str, dict[str, Exactly | None]]
    """Block → nodes with whose success nothing begins, and that nobody names; what their task must have given back."""
    whereabouts: dict[str, tuple[str, str, str]]
    """Task → (frame, block, node), of tasks that this process made: a hint what will be asked for when they end."""
    opened: dict[str, str]
    """Frame → the block that is opened there, if that is large and this process has seen it: it is always the same."""

    def note(self, task: str, *, frame: str, block: str, node: str) -> None:
        if len(self.whereabouts) >= _NOTED:
            self.whereabouts.clear()
        self.whereabouts[task] = frame, block, node

    def note_frame(self, frame: str, block: Block) -> None:
        if len(block.nodes) < _FEW:
            return
        if len(self.opened) >= _NOTED:
            self.opened.clear()
        self.opened[frame] = block.name

    def is_quiet(self, block: str, node: str, output: str | None) -> bool:
        """Whether nothing can follow from a node that succeeded with this but the end of its block."""
        quiet = self.quiet[block]
        if node not in quiet:
            return False
        wanted = quiet[node]
        return wanted is None or (output is not None and types.is_exactly(wanted, _decode(output)))

    def after(self, task: str) -> list[tuple[str, str]]:
        """(frame, node) of what hangs on a task, if it was noted, and if it is little."""
        found = self.whereabouts.pop(task, None)
        if found is None:
            return []
        frame, block, node = found
        downstream = self.edges[block].downstream[node]
        return [(frame, name) for name in downstream] if len(downstream) <= _FEW else []

    def gathers(self, block: str, node: str, *, elements: int) -> bool:
        """Whether the outputs of a foreach are put together."""
        return elements <= _SMALL or (block, node) in self.gathered


class _Slot:
    """Room for a plan that was read once; filled by whoever reads it."""

    def __init__(self) -> None:
        self.compiled: Compiled | None = None


@functools.lru_cache(maxsize=_KEPT)
def _slot(_hash: str) -> _Slot:
    return _Slot()


def cached(hash: str) -> Compiled | None:
    """The plan, if this process has read it."""
    return _slot(hash).compiled


async def load(tx: Tx, *, org: str, hash: str) -> Compiled:
    """The plan of this hash, read at most once per process: what has one hash is one plan, whoever's it is."""
    slot = _slot(hash)
    if slot.compiled is None:
        text = await tx.value(SQL.get_plan, {"org_id": org, "hash": hash})
        slot.compiled = compile_plan(model.decode(text))
    return slot.compiled


def compile_plan(plan: Plan) -> Compiled:
    edges = graph.edges(plan)
    shared: dict[str, dict[str, Any]] = {}
    prepared = {
        block.name: {node.name: _prepared(node, edges[block.name], shared) for node in block.nodes} for block in plan.blocks
    }
    outputs = {block.name: frozenset(_outputs(*block.outputs.values())) for block in plan.blocks}
    return Compiled(
        plan=plan,
        edges=edges,
        blocks={block.name: block for block in plan.blocks},
        nodes={block.name: {node.name: node for node in block.nodes} for block in plan.blocks},
        first={name: frontier.start(one) for name, one in edges.items()},
        records={record.name: record for record in plan.records},
        prepared=prepared,
        outputs=outputs,
        gathered=frozenset(_gathered(plan, prepared)),
        quiet={block.name: dict(_quiet(block, edges[block.name], outputs[block.name])) for block in plan.blocks},
        whereabouts={},
        opened={},
    )


def _quiet(block: Block, edges: Edges, named: frozenset[str]) -> Iterator[tuple[str, Exactly | None]]:
    for node in block.nodes:
        if isinstance(node.work, Task) and not edges.downstream[node.name] and node.name not in named:
            wanted = None if node.work.returns is None else types.exactly(node.work.returns)
            if node.work.returns is None or wanted is not None:
                yield node.name, wanted


def _prepared(node: Node, edges: Edges, shared: dict[str, dict[str, Any]]) -> Prepared:
    secrets, options = {}, None
    if isinstance(node.work, Task):
        secrets, options = expression.secrets(node.work.args), work.options(node.work)
    if options is not None:
        # the same object where they are the same: what tasks have in common is then seen at a glance
        options = shared.setdefault(repr(options), options)
    return Prepared(
        node, frozenset(_outputs(node.when, node.foreach)), frozenset(_outputs(*_work(node))), secrets, options,
        bool(edges.downstream[node.name]),
    )  # fmt: skip


def _gathered(plan: Plan, prepared: dict[str, dict[str, Prepared]]) -> set[tuple[str, str]]:
    """Every node that is named, by whichever block sees it; a name that two blocks have counts for both."""
    names = {name for block in prepared.values() for one in block.values() for name in one.before | one.work}
    for block in plan.blocks:
        names |= set(_outputs(*block.outputs.values(), *(one.default for one in block.params)))
    return {(block.name, node.name) for block in plan.blocks for node in block.nodes if node.name in names}


def _work(node: Node) -> list[Expression]:
    match node.work:
        case Task(args=args, options=options):
            return [args, *options.values()]
        case Compute(value=value):
            return [value]
        case Call(args=given):
            return list(given.values())


def _outputs(*expressions: Expression | None) -> list[str]:
    return [name for one in expressions if one is not None for name in graph.outputs(one)]
