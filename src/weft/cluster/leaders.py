"""Who leads a role: terms, and the fence that every write of a leader carries."""

import datetime as dt
import zlib

from weft.base import crash, errors
from weft.cluster.model import Leader
from weft.db import statements
from weft.db.lean import Lean
from weft.db.tx import Tx

SQL = statements.load("weft.cluster")

_FENCE = Lean("fence", SQL.fence)

SCHEDULER = "scheduler"
LEADER_CLASS = 0x77650002
LEASE = dt.timedelta(seconds=5)
"""What the leader's row promises: two beats of one that rests. It only shows; the lock decides and the term fences."""

_IDLE = "5s"
"""How long a leader's transaction may wait for its next statement: less than a node's lease, so that whoever stopped in
one is given up no later than others."""


def key(role: str) -> int:
    """The advisory lock key of a role."""
    return zlib.crc32(role.encode()) & 0x7FFFFFFF


def heir_key(role: str) -> int:
    """That of the first in line."""
    return key(f"{role} heir")


async def inherit(tx: Tx, *, role: str) -> bool:
    """For the heir: takes the role's lock if it is free, and leaves the line. Writes nothing."""
    arguments = {"leader_class": LEADER_CLASS, "leader_key": key(role), "heir_key": heir_key(role)}
    return bool(await tx.value(SQL.inherit, arguments))


async def take(tx: Tx, *, role: str, node_id: str) -> int | None:
    """A new term for whoever holds the role's lock. None: a transaction of the old term is still open, try again."""
    await tx.run(SQL.found_role, {"role": role, "node_id": node_id})
    crash.point("lead: before the term")
    found = await tx.value(SQL.take_term, {"role": role, "node_id": node_id, "leader_lease": LEASE})
    return None if found is None else int(found)


async def fence(tx: Tx, *, role: str, term: int) -> None:
    """First in each transaction a leader writes in: from here to the commit nobody begins another term."""
    [held] = await tx.together([(_FENCE, {"role": role, "term": term, "idle": _IDLE})])
    if not held:
        raise errors.Conflict(f"term {term} of {role} is over; nothing was changed", role=role, term=term)


async def resign(tx: Tx, *, role: str, node_id: str, term: int | None) -> None:
    """Frees the lock and tells the standbys."""
    arguments = {"role": role, "node_id": node_id, "term": term, "leader_class": LEADER_CLASS, "leader_key": key(role)}
    await tx.row(SQL.resign, arguments)


async def current(tx: Tx, *, role: str) -> Leader | None:
    """Who led last. It leads still if its lease has not run out."""
    found = await tx.row(SQL.current_leader, {"role": role})
    return None if found is None else Leader(*found)


async def silence(tx: Tx, *, role: str) -> dt.timedelta | None:
    """How long ago the lease of whoever led last ran out; negative while it holds, None if nobody ever led."""
    found: dt.timedelta | None = await tx.value(SQL.leader_silence, {"role": role})
    return found
