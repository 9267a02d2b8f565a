"""Nodes: introducing one, its beat, and who seems to be gone."""

import datetime as dt
import os
import socket
import uuid
from collections.abc import Sequence
from typing import NamedTuple, get_args

from weft.base import errors, ids, json
from weft.cluster import leaders
from weft.cluster.model import LEASE, BeatAnswer, KnownNode, Node, NodeStatus, SeenNode, Sign, Vitals
from weft.db import statements
from weft.db.statements import Part
from weft.db.tx import Tx

SQL = statements.load("weft.cluster")

LIVENESS_CLASS = 0x77650001
QUIET = dt.timedelta(seconds=15)
"""How long after PostgreSQL's own start a missing liveness lock means nothing."""

FORGOTTEN = dt.timedelta(days=7)

STIRS = Part(SQL.stirs, {"liveness_class": LIVENESS_CLASS})

_NOWHERE = ("192.0.2.1", 9)  # TEST-NET: connecting a datagram socket sends nothing, but chooses our address


def here(
    *,
    version: str,
    roles: Sequence[str] = (),
    queues: Sequence[str] = (),
    handlers: Sequence[str] = (),
    capabilities: Sequence[str] = (),
    concurrency: int = 0,
    http_port: int = 0,
    lease: dt.timedelta = LEASE,
) -> Node:
    """This process as a new node."""
    return Node(
        id=str(ids.token()),
        hostname=socket.gethostname(),
        ip_address=_address(),
        pid=os.getpid(),
        version=version,
        http_port=http_port,
        roles=tuple(roles),
        queues=tuple(queues),
        handlers=tuple(handlers),
        capabilities=tuple(capabilities),
        concurrency=concurrency,
        lease=lease,
    )


def liveness_key(session: uuid.UUID) -> int:
    """A lock key for one session of a node. Of the session, not the node: after a broken network the server may hold
    the old session's lock for seconds more, and the new one must not wait for it."""
    return session.int & 0x7FFFFFFF


async def open_session(tx: Tx, *, lease: dt.timedelta) -> int:
    """Locks a fresh liveness key for this connection; answers it. Must be a session of its own, not a pooled one."""
    idle = f"{int(lease.total_seconds() * 1000)}ms"
    while True:
        key = liveness_key(ids.token())
        found = await tx.row(SQL.open_session, {"idle": idle, "liveness_class": LIVENESS_CLASS, "liveness": key})
        if found is not None and found[1]:
            return key


async def register(tx: Tx, *, node: Node, liveness: int | None) -> NodeStatus:
    """Makes the node known, or known again; answers its status, which stays as it was until it beats."""
    status: NodeStatus = await tx.value(
        SQL.register,
        {
            "id": node.id,
            "org": node.org,
            "hostname": node.hostname,
            "ip_address": node.ip_address,
            "http_port": node.http_port,
            "pid": node.pid,
            "roles": list(node.roles),
            "queues": list(node.queues),
            "handlers": list(node.handlers),
            "capabilities": list(node.capabilities),
            "concurrency": node.concurrency,
            "version": node.version,
            "lease": node.lease,
            "liveness": liveness,
        },
    )
    return status


async def beat(
    tx: Tx,
    *,
    node_id: str,
    vitals: Vitals,
    draining: bool = False,
    role: str = "",
    term: int | None = None,
    attempt: bool = False,
    heir: bool = False,
) -> BeatAnswer:
    """One beat. A leader of `role` renews its `term` with it; a candidate attempts to get the role's lock, or else the
    heir's, which must not be its own already (a session can lock twice): `heir` says whether the latter is."""
    found = await tx.row(
        SQL.beat,
        {
            "node_id": node_id,
            "status": "draining" if draining else "active",
            "asleep": vitals.asleep,
            "busy": vitals.busy,
            "handled": None if vitals.handled is None else json.text(vitals.handled, what="handled counts"),
            "role": role,
            "term": term,
            "attempt": attempt,
            "leader_lease": leaders.LEASE,
            "leader_class": leaders.LEADER_CLASS,
            "leader_key": leaders.key(role),
            "heir": heir,
            "heir_key": leaders.heir_key(role),
        },
    )
    if found is None:
        return BeatAnswer(previous=None, revived=True)
    previous, elected, renewed, heir, alone = found
    return BeatAnswer(
        previous=previous, elected=elected, renewed=renewed, heir=heir, revived=previous == "dead",
        drain=previous == "draining", alone=alone,
    )  # fmt: skip


