"""Named points at which a process can be told to die, or to stop, to show that nothing is lost or held up there.

    WEFT_CRASH_AT="settle: before commit"      kill -9 of itself when it first gets there
    WEFT_CRASH_AT="beat: answered#3"           when it gets there for the third time
    WEFT_FREEZE_AT="settle: between statements"  stops there instead, until somebody sends it SIGCONT

Without the variable a point is one comparison. They stand around statements and batches, never inside loops over tasks.
"""

import itertools
import os
import signal

from weft.base import errors

VARIABLE = "WEFT_CRASH_AT"
FREEZING = "WEFT_FREEZE_AT"

CHORES = (
    "sequencer", "promoter", "unblocker", "late claims", "liveness", "lapsed leases", "strays", "cancellations",
    "feed trimmer", "lock sweeper", "node sweeper", "org history pruner", "dedupe key pruner", "idempotency key pruner",
    "partition maker", "audit sealer", "bucket sweeper", "outbox", "outbox pruner", "job scheduler",
    "backfiller", "execution pruner", "job pruner", "run sweeper", "run starter", "run deadlines", "run pruner",
    "forsaken runs", "standstill",
    "workflow waker", "session sweeper", "login pruner",
    "minute counter", "minute pruner",
    "history pruner",
)  # fmt: skip

POINTS = (
    "transaction: begun",
    "enqueue: before", "enqueue: committed", "bulk enqueue: before commit", "bulk enqueue: committed",
    "claim: answered", "limited claim: before commit",
    "beat: before", "beat: answered", "asleep: said",
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


def parse(told: str | None, *, variable: str = VARIABLE) -> tuple[str, int] | None:
    """Where to die or stop, and at which visit."""
    if not told:
        return None
    name, _, visit = told.partition("#")
    if name not in POINTS or not (visit or "1").isdigit():
        raise errors.ConfigError(f"{variable}={told!r} names no crash point; there are: {', '.join(POINTS)}")
    return name, int(visit or 1)


_DEATH = parse(os.environ.get(VARIABLE))
_AT = _DEATH or parse(os.environ.get(FREEZING), variable=FREEZING)
_visits = itertools.count(1)


def point(name: str) -> None:
    """Dies or stops here, if that was asked for."""
    if _AT is not None and _AT[0] == name and next(_visits) == _AT[1]:
        # to this very thread: it does not take another step
        signal.raise_signal(signal.SIGSTOP if _DEATH is None else signal.SIGKILL)
