"""Whose turn is it: how a claim is divided between lanes and orgs. Pure.

Fairness is first between orgs, by weight, then by priority within an org. A claim asks each lane for its share;
what one lane cannot fill is taken by the others on the next claim, because an empty lane is forgotten.
"""

import dataclasses
import datetime as dt
from collections.abc import Sequence

_GOLDEN = 2654435769
_ONE = 1 << 32

_EPOCH = dt.datetime(1, 1, 1, tzinfo=dt.UTC)


@dataclasses.dataclass(frozen=True, order=True)
class Mark:
    """A place in the claim order of a lane; everything before it is known to be taken."""

    urgency: int = -1
    run_at: dt.datetime = _EPOCH
    id: str = "00000000-0000-0000-0000-000000000000"


START = Mark()


@dataclasses.dataclass(frozen=True)
class Lane:
    """Ready work of one org in one lane."""

    lane: str
    org: str
    plain: bool
    weight: int = 1
    limited: bool = False
    paused: bool = False
    countable: bool = False
    """Its limits, if any, are counts: one statement can see to them."""

    @property
    def place(self) -> tuple[str, str]:
        return self.lane, self.org

    @property
    def queue(self) -> str:
        return self.lane.partition("+")[0]

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset(self.lane.split("+")[1:])


@dataclasses.dataclass(frozen=True)
class Take:
    """How many tasks to ask a lane for, and from where on."""

    lane: Lane
    take: int
    mark: Mark = START


def name(queue: str, capabilities: Sequence[str] | None) -> str:
    """The lane of a queue and required capabilities, as `weft.lane` writes it."""
    return "+".join([queue, *sorted(set(capabilities))]) if capabilities else queue


def served(lanes: Sequence[Lane], *, queues: frozenset[str], capabilities: frozenset[str]) -> list[Lane]:
    """The lanes a worker may claim from. No queues means all of them."""
    return [
        lane
        for lane in lanes
        if not lane.paused and (not queues or lane.queue in queues) and lane.capabilities <= capabilities
    ]


def divide(lanes: Sequence[Lane]) -> tuple[list[Lane], list[Lane]]:
    """Those one statement may claim from, and the special ones: under a key, after a loss, under a limit."""
    plain = [lane for lane in lanes if lane.plain and not lane.limited]
    return plain, [lane for lane in lanes if not lane.plain or lane.limited]


def shares(weights: Sequence[int], *, want: int, turn: int = 0) -> list[int]:
    """Divides `want` by weight. Sums to `want` if there is anybody to give to.

    What does not divide evenly goes to those whose `turn` it is: over many turns everybody gets what its weight is
    worth, even if there are always more lanes than places.
    """
    total = sum(weights)
    if total == 0 or want <= 0:
        return [0] * len(weights)
    # the lanes lie along a line, as long as their weights are worth; whole numbers are places. Each turn moves the line
    # by the golden ratio, which spreads the turns as evenly as can be
    given = []
    end = (turn * _GOLDEN % _ONE) * total // _ONE
    for weight in weights:
        start, end = end, end + want * weight
        given.append(end // total - start // total)
    return given