async def serve(tx: Tx, *, node_id: str, handlers: Sequence[str]) -> None:
    """Says what the node has handlers for, from now on."""
    await tx.run(SQL.serve, {"node_id": node_id, "handlers": list(handlers)})


async def drain(tx: Tx, *, id: uuid.UUID, org: uuid.UUID, shared: bool) -> bool:
    """Tells a node to take no more work; it hears it with its next beat. `shared`: also one that serves every org.
    False: it is none of those, or does so already, or is dead."""
    return await tx.run(SQL.drain_node, {"node_id": id, "org_id": org, "shared": shared}) > 0


async def sleep(tx: Tx, *, node_id: str, asleep: bool) -> None:
    """Says whether the node waits to be woken. Look for work once more after saying so."""
    await tx.run(SQL.sleep, {"node_id": node_id, "asleep": asleep})


async def retire(tx: Tx, *, node_id: str) -> None:
    """A clean end: the node is gone, not dead."""
    await tx.run(SQL.retire, {"node_id": node_id})


async def look(tx: Tx, *, quiet: dt.timedelta = QUIET) -> list[Sign]:
    """One sign per node that is not given up."""
    rows = await tx.rows(SQL.look, {"liveness_class": LIVENESS_CLASS, "quiet": quiet})
    return [Sign(id=id, overdue=overdue, absent=absent, watched=watched) for id, overdue, absent, watched in rows]


async def mark_dead(tx: Tx, *, lost: Sequence[Sign]) -> list[str]:
    """Gives up those who are still as they were seen and whom nobody holds; answers all of them that are dead now, their
    rows locked."""
    arguments = {"ids": [sign.id for sign in lost], "absent": [sign.absent for sign in lost]}
    return [row[0] for row in await tx.rows(SQL.mark_dead, arguments)]


async def sweep(tx: Tx) -> int:
    """Forgets nodes that died long ago."""
    return await tx.run(SQL.sweep_nodes, {"older": FORGOTTEN})


async def known(tx: Tx, *, org: uuid.UUID | None = None) -> list[KnownNode]:
    """Every node, or those that an org may know of, oldest first."""
    return [
        KnownNode(
            node=Node(
                id=row[0],
                hostname=row[1],
                ip_address=row[2],
                pid=row[3],
                version=row[4],
                http_port=row[5],
                roles=tuple(row[6]),
                queues=tuple(row[7]),
                handlers=tuple(row[8]),
                capabilities=tuple(row[9]),
                concurrency=row[10],
                lease=row[11],
            ),
            status=row[12],
            started_at=row[13],
            beat_at=row[14],
            asleep=row[15],
            handled=row[16],
        )
        for row in await tx.rows(SQL.known_nodes, {"org_id": org})
    ]


async def seen(
    tx: Tx, *, org: uuid.UUID, statuses: Sequence[NodeStatus], before: tuple[dt.datetime, uuid.UUID] | None = None,
    take: int = 100,
) -> list[SeenNode]:  # fmt: skip
    """Nodes for people of an org, youngest first; `before` is (started_at, id) of the last one of the page before."""
    at, id = before or (None, None)
    arguments = {
        "org_id": org, "statuses": list(statuses), "id": None, "before_at": at, "before_id": id, "take": take
    }  # fmt: skip
    return [SeenNode(*row) for row in await tx.rows(SQL.seen_nodes, arguments)]


async def one(tx: Tx, *, id: uuid.UUID, org: uuid.UUID) -> SeenNode:
    arguments = {
        "org_id": org, "statuses": list(get_args(NodeStatus)), "id": id, "before_at": None, "before_id": None, "take": 1
    }  # fmt: skip
    found = await tx.row(SQL.seen_nodes, arguments)
    if found is None:
        raise errors.NotFound(f"there is no node {id}")
    return SeenNode(*found)


class Workers(NamedTuple):
    """Processes that run tasks, counted, and how many tasks the active ones run at a time."""

    active: int
    draining: int
    dead: int
    slots: int


async def workers(tx: Tx, *, org: uuid.UUID) -> Workers:
    row = await tx.row(SQL.count_workers, {"org_id": org})
    assert row is not None  # it only counts
    return Workers(*row)


async def kinds(tx: Tx, *, org: uuid.UUID, text: str, take: int) -> list[str]:
    """Kinds of task that some living node can run and whose name holds a text."""
    return [row[0] for row in await tx.rows(SQL.search_kinds, {"org_id": org, "text": text, "take": take})]


def _address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_NOWHERE)
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])
