"""When to look again after something changed: soon, but not for every change of a flurry. Pure."""

import dataclasses

QUIET = 0.05
"""Seconds without another change after which it is time."""
LONGEST = 0.2
"""Seconds after the first change when it is time in any case."""
SHARE = 4.0
"""A look is followed by a pause of so many times what it took: slow queries must not take up the database."""


@dataclasses.dataclass
class Debounce:
    """Of one thing that is watched."""

    first: float | None = None
    last: float = 0.0
    rests_until: float = 0.0

    def touch(self, now: float) -> None:
        """Something changed."""
        if self.first is None:
            self.first = now
        self.last = now

    def pause(self, now: float) -> float:
        """Seconds until it is time to look; 0: now."""
        if self.first is None:
            return 0.0
        due = min(self.last + QUIET, self.first + LONGEST)
        return max(0.0, max(due, self.rests_until) - now)

    def looking(self) -> None:
        """What changed until now will be seen."""
        self.first = None

    def looked(self, now: float, *, took: float) -> None:
        self.rests_until = now + took * SHARE
