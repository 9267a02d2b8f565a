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
    """A line in the table of a scenario that only Weft runs: which value, and what it should be.

    The label may name sizes of the scenario in braces.
    """

    label: str
    value: str
    digits: int = 0
    at_least: float | None = None
    at_most: float | None = None
    below: float | None = None
    every: bool = False
    """The target is for every round, not for the median."""

    def text(self, sizes: dict[str, int]) -> str:
        """The label with the sizes in it."""
        return self.label.format(**{name: _short(size) for name, size in sizes.items()})

    def target(self) -> str:
        """The target as text; empty if there is none."""
        for sign, bound in (("≥", self.at_least), ("≤", self.at_most), ("<", self.below)):
            if bound is not None:
                return f"{sign} {bound:g}"
        return ""

    def met(self, value: float) -> bool:
        """Whether the target is met; a line without one is."""
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )


def percentile(values: Iterable[float], share: float) -> float:
    """Return the smallest value that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _short(number: int) -> str:
    for unit, letter in ((1_000_000, " M"), (1_000, " k")):
        if number >= unit:
            return f"{number / unit:g}{letter}"
    return str(number)
