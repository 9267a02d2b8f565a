"""What a few rounds say of a value: the median, the range, and an interval for the median.

The interval goes from the k-th lowest round to the k-th highest. The true median lies outside only if fewer than k rounds
fell on one side of it, and a round falls on either side as a coin does: the confidence is counted, whatever the distribution
of the rounds is. All that is assumed is that they are independent of each other.
"""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

WANTED = 0.95
FEWEST = 5
"""Below this there is no interval: four rounds would be wrong once in eight. Five reach 93.75 %, six what is wanted."""


@dataclass(frozen=True)
class Interval:
    """Where the true median lies, and how often an interval made like this one holds it."""

    low: float
    high: float
    confidence: float


@dataclass(frozen=True)
class Estimate:
    """One value over the repeats that worked; `low` and `high` are the lowest and the highest repeat."""

    median: float
    low: float
    high: float
    repeats: int
    interval: Interval | None


def estimate(values: Iterable[float]) -> Estimate:
    """Return what these rounds say; there must be one at least."""
    ordered = sorted(values)
    return Estimate(
        median=statistics.median(ordered),
        low=ordered[0],
        high=ordered[-1],
        repeats=len(ordered),
        interval=_interval(ordered) if len(ordered) >= FEWEST else None,
    )


def depth(rounds: int) -> int:
    """Return which lowest and highest round the interval ends at: the narrowest that is confident enough, or else all."""
    found = 1
    while found < rounds // 2 and confidence(rounds, depth=found + 1) >= WANTED:
        found += 1
    return found


def confidence(rounds: int, *, depth: int) -> float:
    """Return how often the median is between the rounds at this depth from both ends."""
    return 1 - 2 * sum(math.comb(rounds, fewer) for fewer in range(depth)) * 0.5**rounds


def _interval(ordered: list[float]) -> Interval:
    ends = depth(len(ordered))
    return Interval(low=ordered[ends - 1], high=ordered[-ends], confidence=confidence(len(ordered), depth=ends))
