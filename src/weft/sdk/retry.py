"""Retry policies: how long to wait after a failed attempt. Pure arithmetic, stored with a task as JSON."""

import dataclasses
import datetime as dt
import random
from typing import Any, Literal

from weft.base import durations, errors

Backoff = Literal["fixed", "linear", "exponential"]


@dataclasses.dataclass(frozen=True, init=False)
class Retry:
    """`delay(n)` after the n-th counted attempt. The default is the kernel's: 30 s doubling up to 10 min, with jitter."""

    backoff: Backoff
    base: dt.timedelta
    multiplier: float
    cap: dt.timedelta
    jitter: float
    """The delay is moved by up to this share, up or down."""
    lost: bool
    """Whether it is tried again after its worker was lost. False: then it has failed, for what must never begin twice."""

    def __init__(
        self, *, backoff: Backoff = "exponential", base: dt.timedelta | float | str = 30, multiplier: float = 2.0,
        cap: dt.timedelta | float | str = 600, jitter: float = 0.1, lost: bool = True,
    ) -> None:  # fmt: skip
        waits = {"base": durations.parse(base, name="retry base"), "cap": durations.parse(cap, name="retry cap")}
        if backoff not in ("fixed", "linear", "exponential"):
            raise errors.InvalidInput(f"retry backoff {backoff!r} must be fixed, linear or exponential")
        if min(waits.values()) < dt.timedelta(0):
            raise errors.InvalidInput("retry base and cap must not be negative")
        if not 1 <= multiplier <= 100:
            raise errors.InvalidInput(f"retry multiplier {multiplier} must be between 1 and 100")
        if not 0 <= jitter <= 1:
            raise errors.InvalidInput(f"retry jitter {jitter} must be between 0 and 1")
        if not isinstance(lost, bool):
            raise errors.InvalidInput(f"retry lost {lost!r} must be True or False")
        told = {**waits, "backoff": backoff, "multiplier": multiplier, "jitter": jitter, "lost": lost}
        for name, value in told.items():
            object.__setattr__(self, name, value)

    def delay(self, attempt: int, *, chance: float | None = None) -> dt.timedelta:
        """Pause after the `attempt`-th attempt (from 1). `chance` in [0, 1) replaces the dice, for tests."""
        base, cap = self.base.total_seconds(), self.cap.total_seconds()
        if self.backoff == "fixed":
            seconds = base
        elif self.backoff == "linear":
            seconds = base * attempt
        else:
            # the exponent is bounded so that a huge attempt number cannot overflow, with the largest multiplier either
            seconds = base * self.multiplier ** min(attempt - 1, 150)
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
            # most policies say nothing of it, and are stored as they always were
            **({} if self.lost else {"lost": False}),
        }


DEFAULT = Retry()
_STORED = ("backoff", "base", "multiplier", "cap", "jitter", "lost")


def from_json(stored: dict[str, Any] | None) -> Retry | None:
    """The policy a task row carries; one that cannot be read (written by hand in SQL) counts as none."""
    if stored is None:
        return None
    try:
        known = {name: stored[name] for name in _STORED if name in stored}
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
            raise errors.InvalidInput(f"retry: {error}; known: {', '.join(_STORED)}") from None
    raise errors.InvalidInput(f"retry must be a Retry or a dict, not {type(value).__name__}")
