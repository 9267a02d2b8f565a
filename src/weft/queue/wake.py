"""What a notification on `weft_wake` says: in which lane there is work, and whose. A hint; the poll is the net."""

from typing import NamedTuple

_ANYBODY = "*"


class Hint(NamedTuple):
    """Ready work. Without an org: somebody's, in this queue."""

    lane: str
    org: str | None

    @property
    def queue(self) -> str:
        return self.lane.partition("+")[0]


def parse(payload: str) -> Hint:
    """`<org> <lane>`, or `* <queue>`."""
    org, _, lane = payload.partition(" ")
    return Hint(lane, None if org == _ANYBODY else org)
