"""The plan behind a run as a graph to draw, and a version of a DAG as it was written."""

import datetime as dt
from typing import Annotated, Any, Literal

import msgspec

from weft.api import dag_shape
from weft.api.dag_shape import DagTask
from weft.api.operation import Call, Operation
from weft.flows import compiled, definitions, look
from weft.flows.compiled import Compiled
from weft.plan.model import Block, Compute, Node, Task
from weft.plan.rules import Rule


class GraphNode(msgspec.Struct, kw_only=True):
    """A node, with what it waits for: the nodes it names, besides those it is told to come after."""

    name: str
    does: Literal["task", "compute", "call"]
    what: str
    """The task's kind, or the block that is called."""
    after: list[str]
    rule: Rule
    group: str
    each: bool
    """Once for each element of a list."""
    conditional: bool
    catches: str | None
    """The block that catches its failure."""


class GraphBlock(msgspec.Struct, kw_only=True):
    name: str
    within: str | None
    nodes: list[GraphNode]


class Graph(msgspec.Struct, kw_only=True):
    """Of the version that the run was started with. A workflow is code and has no blocks."""

    entry: str | None
    blocks: list[GraphBlock]


class VersionQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which version."""

    number: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1, description="The active one if left out.")] | None = None


class Written(msgspec.Struct, kw_only=True):
    """A version of a DAG: the words of its header, and its tasks."""

    version: str
    number: int
    created_at: dt.datetime
    header: dict[str, Any]
    tasks: list[DagTask]


async def of_run(call: Call[None, None]) -> Graph:
    org = call.principal.org
    async with call.tx() as tx:
        await look.run(tx, call.id, org=org)
        hash = await look.plan_hash(tx, call.id, org=org)
        if hash is None:
            return Graph(entry=None, blocks=[])
        plan = await compiled.load(tx, org=str(org), hash=hash)
    return Graph(entry=plan.plan.entry, blocks=[_block(plan, one) for one in plan.plan.blocks])


async def of_dag(call: Call[None, VersionQuery]) -> Written:
    async with call.tx() as tx:
        found = await definitions.get(tx, call.path["dag_id"], org=call.principal.org, kind="dag")
        wanted = call.query.number or found.number
        version, created_at, header, nodes = await definitions.version(tx, found, number=wanted)
    return Written(
        version=version, number=wanted, created_at=created_at, header=header, tasks=dag_shape.dag_tasks(nodes)
    )


def _block(plan: Compiled, block: Block) -> GraphBlock:
    upstream = plan.edges[block.name].upstream
    return GraphBlock(
        name=block.name, within=block.within, nodes=[_node(one, list(upstream[one.name])) for one in block.nodes]
    )


def _node(node: Node, after: list[str]) -> GraphNode:
    match node.work:
        case Task(kind=kind):
            does: tuple[Literal["task", "compute", "call"], str] = "task", kind
        case Compute():
            does = "compute", ""
        case call:
            does = "call", call.block
    return GraphNode(
        name=node.name, does=does[0], what=does[1], after=after, rule=node.rule, group=node.group,
        each=node.foreach is not None, conditional=node.when is not None, catches=node.catch,
    )  # fmt: skip


_NODE = {
    "name": "load", "does": "task", "what": "load_rows", "after": ["extract"], "rule": "all_success", "group": "",
    "each": False, "conditional": False, "catches": None,
}  # fmt: skip
_WRITTEN = {
    "version": "4be1c1e5b0b0a1f5d5a2d6b5c7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f901", "number": 1,
    "created_at": "2026-01-15T10:30:00Z", "header": {"timezone": "UTC", "max_active_runs": 16}, "tasks": [],
}  # fmt: skip

OPERATIONS = (
    Operation(
        "GET", "/v1/runs/{id:uuid}/graph", action="run.read", handler=of_run, summary="The plan of a run, as a graph",
        description="Of the version that the run was started with. A workflow is code: no blocks.", answer=Graph,
        errors=("NOT_FOUND",),
        answer_example={"entry": "main", "blocks": [{"name": "main", "within": None, "nodes": [_NODE]}]},
    ),
    Operation(
        "GET", "/v1/dags/{dag_id:path}/definition", action="dag.read", handler=of_dag, query=VersionQuery,
        summary="A version of a DAG, as it was written", answer=Written, errors=("NOT_FOUND",), example={"number": 1},
        answer_example=_WRITTEN,
    ),
)  # fmt: skip
