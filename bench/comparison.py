"""Ratios to the best peer and to the floor, each made within a round, and what they should be.

A machine drifts by a quarter between minutes, and what is measured side by side drifts alike: it drops out of a ratio of
two values of one round, and stays in a ratio of two medians. The best peer is one system, the one with the best median of
the whole run: the luckiest of several peers in every round would be a rival that does not exist.
"""

import statistics
from dataclasses import dataclass
from typing import Literal

from bench.estimate import Estimate, estimate
from bench.verdict import Bound, Verdict

Against = Literal["peer", "floor"]
Rounds = dict[int, float]
"""A value by the number of its repeat; a repeat that failed is not there."""

# Neither is a rival: the floor has no features, and Weft is what the others are compared with.
NOT_PEERS = ("floor", "weft", "weft-lean")
FLOOR = "floor"


@dataclass(frozen=True, kw_only=True)
class Target(Bound):
    """What a system's ratio should be."""

    value: str = "per_second"
    against: Against = "peer"


@dataclass(frozen=True)
class Ratio:
    """A system's value divided by another's: in each round where both have one, and over all of them."""

    system: str
    value: str
    against: Against
    other: str
    rounds: Rounds
    estimate: Estimate
    target: str
    verdict: Verdict | None


_QUICK = (Target(value="p50_ms", at_most=1), Target(value="p99_ms", at_most=1))
TARGETS: dict[tuple[str, str], tuple[Target, ...]] = {
    ("drain_1", "weft"): (Target(at_least=1.1), Target(at_least=0.6, against="floor")),
    ("drain_1", "weft-lean"): (Target(at_least=1.5),),
    ("drain_2", "weft-lean"): (Target(at_least=1.1),),
    ("enqueue_one", "weft"): (Target(at_least=1),),
    ("enqueue_one", "weft-lean"): (Target(at_least=1),),
    ("enqueue_many", "weft"): (Target(at_least=1.5),),
    ("enqueue_many", "weft-lean"): (Target(at_least=1.5),),
    ("latency", "weft"): _QUICK,
    ("latency", "weft-lean"): _QUICK,
}


def compared(variant: str) -> tuple[str, ...]:
    """Return which values of a variant are compared."""
    return ("p50_ms", "p99_ms") if variant == "latency" else ("per_second",)


def best_peer(measured: dict[str, Rounds], *, value: str) -> str | None:
    """Return the peer with the best median over the whole run; the first of them if two are equal."""
    medians = {name: statistics.median(rounds.values()) for name, rounds in measured.items() if name not in NOT_PEERS}
    best = min if value.endswith("_ms") else max
    return best(medians, key=lambda name: medians[name], default=None)


def paired(own: Rounds, other: Rounds) -> Rounds:
    """Return the ratio of each round in which both were measured."""
    return {number: own[number] / other[number] for number in sorted(own.keys() & other.keys())}


def ratios(measured: dict[str, Rounds], *, variant: str, value: str) -> list[Ratio]:
    """Return every system's ratio to the best peer and to the floor, as far as they share rounds."""
    others: dict[Against, str | None] = {"peer": best_peer(measured, value=value), "floor": FLOOR}
    return [
        _ratio(system, value, against=against, other=other, rounds=rounds, targets=TARGETS.get((variant, system), ()))
        for system, own in measured.items()
        for against, other in others.items()
        if other in measured and (rounds := paired(own, measured[other]))
    ]


def _ratio(
    system: str, value: str, *, against: Against, other: str, rounds: Rounds, targets: tuple[Target, ...]
) -> Ratio:
    found = estimate(rounds.values())
    target = next((one for one in targets if (one.value, one.against) == (value, against)), None)
    return Ratio(
        system=system,
        value=value,
        against=against,
        other=other,
        rounds=rounds,
        estimate=found,
        target=target.target() if target else "",
        verdict=target.judge(found) if target else None,
    )
