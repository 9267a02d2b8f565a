"""What came out of a handler, as an outcome: a result, an exception, or the word that it should stop. Pure."""

import concurrent.futures
import traceback
from collections.abc import Sequence
from typing import Any

from weft.base import errors, json
from weft.base.redact import Redactor
from weft.queue.model import Claimed
from weft.sdk.task import Task
from weft.settle.outcome import How, Outcome
from weft.worker import logs
from weft.worker.child import ChildDied, ChildFailed

_HOW: dict[str, How] = {
    "cancelled": "cancelled", "timed out": "timed_out", "silent": "timed_out", "shutting down": "released",
    "database away": "released", "lease lost": "lost",
}  # fmt: skip

_MESSAGE = 4096
_TRACEBACK = 8192


def returned(
    task: Claimed, handler: Task[Any, Any], result: Any, *, started: float, hidden: Redactor | None = None
) -> Outcome:
    """A value, or what is wrong with it."""
    if isinstance(result, BaseException):
        return raised(task, handler, result, started=started, hidden=hidden)
    try:
        text = None if result is None else written(result, hidden=hidden)
    except errors.InvalidPayload as error:
        return raised(task, handler, error, started=started, hidden=hidden)
    return Outcome(task, "completed", text, started=started)


def written(result: Any, *, hidden: Redactor | None) -> str:
    """A result as it is stored: JSON, without secrets."""
    text = json.text(result, what="the result")
    return text if hidden is None else json.text(hidden.value(json.loads(text)), what="the result")


def stopped(task: Claimed, handler: Task[Any, Any], why: str, *, started: float) -> Outcome:
    """A handler that was told to stop has stopped. Whatever it answered may be half of its work, so it does not count."""
    how = _HOW[why]
    message = "no sign of life within its heartbeat_timeout" if why == "silent" else why
    problem = None if how == "released" else json.text({"type": "Stopped", "message": message})
    return Outcome(
        task, how, error=problem, started=started, policy=handler.options.retry,
        declared_attempts=handler.options.max_attempts,
    )  # fmt: skip


def raised(
    task: Claimed, handler: Task[Any, Any], error: BaseException, *, started: float, hidden: Redactor | None = None
) -> Outcome:
    """What an exception out of a handler means."""
    delay: float | None = None
    match error:
        case errors.Discard():
            return Outcome(task, "discarded", error=problem(error, hidden=hidden), started=started)
        case errors.Snooze():
            return Outcome(task, "snoozed", delay=error.delay.total_seconds(), started=started)
        case errors.RetryLater():
            delay = error.delay.total_seconds()
    return Outcome(
        task, "failed", error=problem(error, hidden=hidden), retryable=_retryable(error, handler), delay=delay,
        started=started, policy=handler.options.retry, declared_attempts=handler.options.max_attempts,
    )  # fmt: skip


def problem(error: BaseException, *, hidden: Redactor | None = None) -> str:
    """An exception as JSON: type, message, traceback, each without secrets, bounded and storable."""
    if isinstance(error, ChildFailed):
        return json.text(error.problem if hidden is None else hidden.value(error.problem), what="error")
    inner = error.__traceback__
    while inner is not None and inner.tb_frame.f_code.co_filename.startswith((_HERE, _EXECUTOR)):
        inner = inner.tb_next  # people look for their own code
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - user code, too
        message = "(its message cannot be shown)"
    trace = "".join(traceback.format_exception(type(error), error, inner))
    if hidden is not None:
        # before anything is cut off: half a secret is one too
        message, trace = hidden.text(message), hidden.text(trace)
    said = {"type": type(error).__name__, "message": message[:_MESSAGE], "traceback": trace[-_TRACEBACK:]}
    return json.text({name: logs.clean(text) for name, text in said.items()}, what="error")


def spread(answers: Any, *, count: int) -> Sequence[Any]:
    """A batch handler's answer as one result per task: nothing, or a list of the right length."""
    if answers is None:
        return [None] * count
    if isinstance(answers, list | tuple) and len(answers) == count:
        return answers
    raise errors.InvalidPayload(f"a batch handler must answer None or a list of {count} results")


def _retryable(error: BaseException, handler: Task[Any, Any]) -> bool:
    options = handler.options
    if isinstance(error, ChildFailed):
        return error.retryable
    if isinstance(error, errors.RetryLater):
        return True
    if isinstance(error, errors.InvalidPayload | errors.Refused) or isinstance(error, options.fail_on):
        return False
    return not options.retry_on or isinstance(error, options.retry_on) or isinstance(error, ChildDied)


_HERE = __file__.rpartition("/")[0] + "/"
_EXECUTOR = concurrent.futures.__file__.rpartition("/")[0] + "/"
