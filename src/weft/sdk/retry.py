"""Retry policies: how long to wait after a failed attempt. Pure arithmetic, stored with a task as JSON."""

import dataclasses
import datetime as dt
import random
from typing import Any, Literal

from weft.base import durations, errors

Backoff = Literal["fixed", "linear", "exponential"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Retry:
    """`delay(n)` after the n-th counted attempt. The default is the kernel's: 30 s doubling up to 10 min, with jitter."""

    backoff: Backoff = "exponential"
    base: dt.timedelta = dt.timedelta(seconds=30)
    multiplier: float = 2.0
    cap: dt.timedelta = dt.timedelta(minutes=10)
    jitter: float = 0.1
    """The delay is moved by up to this share, up or down."""

    def __post_init__(self) -> None:
        for name in ("base", "cap"):
            object.__setattr__(self, name, durations.parse(getattr(self, name), name=f"retry {name}"))
        if self.backoff not in ("fixed", "linear", "exponential"):
            raise errors.InvalidInput(f"retry backoff {self.backoff!r} must be fixed, linear or exponential")
        if self.base < dt.timedelta(0) or self.cap < dt.timedelta(0):
            raise errors.InvalidInput("retry base and cap must not be negative")
        if not 1 <= self.multiplier <= 100:
            raise errors.InvalidInput(f"retry multiplier {self.multiplier} must be between 1 and 100")
        if not 0 <= self.jitter <= 1:
            raise errors.InvalidInput(f"retry jitter {self.jitter} must be between 0 and 1")

    def delay(self, attempt: int, *, chance: float | None = None) -> dt.timedelta:
        """Pause after the `attempt`-th attempt (from 1). `chance` in [0, 1) replaces the dice, for tests."""
        base, cap = self.base.total_seconds(), self.cap.total_seconds()
        if self.backoff == "fixed":
            seconds = base
        elif self.backoff == "linear":
            seconds = base * attempt
        else:
            # the exponent is bounded so that a huge attempt number cannot overflow
            seconds = base * self.multiplier ** min(attempt - 1, 200)
        seconds = min(seconds, cap)
        dice = random.random() if chance is None else chance
        return dt.timedelta(seconds=seconds * (1 + self.jitter * (2 * dice - 1)))

    def to_json(self) -> dict[str, Any]:
        return {
            "backoff": self.backoff,
            "base": self.base.total_seconds(),
            "multiplier": self.multiplier,
            "cap": self.cap.total_seconds(),
            "jitter": self.jitter,
        }


DEFAULT = Retry()


def from_json(stored: dict[str, Any] | None) -> Retry | None:
    """The policy a task row carries; one that cannot be read (written by hand in SQL) counts as none."""
    if stored is None:
        return None
    try:
        known = {name: stored[name] for name in ("backoff", "base", "multiplier", "cap", "jitter") if name in stored}
        return Retry(**known)
    except (errors.InvalidInput, TypeError):
        return None


def of(value: "Retry | dict[str, Any] | None") -> Retry | None:
    """What people may pass as `retry=`."""
    if value is None or isinstance(value, Retry):
        return value
    if isinstance(value, dict):
        try:
            return Retry(**value)
        except TypeError as error:
            raise errors.InvalidInput(f"retry: {error}; known: backoff, base, multiplier, cap, jitter") from None
    raise errors.InvalidInput(f"retry must be a Retry or a dict, not {type(value).__name__}")
