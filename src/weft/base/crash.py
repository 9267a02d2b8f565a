"""Named points at which a process can be told to die, to show that nothing is lost there.

    WEFT_CRASH_AT="settle: before commit"      kill -9 of itself when it first gets there
    WEFT_CRASH_AT="beat: answered#3"           when it gets there for the third time

Without the variable a point is one comparison. They stand around statements and batches, never inside loops over tasks.
"""

import itertools
import os
import signal

from weft.base import errors

VARIABLE = "WEFT_CRASH_AT"

CHORES = (
    "sequencer", "promoter", "unblocker", "late claims", "liveness", "lapsed leases", "strays", "cancellations",
    "feed trimmer", "lock sweeper", "node sweeper", "org history pruner", "dedupe key pruner", "idempotency key pruner",
    "partition maker", "audit sealer", "bucket sweeper", "outbox", "outbox pruner", "job scheduler",
    "backfiller", "execution pruner", "job pruner", "run sweeper", "run starter", "run deadlines", "run pruner",
    "forsaken runs",
    "workflow waker", "session sweeper", "login pruner",
    "minute counter", "minute pruner",
    "history pruner",
)  # fmt: skip

POINTS = (
    "enqueue: before", "enqueue: committed", "bulk enqueue: before commit", "bulk enqueue: committed",
    "claim: answered", "limited claim: before commit",
    "beat: before", "beat: answered",
    "settle: before", "settle: between statements", "settle: committed",
    "advance: decided", "advance: written",
    "cancel: before commit", "cancel: committed",
    "redrive: before commit",
    "lead: before the term", "lead: term taken",
    "migrate: before commit", "migrate: committed",
    "secret rotation: before commit",
    "schedule: decided", "schedule: dispatched", "trigger: before commit",
    *(f"chore: {name}" for name in CHORES),
)  # fmt: skip
"""Every point there is; those of chores stand between their work and its commit."""


def parse(told: str | None) -> tuple[str, int] | None:
    """Where to die, and at which visit."""
    if not told:
        return None
    name, _, visit = told.partition("#")
    if name not in POINTS or not (visit or "1").isdigit():
        raise errors.ConfigError(f"{VARIABLE}={told!r} names no crash point; there are: {', '.join(POINTS)}")
    return name, int(visit or 1)


_AT = parse(os.environ.get(VARIABLE))
_visits = itertools.count(1)


def point(name: str) -> None:
    """Dies here, if that was asked for."""
    if _AT is not None and _AT[0] == name and next(_visits) == _AT[1]:
        os.kill(os.getpid(), signal.SIGKILL)
