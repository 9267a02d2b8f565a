"""What a worker can do: which kinds, and of which lanes."""

import dataclasses
from collections.abc import Sequence
from typing import TypedDict


class LanesServed(TypedDict):
    queues: frozenset[str]
    capabilities: frozenset[str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Serves:
    """What a worker can do."""

    node_id: str
    kinds: Sequence[str]
    queues: frozenset[str]
    capabilities: frozenset[str]

    @property
    def lanes(self) -> LanesServed:
        """As `lanes.served` takes it."""
        return {"queues": self.queues, "capabilities": self.capabilities}
