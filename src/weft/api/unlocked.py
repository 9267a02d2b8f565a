"""Who asks where nobody has locked the door yet: everybody on this machine, until the first key or issuer of tokens.

Only for applications whose dialect says so. A server that others can reach refuses to start without a lock
(`serving.must_be_guarded`), so whoever gets here is on this machine.
"""

import time
from collections.abc import Callable

from weft.access import keys, oidc
from weft.access.principal import Principal, Role
from weft.api import policy
from weft.api.operation import Operation
from weft.base import ids
from weft.db.database import Database

_REMEMBERED = 1.0


class Unlocked:
    """One per server."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._locked = oidc.configured(database.settings) is not None
        self._looked = -_REMEMBERED

    async def principal(self, operation: Operation) -> Principal | None:
        """Whoever asks without a credential: in the role that may, of the default org. None: the door is locked."""
        now = self._clock()
        if not self._locked and now - self._looked >= _REMEMBERED:
            async with self._database.once() as tx:
                self._locked = await keys.exist(tx)
            self._looked = now
        if self._locked:
            return None
        role: Role = "operator" if policy.allows("operator", operation.action) else "worker"
        return Principal(org=ids.DEFAULT_ORG, actor="anybody here", role=role)
