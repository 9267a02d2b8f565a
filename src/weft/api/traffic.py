"""How many requests were served, how they ended, and how long they took: by operation, so that it stays small.

Each org's traffic is counted apart, because whoever reads the metrics reads those of one org. What nobody with a key
asked for (health, failed logins, unknown paths) is counted once, for all.
"""

import bisect
import dataclasses
import uuid
from collections.abc import Iterator

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the latency histogram, in seconds."""

MOST_ORGS = 1000
"""Orgs that are counted apart; of more, those that came first are forgotten."""


@dataclasses.dataclass
class Latency:
    """A histogram: how many took how long, and how long all took together."""

    buckets: list[int] = dataclasses.field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0


@dataclasses.dataclass
class Counts:
    """What was asked for: (operation, status) → how often, operation → how long it took."""

    requests: dict[tuple[str, int], int] = dataclasses.field(default_factory=dict)
    latency: dict[str, Latency] = dataclasses.field(default_factory=dict)

    def count(self, operation: str, *, status: int, seconds: float) -> None:
        which = operation, status
        self.requests[which] = self.requests.get(which, 0) + 1
        found = self.latency.get(operation)
        if found is None:
            found = self.latency[operation] = Latency()
        found.buckets[bisect.bisect_left(BOUNDS, seconds)] += 1
        found.seconds += seconds


class Traffic:
    """The counts of one server since it started."""

    def __init__(self) -> None:
        self._nobodys = Counts()
        self._by_org: dict[uuid.UUID, Counts] = {}

    def count(self, operation: str, *, org: uuid.UUID | None, status: int, seconds: float) -> None:
        self._of(org).count(operation, status=status, seconds=seconds)

    def seen_by(self, org: uuid.UUID) -> Iterator[Counts]:
        """What an org may know: its own traffic, and that of nobody in particular."""
        yield self._nobodys
        if org in self._by_org:
            yield self._by_org[org]

    def _of(self, org: uuid.UUID | None) -> Counts:
        if org is None:
            return self._nobodys
        if org not in self._by_org:
            if len(self._by_org) >= MOST_ORGS:
                del self._by_org[next(iter(self._by_org))]
            self._by_org[org] = Counts()
        return self._by_org[org]
