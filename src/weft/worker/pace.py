"""How fast handlers get through what is claimed, and so how much of it may wait for them here. Pure."""

_AHEAD = 0.2
"""Seconds of observed work the buffer may hold: what a crash loses is leases, and no more of them than that."""
_AT_MOST = 6000
_WINDOW = 0.05
"""Seconds over which is counted."""
_MANY = 50
"""Tasks: fewer say little of those that follow, which may take long."""


class Pace:
    """Of one worker. `finished` is how many tasks it has been through with since it began."""

    def __init__(self, *, runners: int, now: float) -> None:
        self.rate = 0.0
        """Tasks a second."""
        self.ahead = 0
        """How many may wait here."""
        self._many = max(runners, _MANY)
        self._since, self._finished = now, 0

    def note(self, now: float, *, finished: int) -> None:
        """Over a window: half of what it was and half of what is seen."""
        passed = now - self._since
        if passed >= _WINDOW:
            self._learn((self.rate + (finished - self._finished) / passed) / 2, now, finished)

    def through(self, now: float, *, finished: int) -> None:
        """All that was claimed is done, and all runners wait. If that was much, and quicker than known, it counts at once:
        else who has just begun would be given as little again, and again. What is slower counts over its window."""
        passed, done = now - self._since, finished - self._finished
        if 0 < passed < _WINDOW and done >= self._many and done / passed > self.rate:
            self._learn(done / passed, now, finished)

    def _learn(self, rate: float, now: float, finished: int) -> None:
        self.rate = rate
        self.ahead = min(round(rate * _AHEAD), _AT_MOST)
        self._since, self._finished = now, finished
