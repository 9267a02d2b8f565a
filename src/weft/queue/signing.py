"""The keys that sign task tokens: made at first use, kept where only the engine can read them, rotated on request."""

import datetime as dt
import secrets
import time

from weft.base import ids
from weft.db import statements
from weft.db.tx import Tx
from weft.queue.tokens import Keys

SQL = statements.load("weft.queue")

STILL = dt.timedelta(hours=1)
"""How long tokens of a retired key are taken. Heartbeats bring new ones much sooner."""

_BYTES = 32


class Clock:
    """The database's clock, read once and then counted on from here: ours may be wrong, and may jump."""

    def __init__(self, now: dt.datetime) -> None:
        self._offset = now.timestamp() - time.monotonic()

    def now(self) -> float:
        return time.monotonic() + self._offset


async def load(tx: Tx) -> tuple[Keys, Clock]:
    """Every key that still counts, the first one made if there is none. Needs a transaction."""
    rows = await tx.rows(SQL.signing_keys)
    if not rows or not rows[0][3]:
        await tx.run(SQL.first_signing_key, {"id": str(ids.token()), "secret": secrets.token_bytes(_BYTES)})
        rows = await tx.rows(SQL.signing_keys)
    return Keys({row[0]: bytes(row[1]) for row in rows}, current=rows[0][0]), Clock(rows[0][2])


async def rotate(tx: Tx, *, still: dt.timedelta = STILL) -> None:
    """A new key signs from now on; `still` is how long tokens of the old ones are taken (0: they end here)."""
    await tx.run(SQL.forget_signing_keys)
    await tx.run(SQL.retire_signing_keys, {"still": still})
    await tx.run(SQL.first_signing_key, {"id": str(ids.token()), "secret": secrets.token_bytes(_BYTES)})
