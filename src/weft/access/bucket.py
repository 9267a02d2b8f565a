"""The token bucket of a rate limit, and how many tokens a server leases from it at a time. Pure.

A bucket holds at most `burst` tokens and gains `rate` a second. Asking it for every request would make each of them wait
for one row, so a server leases a few tokens at once and spends them by itself. What it does not spend within `KEPT` is
thrown away. So what is let in during any time is never more than

    burst + rate × elapsed + what servers held at its beginning    (at most a lease each, and a lease is at most burst / 8)

and from the first request on never more than burst + rate × elapsed. The other way, a request may be refused while other
servers hold unspent tokens, for at most `KEPT`.
"""

import dataclasses
import math

KEPT = 1.0
"""Seconds that leased tokens may be spent."""


@dataclasses.dataclass(frozen=True)
class Limit:
    """So many a second on average, so many at once."""

    rate: float
    burst: float

    @property
    def largest_lease(self) -> int:
        return max(1, math.floor(min(self.burst / 8, self.rate / 4)))


@dataclasses.dataclass(frozen=True)
class Bucket:
    """What was in it at a time, in seconds of one clock."""

    tokens: float
    at: float


def full(limit: Limit, *, at: float) -> Bucket:
    return Bucket(limit.burst, at)


def take(bucket: Bucket, limit: Limit, *, want: int, at: float) -> tuple[Bucket, int]:
    """The bucket afterwards, and how many whole tokens it gave. A clock that went back adds nothing."""
    available = min(limit.burst, bucket.tokens + limit.rate * max(0.0, at - bucket.at))
    given = min(want, math.floor(available))
    return Bucket(available - given, max(bucket.at, at)), given


def until_next(tokens: float, limit: Limit) -> float:
    """Seconds until there is a whole token."""
    return 0.0 if tokens >= 1 else (1 - tokens) / limit.rate


def next_lease(size: int, limit: Limit, *, spent: int) -> int:
    """How many to lease after a lease of `size` of which so many were spent in time: double if all, else as many."""
    return min(size * 2, limit.largest_lease) if spent >= size else max(1, spent)
