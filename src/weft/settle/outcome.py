"""What happened to an attempt, and what therefore follows. Pure."""

import dataclasses
from typing import Any, Literal, assert_never

import msgspec

from weft.flows.checkpoint import Written
from weft.queue.model import DEFAULT_MAX_ATTEMPTS, MAX_LOSSES, Claimed, FinalState, Reason
from weft.sdk import retry as retries

How = Literal["completed", "failed", "timed_out", "discarded", "snoozed", "cancelled", "released", "lost"]


class Held(msgspec.Struct, gc=False):
    """What settle needs to know of an attempt, for those who did not claim it themselves: rescue, HTTP."""

    id: str
    org: str
    kind: str
    token: str
    attempt: int
    uncounted: int
    losses: int
    max_attempts: int | None
    concurrency_key: str | None
    retry: dict[str, Any] | None
    run_id: str | None
    cancelling: bool = False


class Outcome(msgspec.Struct, gc=False):
    """An attempt and how it went."""

    task: Claimed | Held
    how: How
    result: str | None = None
    """JSON text."""
    error: str | None = None
    """JSON text: {type, message, traceback}."""
    retryable: bool = True
    delay: float | None = None
    """Seconds until the next try, where the handler said so."""
    started: float | None = None
    """Seconds from claim to start of the handler."""
    policy: retries.Retry | None = None
    """What the handler's declaration says, if the task says nothing."""
    declared_attempts: int | None = None
    written: Written | None = None
    """What the workflow whose wake-up it was has to have written with it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Finish:
    """The task is over."""

    state: FinalState
    reason: Reason | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Requeue:
    """The task goes back into the queue. `outcome` is kept in its list of attempts, if any."""

    delay: float = 0
    uncounted: int = 0
    lost: int = 0
    outcome: str | None = None


Ending = Finish | Requeue

LONGEST = 315_360_000
"""Seconds that a task may be made to wait: ten years. More than the database can add to a time would spoil its batch."""

COMPLETED = Finish("completed")


def decide(outcome: Outcome) -> Ending:
    """What follows from an outcome."""
    task = outcome.task
    match outcome.how:
        case "completed":
            return COMPLETED
        case "failed":
            return _after_failure(outcome, state="failed")
        case "timed_out":
            return _after_failure(outcome, state="timed_out")
        case "discarded":
            return Finish("cancelled", "discarded")
        case "cancelled":
            return Finish("cancelled", "requested")
        case "snoozed":
            if task.cancelling:
                return Finish("cancelled", "requested")
            return Requeue(delay=_some(outcome.delay or 0), uncounted=1)
        case "released":
            return Finish("cancelled", "requested") if task.cancelling else Requeue(uncounted=1)
        case "lost":
            if task.cancelling:
                return Finish("cancelled", "requested")
            if task.losses + 1 >= MAX_LOSSES or not _policy(outcome).lost:
                return Finish("failed", "lost")
            return Requeue(uncounted=1, lost=1, outcome="lost")
        case _:
            assert_never(outcome.how)


def _after_failure(outcome: Outcome, *, state: Literal["failed", "timed_out"]) -> Ending:
    task = outcome.task
    counted = task.attempt - task.uncounted
    allowed = task.max_attempts or outcome.declared_attempts or DEFAULT_MAX_ATTEMPTS
    if task.cancelling:
        return Finish("cancelled", "requested")
    if not outcome.retryable:
        return Finish(state, "refused")
    if counted >= allowed:
        return Finish(state, "dead")
    delay = outcome.delay if outcome.delay is not None else _policy(outcome).delay(max(counted, 1)).total_seconds()
    return Requeue(delay=_some(delay), outcome=state)


def _some(delay: float) -> float:
    return min(delay, LONGEST)


def _policy(outcome: Outcome) -> retries.Retry:
    """What the task says, else its declaration, else the kernel."""
    return retries.from_json(outcome.task.retry) or outcome.policy or retries.DEFAULT
