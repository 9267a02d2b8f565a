"""Whether a target is met, and whether the rounds are enough to say so."""

from dataclasses import dataclass
from typing import Literal

from bench.estimate import Estimate

Verdict = Literal["met", "met, not surely", "missed, not surely", "missed"]


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A side of a number on which a value should be; no side if nothing is given."""

    at_least: float | None = None
    at_most: float | None = None
    below: float | None = None

    def target(self) -> str:
        """The target as text; empty if there is none."""
        for sign, bound in (("≥", self.at_least), ("≤", self.at_most), ("<", self.below)):
            if bound is not None:
                return f"{sign} {bound:g}"
        return ""

    def met(self, value: float) -> bool:
        """Whether one value is on the good side; without a target it is."""
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )

    def judge(self, found: Estimate) -> Verdict:
        """Judge by the median, and surely if the whole interval agrees with it.

        Without an interval there is only the median: the reader is told that no confidence is stated.
        """
        good = self.met(found.median)
        if found.interval is None or self.met(found.interval.low) == self.met(found.interval.high):
            return "met" if good else "missed"
        return "met, not surely" if good else "missed, not surely"
