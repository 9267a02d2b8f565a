"""Rate limits: whose buckets a request takes from, and their numbers."""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Sequence

from weft.access.bucket import Limit
from weft.access.principal import Principal
from weft.base.config import Settings
from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.access")

BATCH = 1000
_AT_ONCE = 2
"""Seconds' worth of requests that may come at once."""
_FORGOTTEN = dt.timedelta(hours=1)


@dataclasses.dataclass(frozen=True)
class Share:
    """A bucket, and what holds for it."""

    id: uuid.UUID
    limit: Limit


def of(principal: Principal, *, settings: Settings) -> tuple[Share, Share]:
    """The buckets of whoever asks and of their org. What their rows say counts, else the settings."""
    return (
        Share(principal.key or uuid.uuid5(principal.org, principal.actor), principal.rate or _usual(settings.rate_per_key)),
        Share(principal.org, principal.org_rate or _usual(settings.rate_per_org)),
    )


async def take(tx: Tx, wanted: Sequence[tuple[Share, int]]) -> dict[uuid.UUID, tuple[int, float]]:
    """Takes from several buckets: for each how many tokens it gave, and how many it has left. Missing: it is not made."""
    arguments = {
        "ids": [share.id for share, _ in wanted], "rates": [share.limit.rate for share, _ in wanted],
        "bursts": [share.limit.burst for share, _ in wanted], "wants": [float(want) for _, want in wanted],
    }  # fmt: skip
    return {id: (int(given), left) for id, given, left in await tx.rows(SQL.take_tokens, arguments)}


async def make(tx: Tx, shares: Sequence[Share]) -> None:
    """Full buckets, where there are none."""
    await tx.run(SQL.make_buckets, {"ids": [one.id for one in shares], "bursts": [one.limit.burst for one in shares]})


async def forget(tx: Tx) -> int:
    """Drops a batch of buckets that nobody has asked for an hour."""
    return await tx.run(SQL.forget_buckets, {"older": _FORGOTTEN, "take": BATCH})


def _usual(rate: int) -> Limit:
    return Limit(rate, rate * _AT_ONCE)
