"""What a scenario returns, and how one that only Weft runs is shown."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bench.estimate import Estimate
from bench.verdict import Bound, Verdict


@dataclass(frozen=True)
class Measurement:
    """Named numbers of one repeat of one scenario on one system; units are in the names.

    `samples` are what a percentile over all repeats is made of. They are not saved: they are too many.
    """

    values: dict[str, float]
    samples: tuple[float, ...] = ()


@dataclass(frozen=True)
class Line(Bound):
    """A line in the table of a scenario that only Weft runs: which value, and what it should be.

    The label may name sizes of the scenario in braces.
    """

    label: str
    value: str
    digits: int = 0
    every: bool = False
    """The target is for every round, not for the median."""

    def text(self, sizes: dict[str, int]) -> str:
        """The label with the sizes in it."""
        return self.label.format(**{name: _short(size) for name, size in sizes.items()})

    def judge(self, found: Estimate) -> Verdict:
        """Judge the median, or every round: then one bad round decides, and nothing is left unsure."""
        if self.every:
            return "met" if self.met(found.low) and self.met(found.high) else "missed"
        return super().judge(found)


def percentile(values: Iterable[float], share: float) -> float:
    """Return the smallest value that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _short(number: int) -> str:
    for unit, letter in ((1_000_000, " M"), (1_000, " k")):
        if number >= unit:
            return f"{number / unit:g}{letter}"
    return str(number)
