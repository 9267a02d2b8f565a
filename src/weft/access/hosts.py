"""Private hosts that an org's tasks may call in spite of the SSRF guard. Said by whoever runs Weft, never by the org."""

import uuid

from weft.base import errors
from weft.db import statements
from weft.db.tx import Tx
from weft.journal import record
from weft.net import allow as allowing

SQL = statements.load("weft.access")


async def allow(tx: Tx, *, org: uuid.UUID, entry: str, actor: str) -> None:
    """Opens a host, an address or a network to an org's tasks. InvalidInput for what says nothing."""
    try:
        allowing.read((entry,))
    except errors.ConfigError as error:
        raise errors.InvalidInput(error.message) from None
    if await tx.run(SQL.allow_host, {"org_id": org, "entry": entry, "actor": actor}):
        await _journal(tx, org=org, actor=actor, action="host.allow", entry=entry)


async def forbid(tx: Tx, *, org: uuid.UUID, entry: str, actor: str) -> None:
    """Closes it again; tasks learn of it within ten seconds."""
    if not await tx.run(SQL.forbid_host, {"org_id": org, "entry": entry}):
        raise errors.NotFound(f"{entry!r} is not on the org's list; it has to be written as it was allowed")
    await _journal(tx, org=org, actor=actor, action="host.forbid", entry=entry)


async def of(tx: Tx, org: uuid.UUID) -> tuple[str, ...]:
    return tuple(entry for (entry,) in await tx.rows(SQL.allowed_hosts, {"org_id": org}))


async def _journal(tx: Tx, *, org: uuid.UUID, actor: str, action: str, entry: str) -> None:
    await record.record(tx, org_id=org, actor=actor, action=action, object_type="host", object_id=entry)
