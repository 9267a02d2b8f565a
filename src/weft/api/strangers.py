"""Denials of those whom nobody knows: bad keys, forged origins. In the journal, but never so that a flood could fill it.

Each server writes at most ten at once and then one a minute: fewer than 1,500 a day, whoever tries whatever. Those in
between are counted into the next one, and every single one is in the metrics.
"""

import time
from collections.abc import Callable

from weft.access import bucket
from weft.access.bucket import Limit
from weft.base import errors, ids
from weft.db.database import Database
from weft.journal import record

_LIMIT = Limit(rate=1 / 60, burst=10)
_LONGEST = 200


class Strangers:
    """One per server."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._bucket = bucket.full(_LIMIT, at=clock())
        self._unwritten = 0

    async def record(self, error: errors.WeftError, *, asked: str, client: str) -> None:
        """`asked` is method and path; nothing of the credential is kept."""
        self._bucket, given = bucket.take(self._bucket, _LIMIT, want=1, at=self._clock())
        if not given:
            self._unwritten += 1
            return
        unwritten, self._unwritten = self._unwritten, 0
        async with self._database.tx(labelled=True) as tx:
            # belongs to no org: only whoever runs Weft reads it
            await record.record(
                tx, org_id=ids.EVERY_ORG, actor="nobody", action="access.denied", object_type="operation",
                object_id=asked[:_LONGEST],
                after={"code": error.code, "why": error.message, "client": client, "unwritten": unwritten},
            )  # fmt: skip
