"""`/v1/nodes`: the processes that work for your org."""

import dataclasses
import datetime as dt
import uuid
from typing import Annotated

import msgspec

from weft.api import pages, policy, work_proof
from weft.api.operation import Call, Operation
from weft.base import errors
from weft.cluster import nodes as kernel
from weft.cluster.model import NodeStatus, SeenNode
from weft.journal import record
from weft.queue import counts

Statuses = Annotated[
    tuple[NodeStatus, ...], msgspec.Meta(max_length=4, description="May be given several times; all but `dead` if left out.")
]


class NodeQuery(pages.Paging, forbid_unknown_fields=True, kw_only=True):
    """Which nodes."""

    status: Statuses = ("starting", "active", "draining")


class Node(msgspec.Struct, kw_only=True):
    """A process of Weft's: a worker, a server, or both."""

    id: uuid.UUID
    hostname: str
    ip_address: str
    http_port: int
    pid: int
    version: str
    status: NodeStatus
    roles: list[str]
    queues: list[str]
    """Empty: every queue."""
    handlers: list[str]
    capabilities: list[str]
    concurrency: int
    running: int
    """Tasks of your org that it runs."""
    asleep: bool
    """Nothing to do: it waits to be woken."""
    started_at: dt.datetime
    beat_at: dt.datetime
    beat_age: float
    """Seconds since its last beat."""
    lease: float
    """It is given up after so many seconds without a beat."""
    shared: bool
    """It serves every org."""


class NodePlace(msgspec.Struct, frozen=True):
    """Where a page of nodes ended."""

    started_at: dt.datetime
    id: uuid.UUID


async def page(call: Call[None, NodeQuery]) -> pages.Page[Node]:
    place = call.query.place(NodePlace)
    async with call.tx() as tx:
        found = await kernel.seen(
            tx, org=call.principal.org, statuses=call.query.status, take=call.query.limit + 1,
            before=None if place is None else (place.started_at, place.id),
        )  # fmt: skip
        running = await counts.running_by_node(tx, org=call.principal.org)
    return pages.page(
        found, limit=call.query.limit, show=lambda node: _shown(node, running=running.get(node.id, 0)),
        place=lambda node: NodePlace(node.started_at, node.id),
    )  # fmt: skip


async def get(call: Call[None, None]) -> Node:
    async with call.tx() as tx:
        found = await kernel.one(tx, id=call.id, org=call.principal.org)
        running = await counts.running_by_node(tx, org=call.principal.org)
    return _shown(found, running=running.get(found.id, 0))


async def drain(call: Call[None, None]) -> Node:
    who = call.principal
    # as the tenant, whom the database itself shows only what the org may see
    async with call.database.tx(org=who.org) as tx:
        found = await kernel.one(tx, id=call.id, org=who.org)
    if found.shared:
        try:
            policy.require(who, _SHARED.action)
        except errors.Forbidden:
            await call.service.denials.record(who, _SHARED)
            raise
    if not found.concurrency or found.status == "dead":
        why = "it is dead" if found.concurrency else "it runs no tasks"
        raise errors.Conflict(f"there is nothing to drain in {call.id}: {why}")
    # the engine, because nobody who asks for a user may write to nodes
    async with call.engine_tx() as tx:
        if await kernel.drain(tx, id=call.id, org=who.org, shared=found.shared):
            await record.record(
                tx, org_id=who.org, actor=who.actor, action="node.drain", object_type="node", object_id=str(call.id),
                before={"status": found.status}, after={"status": "draining", "host": found.hostname, "pid": found.pid},
            )  # fmt: skip
        found = await kernel.one(tx, id=call.id, org=who.org)
        running = await counts.running_by_node(tx, org=who.org)
    work_proof.desk(call).claims.heed(str(call.id))
    return _shown(found, running=running.get(found.id, 0))


def _shown(node: SeenNode, *, running: int) -> Node:
    return Node(
        id=node.id, hostname=node.hostname, ip_address=node.ip_address, http_port=node.http_port, pid=node.pid,
        version=node.version, status=node.status, roles=node.roles, queues=node.queues, handlers=node.handlers,
        capabilities=node.capabilities, concurrency=node.concurrency, running=running, asleep=node.asleep,
        started_at=node.started_at, beat_at=node.beat_at, beat_age=round(node.beat_age, 3),
        lease=node.lease.total_seconds(), shared=node.shared,
    )  # fmt: skip


_EXAMPLE = {
    "id": "0f8fad5b-d9cb-469f-a165-70867728950e", "hostname": "worker-1", "ip_address": "10.0.0.7", "http_port": 0,
    "pid": 4711, "version": "0.1.0", "status": "active", "roles": ["worker"], "queues": ["email"],
    "handlers": ["send_email"], "capabilities": [], "concurrency": 50, "running": 12, "asleep": False,
    "started_at": "2026-01-05T09:30:00Z", "beat_at": "2026-01-05T09:42:10Z", "beat_age": 1.2, "lease": 10.0,
    "shared": True,
}  # fmt: skip

_DRAIN = Operation(
    "POST", "/v1/nodes/{id:uuid}/drain", action="node.drain", handler=drain, summary="Drain a worker",
    description="It takes no more tasks, ends those it has within its grace time, and stops; one that works over HTTP gets "
    "nothing more. It hears it with its next beat, and cannot be called back: start another. A worker that serves every "
    "org is drained by operators only.",
    answer=Node, errors=("NOT_FOUND", "CONFLICT"), answer_example={**_EXAMPLE, "status": "draining"},
)  # fmt: skip
_SHARED = dataclasses.replace(_DRAIN, action="node.operate")

OPERATIONS = (
    Operation(
        "GET", "/v1/nodes", action="node.read", handler=page, summary="Nodes, youngest first",
        description="Nodes that serve every org, and HTTP workers of yours.", query=NodeQuery,
        answer=pages.Page[Node], answer_example={"items": [_EXAMPLE], "next_cursor": None},
    ),
    Operation(
        "GET", "/v1/nodes/{id:uuid}", action="node.read", handler=get, summary="One node", answer=Node,
        errors=("NOT_FOUND",), answer_example=_EXAMPLE,
    ),
    _DRAIN,
)  # fmt: skip
