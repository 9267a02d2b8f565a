"""Rate limits at the door of one server: spends tokens that it leases from the database's buckets (`access/bucket.py`)."""

import asyncio
import dataclasses
import math
import time
import uuid
import weakref
from collections.abc import Callable

from weft.access import bucket, rates
from weft.access.principal import Principal
from weft.access.rates import Share
from weft.base import errors
from weft.db.database import Database

Shares = Callable[[Principal], tuple[Share, Share]]
"""The buckets of whoever asks and of their org."""

_MOST = 10_000
_IDLE = 60.0


@dataclasses.dataclass(frozen=True)
class Standing:
    """How near to a limit somebody is, as far as this server knows."""

    limit: int
    remaining: int
    reset: int
    """Seconds until everything is there again, if nothing is asked meanwhile."""

    def headers(self) -> list[tuple[bytes, bytes]]:
        return [
            (b"x-ratelimit-limit", b"%d" % self.limit), (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-reset", b"%d" % self.reset),
        ]  # fmt: skip


@dataclasses.dataclass
class Purse:
    """Tokens of one bucket that are this server's to spend, for a moment."""

    share: Share
    tokens: int = 0
    size: int = 1
    spent: int = 0
    until: float = 0.0
    left: float = 0.0
    """What the bucket had after the last lease."""
    empty_until: float = 0.0
    """Asking sooner would be in vain."""
    used: float = 0.0

    def has(self, now: float) -> bool:
        if now > self.until:
            self.tokens = 0
        return self.tokens > 0

    def wanted(self) -> int:
        """How many to lease next; from then on they are counted anew."""
        if self.until:
            self.size = bucket.next_lease(self.size, self.share.limit, spent=self.spent)
        self.spent = 0
        return self.size

    def put(self, given: int, *, left: float, now: float) -> None:
        self.tokens += given
        self.left = left
        self.until = now + bucket.KEPT
        if not given:
            self.empty_until = now + max(bucket.until_next(left, self.share.limit), 0.001)

    def spend(self) -> None:
        self.tokens -= 1
        self.spent += 1

    def standing(self) -> Standing:
        limit = self.share.limit
        remaining = min(limit.burst, self.tokens + self.left)
        return Standing(
            limit=int(limit.burst), remaining=int(remaining), reset=math.ceil((limit.burst - remaining) / limit.rate)
        )


class Limiter:
    """Lets requests in as long as both their own bucket and their org's give tokens."""

    def __init__(
        self, database: Database, *, shares: Shares | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._shares = shares or self._usual
        self._clock = clock
        self._purses: dict[uuid.UUID, Purse] = {}
        self._leasing: weakref.WeakValueDictionary[uuid.UUID, asyncio.Lock] = weakref.WeakValueDictionary()

    async def admit(self, principal: Principal, *, tell: Callable[[Standing], None]) -> None:
        """RateLimited, with the time to wait, if there are no tokens. `tell` learns how things stand, either way."""
        purses = [self._purse(share) for share in self._shares(principal)]
        while not all([purse.has(self._clock()) for purse in purses]):
            now = self._clock()
            for purse in purses:
                if not purse.has(now) and now < purse.empty_until:
                    tell(purse.standing())
                    raise _refusal(purse.empty_until - now)
            await self._lease(principal.org, purses)
        for purse in purses:
            purse.spend()
        tell(min((purse.standing() for purse in purses), key=lambda one: one.remaining / one.limit))

    async def _lease(self, org: uuid.UUID, purses: list[Purse]) -> None:
        """One at a time per org: whoever waited may find that others have leased enough."""
        lock = self._leasing.setdefault(org, asyncio.Lock())
        async with lock:
            now = self._clock()
            wanted = [(one.share, one.wanted()) for one in purses if not one.has(now) and now >= one.empty_until]
            if not wanted:
                return
            async with self._database.once() as tx:
                given = await rates.take(tx, wanted)
            if len(given) < len(wanted):
                new = [(share, want) for share, want in wanted if share.id not in given]
                async with self._database.once() as tx:
                    await rates.make(tx, [share for share, _ in new])
                async with self._database.once() as tx:
                    given |= await rates.take(tx, new)
            now = self._clock()
            for purse in purses:
                if purse.share.id in given:
                    got, left = given[purse.share.id]
                    purse.put(got, left=left, now=now)

    def _purse(self, share: Share) -> Purse:
        now = self._clock()
        found = self._purses.get(share.id)
        if found is None or found.share != share:
            if len(self._purses) >= _MOST:
                self._purses = {id: one for id, one in self._purses.items() if now - one.used < _IDLE}
            found = self._purses[share.id] = Purse(share)
        found.used = now
        return found

    def _usual(self, principal: Principal) -> tuple[Share, Share]:
        return rates.of(principal, settings=self._database.settings)


def _refusal(wait: float) -> errors.RateLimited:
    seconds = max(1, math.ceil(wait))
    return errors.RateLimited(f"too many requests; try again in {seconds} s", retry_after=seconds)
