"""What a scenario returns, and how one that only Weft runs is shown."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """Named numbers of one repeat of one scenario on one system; units are in the names."""

    values: dict[str, float]


@dataclass(frozen=True)
class Line:
    """A line in the table of a scenario that only Weft runs: which value, and what it should be."""

    label: str
    value: str
    digits: int = 0
    at_least: float | None = None
    at_most: float | None = None

    def target(self) -> str:
        """The target as text; empty if there is none."""
        if self.at_least is not None:
            return f"≥ {self.at_least:g}"
        return f"≤ {self.at_most:g}" if self.at_most is not None else ""

    def met(self, value: float) -> bool:
        """Whether the target is met; a line without one is."""
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)


def percentile(values: Iterable[float], share: float) -> float:
    """Return the smallest value that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
