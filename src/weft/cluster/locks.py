"""Named locks for users: held with a token until a time, by the database's clock."""

import datetime as dt
import uuid
from typing import Any

from weft.base import errors, ids, json, names
from weft.cluster.model import Lock
from weft.db import statements
from weft.db.tx import Tx
from weft.journal import record

SQL = statements.load("weft.cluster")

SWEEP_BATCH = 1000
_KEPT = dt.timedelta(hours=1)


async def acquire(
    tx: Tx,
    *,
    org_id: uuid.UUID,
    name: str,
    duration: dt.timedelta,
    owner: str,
    metadata: dict[str, Any] | None = None,
) -> Lock | None:
    """The lock, if nobody holds it or its time is over; else None. The token is what extends and releases it."""
    arguments = {
        "org_id": org_id,
        "name": names.check_key(name, what="the lock's name"),
        "owner": names.check_key(owner, what="the lock's owner"),
        "token": ids.token(),
        "duration": _positive(duration),
        "metadata": json.text(metadata or {}, what="the lock's metadata"),
    }
    found = await tx.row(SQL.acquire, arguments)
    return None if found is None else Lock(*found)


async def extend(tx: Tx, *, org_id: uuid.UUID, name: str, token: uuid.UUID, duration: dt.timedelta) -> Lock:
    """The lock, held for `duration` from now on. A lock whose time is over is lost even if nobody took it."""
    arguments = {"org_id": org_id, "name": name, "token": token, "duration": _positive(duration)}
    found = await tx.row(SQL.extend, arguments)
    if found is None:
        raise _lost(name)
    return Lock(*found)


async def release(tx: Tx, *, org_id: uuid.UUID, name: str, token: uuid.UUID) -> None:
    """Gives the lock up. LockLost: it was not held any more, so what was done under it may have had company."""
    if await tx.run(SQL.release, {"org_id": org_id, "name": name, "token": token}) == 0:
        raise _lost(name)


async def force(tx: Tx, *, org_id: uuid.UUID, name: str, actor: str) -> None:
    """Takes the lock away from whoever holds it, who learns it when they extend or release it. Journaled."""
    owner = await tx.value(SQL.force_release, {"org_id": org_id, "name": name})
    if owner is None:
        raise errors.NotFound(f"nobody holds the lock {name!r}")
    await record.record(
        tx, org_id=org_id, actor=actor, action="lock.force", object_type="lock", object_id=name, before={"owner": owner}
    )


async def check(tx: Tx, *, org_id: uuid.UUID, name: str) -> Lock | None:
    """The lock if anybody holds it."""
    found = await tx.row(SQL.check_lock, {"org_id": org_id, "name": name})
    return None if found is None else Lock(*found)


async def held(tx: Tx, *, org_id: uuid.UUID, after: str = "", take: int = 100) -> list[Lock]:
    """The locks that are held, by name; the next page comes `after` the last name."""
    return [Lock(*row) for row in await tx.rows(SQL.held_locks, {"org_id": org_id, "after": after, "take": take})]


async def sweep(tx: Tx) -> int:
    """Forgets locks whose time was over long ago."""
    return await tx.run(SQL.sweep_locks, {"older": _KEPT, "take": SWEEP_BATCH})


def _positive(duration: dt.timedelta) -> dt.timedelta:
    if duration <= dt.timedelta():
        raise errors.InvalidInput(f"a lock must be held for longer than nothing, not for {duration}")
    return duration


def _lost(name: str) -> errors.LockLost:
    return errors.LockLost(f"the lock {name!r} is not held with this token", name=name)
