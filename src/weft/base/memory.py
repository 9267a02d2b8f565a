"""What a process remembers for a while, so that it need not ask every time. Full, it forgets what is old, else all."""

import time
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Memory(Generic[K, V]):
    """Values by key, each for so many seconds from the moment it was *asked for*: it may be as old as that."""

    def __init__(self, *, seconds: float, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.now = clock
        self._seconds = seconds
        self._most = most
        self._kept: dict[K, tuple[float, V]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        kept = self._kept.get(key)
        return kept[1] if kept is not None and self.now() - kept[0] < self._seconds else None

    def keep(self, key: K, value: V, *, asked: float) -> V:
        """`asked`: what `now()` said before the question."""
        if len(self._kept) >= self._most:
            self._kept = {old: kept for old, kept in self._kept.items() if asked - kept[0] < self._seconds}
            if len(self._kept) >= self._most:
                self._kept.clear()
        self._kept[key] = asked, value
        return value
