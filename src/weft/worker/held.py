"""What an HTTP worker holds: each task's token, its lease, and when that was last kept."""

import dataclasses
import time
from collections.abc import Iterator

from weft.client.work import Handed

_HEARTBEAT = 30.0
"""Seconds between two heartbeats of a task, if its lease is long."""


@dataclasses.dataclass(slots=True)
class Hold:
    """One task in our hands."""

    token: str
    lease_token: str
    lease: float
    kept: float
    """When its lease began anew, on the monotonic clock, or a little later."""

    def due(self, now: float) -> bool:
        """Whether it is time for a heartbeat: often enough that one may get lost."""
        return now - self.kept >= min(self.lease / 3, _HEARTBEAT)

    def over(self, now: float) -> bool:
        return now - self.kept > self.lease


class Holds:
    """By task id."""

    def __init__(self) -> None:
        self._holds: dict[str, Hold] = {}

    def __len__(self) -> int:
        return len(self._holds)

    def take(self, task: Handed, *, at: float) -> None:
        self._holds[task.task_id] = Hold(task.token, task.lease_token, task.lease_seconds, at)

    def drop(self, id: str, lease_token: str) -> None:
        """Of this attempt only: the next one may be in our hands already."""
        if self.get(id, lease_token) is not None:
            del self._holds[id]

    def get(self, id: str, lease_token: str | None = None) -> Hold | None:
        """What is held of a task, if it is the attempt with this lease."""
        hold = self._holds.get(id)
        return hold if hold is None or lease_token in (None, hold.lease_token) else None

    def token(self, id: str, lease_token: str) -> str | None:
        hold = self.get(id, lease_token)
        return None if hold is None else hold.token

    def due(self) -> Iterator[str]:
        now = time.monotonic()
        return (id for id, hold in self._holds.items() if hold.due(now))

    def over(self) -> list[str]:
        """Those whose lease must be over."""
        now = time.monotonic()
        return [id for id, hold in self._holds.items() if hold.over(now)]
