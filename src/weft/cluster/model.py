"""What the cluster knows: nodes, what a beat answers, leaders, locks."""

import dataclasses
import datetime as dt
import uuid
from typing import Any, Literal

NodeStatus = Literal["starting", "active", "draining", "dead"]

LEASE = dt.timedelta(seconds=10)
"""How long after its last beat a node, and every lease that hangs on it, is given up."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Node:
    """A process of ours, as it introduces itself."""

    id: str
    hostname: str
    ip_address: str
    pid: int
    version: str
    org: str | None = None
    """The only org it serves; None: every org."""
    http_port: int = 0
    roles: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    handlers: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    concurrency: int = 0
    lease: dt.timedelta = LEASE


@dataclasses.dataclass(frozen=True, kw_only=True)
class KnownNode:
    """A node as the others see it."""

    node: Node
    status: NodeStatus
    started_at: dt.datetime
    beat_at: dt.datetime
    asleep: bool
    handled: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class SeenNode:
    """A node as people see it, in the order `seen_nodes` selects it."""

    id: uuid.UUID
    hostname: str
    ip_address: str
    http_port: int
    pid: int
    version: str
    status: NodeStatus
    roles: list[str]
    queues: list[str]
    handlers: list[str]
    capabilities: list[str]
    concurrency: int
    asleep: bool
    started_at: dt.datetime
    beat_at: dt.datetime
    beat_age: float
    """Seconds since its last beat."""
    lease: dt.timedelta
    shared: bool
    """It serves every org."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Vitals:
    """What a node says of itself with each beat. None leaves what is stored."""

    asleep: bool | None = None
    handled: dict[str, Any] | None = None
    busy: bool = False
    """It holds tasks."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BeatAnswer:
    """What a beat found. `previous` is None if nobody knows the node any more."""

    previous: NodeStatus | None
    elected: bool = False
    """The leader's lock is now this session's."""
    renewed: bool = False
    """The term is still this node's."""
    heir: bool = False
    """The heir's lock is this session's: it is the first in line to lead next."""
    revived: bool = False
    """The node had been given up: what it holds may have been taken away."""
    drain: bool = False
    """Somebody wants it to take no more work, or it said so itself."""
    alone: bool = False
    """No other node works."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sign:
    """What one look says of one node."""

    id: str
    overdue: bool
    """Its lease ran out without a beat."""
    absent: int | None
    """The liveness key nobody holds; None if it is held, there is none, or it is too early to say."""
    watched: bool
    """It has a liveness lock, so looking often pays."""


@dataclasses.dataclass(frozen=True)
class Leader:
    """Who leads a role, as the row shows it."""

    role: str
    node_id: str
    term: int
    acquired_at: dt.datetime
    lease_until: dt.datetime


@dataclasses.dataclass(frozen=True)
class Lock:
    """A named lock that is held."""

    org_id: uuid.UUID
    name: str
    owner: str
    token: uuid.UUID
    acquired_at: dt.datetime
    expires_at: dt.datetime
    metadata: dict[str, Any]
