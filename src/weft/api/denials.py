"""Denials in the journal: a known caller asked for what its role does not allow."""

import time
import uuid

from weft.access.principal import Principal
from weft.api.operation import Operation
from weft.db.database import Database
from weft.journal import record

_EVERY = 60.0
_MOST = 10_000


class Denials:
    """Writes one entry a minute for each caller and action, however often they try: a denial must stay cheap."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._written: dict[tuple[uuid.UUID, str, str], float] = {}

    async def record(self, principal: Principal, operation: Operation, *, action: str | None = None) -> None:
        """`action`: what was wanted of the operation, if that needs more than the operation itself."""
        action = action or operation.action
        now = time.monotonic()
        which = principal.org, principal.actor, action
        if now - self._written.get(which, -_EVERY) < _EVERY:
            return
        if len(self._written) >= _MOST:
            self._written.clear()
        self._written[which] = now
        async with self._database.tx(org=principal.org) as tx:
            await record.record(
                tx, org_id=principal.org, actor=principal.actor, action="access.denied", object_type="operation",
                object_id=operation.name, after={"action": action, "role": principal.role},
            )  # fmt: skip
