"""When a worker is said to be awake, so that nobody who enqueues notifies it, and when asleep, so that everybody does.

Awake after a second of heavy work, asleep after a second without. A trickle is no reason to be called awake: each of
its tasks should be told of. So many that every one of them would make commits wait is heavy, even if they come one by one.
A worker that counts what it hears can tell a flood that lies there from one that comes in: of the former, however large, it
need hear nothing, but of others' tasks beside it.
"""

HEAVY = 50
"""Tasks in one claim."""

OFTEN = 500
"""Tasks a second. With fewer, whoever polls finds nothing most of the time, and they would start later than when told of."""

_WINDOW = 0.2
_UNDISTURBED = 10.0

_AWAKE_FOR = 1.0
_POLL_RELIEVED = 60.0
_POLL_ASLEEP = 1.9
_POLL_DEAF = 0.5
_POLL_AWAKE = 0.005


class Wakefulness:
    """Of one worker. `asleep` is what was last said of it."""

    def __init__(self) -> None:
        self.asleep = False
        self._heavy = -float("inf")
        self._heavy_since = -float("inf")
        self._counted = -float("inf")
        self._count = 0
        self._rate = 0.0
        self._heard = 0
        self._heard_since = -float("inf")
        self._disturbed = -float("inf")

    def much(self, got: int, now: float) -> bool:
        """Whether a claim that got so many is heavy work, by itself or after those before it."""
        if now - self._counted >= _WINDOW:
            self._rate = self._count / (now - self._counted)
            self._counted, self._count = now, 0
        self._count += got
        return got >= HEAVY or self._rate >= OFTEN

    def heavy(self, now: float) -> bool:
        """There is heavy work. Answers whether that should be said: the worker is awake."""
        if now - self._heavy > _AWAKE_FOR / 4:
            self._heavy_since = now
        self._heavy = now
        return self.asleep and now - self._heavy_since > _AWAKE_FOR

    def heard(self, now: float) -> None:
        """A notification came."""
        if now - self._heard_since >= _WINDOW:
            self._heard, self._heard_since = 0, now
        self._heard += 1
        if self._heard >= OFTEN * _WINDOW:
            self._disturbed = now

    def disturbed(self, now: float) -> bool:
        """Whether there were very many just now."""
        return now - self._disturbed < _WINDOW

    def undisturbed(self, now: float) -> bool:
        """Whether there were not for so long that it may be tried again, though there is heavy work."""
        return now - self._disturbed > _UNDISTURBED

    def rested(self, now: float) -> bool:
        """Whether there was no heavy work for a second."""
        return now - self._heavy > _AWAKE_FOR

    def poll(self, *, hears: bool, relieved: bool = False) -> float:
        """How long to wait for a notification before looking all the same. `relieved`: somebody else in this process looks,
        and nudges the worker."""
        if not self.asleep:
            return _POLL_AWAKE
        if relieved:
            return _POLL_RELIEVED
        return _POLL_ASLEEP if hears else _POLL_DEAF
