"""What comes out of a wake-up and of a step, as outcomes. Pure."""

import datetime as dt
import logging
from typing import Any

import msgspec

from weft.base import errors, json
from weft.flows.checkpoint import Written
from weft.queue.model import Claimed
from weft.sdk.workflow import Step
from weft.settle.outcome import Outcome
from weft.worker.live import Live

log = logging.getLogger("weft.worker")


def parked(live: Live) -> Outcome:
    return Outcome(live.task, "snoozed", written=live.written(state="waiting", due=live.due(), taken=live.stale()))


def blocked(live: Live, error: errors.WeftError, *, undoing: dict[str, Any] | None = None) -> Outcome:
    """The code does not fit the history: nothing is lost, and it goes on when the code does. `undoing`: why it was being
    undone just then."""
    problem = {"type": type(error).__name__, "message": error.message, **error.details}
    if undoing is not None:
        problem["compensating"] = undoing
    log.error("run %s of %s is blocked: %s", live.task.id, live.workflow.name, error.message)
    return Outcome(live.task, "snoozed", written=live.written(state="blocked", error=json.text(problem), hold=True))


def undone_later(live: Live, why: dict[str, Any], *, due: dt.datetime | None) -> Outcome:
    """A compensation waits for its next attempt; nobody waits with it."""
    return Outcome(live.task, "snoozed", written=live.written(state="compensating", error=json.text(why), due=due))


def cause(live: Live) -> dict[str, Any]:
    """What a run's error says of the steps that it failed by, for whoever wants it to go on from there."""
    found = live.replayer.cause()
    said: dict[str, Any] = {"steps": found.steps} if found.steps else {}
    return said if found.after is None else {**said, "after": found.after}


def failed(task: Claimed, error: errors.WeftError) -> Outcome:
    problem = json.text({"type": type(error).__name__, "message": error.message})
    return Outcome(task, "completed", written=Written(run=task.id, token=task.token, state="failed", error=problem))


def output(step: Step[Any, Any], value: Any) -> str | None:
    if value is None:
        return None
    # the code goes on with it now, and with what the database gives back when it is run again
    text = json.as_stored(json.text(value, what=f"the result of step {step.name!r}"))
    try:
        step.reads(text)
    except msgspec.ValidationError as error:
        raise errors.InvalidPayload(f"the result of step {step.name!r} does not fit its annotation: {error}") from None
    return text


def retryable(step: Step[Any, Any], error: BaseException) -> bool:
    options = step.options
    if isinstance(error, errors.InvalidPayload | errors.Discard) or isinstance(error, options.fail_on):
        return False
    return not options.retry_on or isinstance(error, options.retry_on)
