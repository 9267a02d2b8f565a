"""Running attempts: a fixed number of long-lived coroutines take tasks from the buffer and call their handlers.

No asyncio task is made per job. To end a handler its runner's own task is cancelled, and the runner goes on.
"""

import asyncio
import contextvars
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from weft.base import errors, json
from weft.queue.model import Claimed
from weft.sdk import context as contexts
from weft.sdk.context import Context, Sink, Stopped
from weft.sdk.task import Task
from weft.settle.outcome import How, Outcome
from weft.worker.buffer import Buffer
from weft.worker.child import ChildDied, Children

_YIELD_EVERY = 100
"""Handlers that never suspend would keep the loop from the heartbeat."""

_ENDS: dict[str, How] = {"cancelled": "cancelled", "timed out": "timed_out", "shutting down": "released"}


class Attempt(Context):
    """A task in the hands of a runner; what its handler sees is the `Context` part."""

    __slots__ = ("runner", "started", "task")

    def __init__(self, sink: Sink, task: Claimed, runner: "asyncio.Task[None]") -> None:
        super().__init__(sink, task)
        self.task = task
        self.runner = runner
        self.started = time.monotonic()

    def end(self, why: str) -> None:
        """Ends the handler: async ones are cancelled, threads are told, children are killed."""
        if self.cancelled is None:
            self.stop(why)
            self.runner.cancel()


class Runners:
    """The runners of a worker and what they are doing."""

    def __init__(
        self, buffer: Buffer, *, handlers: dict[str, Task[Any, Any]], sink: Sink, report: Callable[[Outcome], None],
        children: Children, threads: int,
    ) -> None:  # fmt: skip
        self.running: dict[str, Attempt] = {}
        self.handled: dict[str, list[int]] = {kind: [0, 0] for kind in handlers}
        self.finished = 0
        self._buffer = buffer
        self._handlers = handlers
        self._sink = sink
        self._report = report
        self._children = children
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="weft")
        self._alone = asyncio.Lock()

    async def run(self) -> None:
        """One runner. Ending an attempt cancels this coroutine's task for a moment; it goes on with the next."""
        mine = asyncio.current_task()
        assert mine is not None
        in_a_row = 0
        while True:
            task = self._buffer.pop()
            if task is None:
                contexts.enter(None)
                task = await self._buffer.get()
            if task.rest.losses > 1:
                await self._run_alone(task, mine)
            else:
                if self._alone.locked():
                    async with self._alone:
                        pass
                await self._execute(task, mine)
            in_a_row += 1
            if in_a_row % _YIELD_EVERY == 0:
                await asyncio.sleep(0)

    async def _run_alone(self, task: Claimed, mine: "asyncio.Task[None]") -> None:
        """A task that took two workers down runs with nothing beside it that it could take down too."""
        async with self._alone:
            while self.running:
                await asyncio.sleep(0.01)
            await self._execute(task, mine)

    async def _execute(self, task: Claimed, mine: "asyncio.Task[None]") -> None:
        handler = self._handlers[task.kind]
        attempt = Attempt(self._sink, task, mine)
        self.running[task.id] = attempt
        contexts.enter(attempt)
        try:
            if handler.options.batch is not None:
                await self._batch(attempt, handler)
                return
            try:
                if handler.immediate and task.rest.timeout is None:
                    result = await handler.function(**handler.arguments(task.payload))
                else:
                    result = await self._call(attempt, handler, handler.arguments(task.payload))
                text = None if result is None else json.text(result, what="the result")
            except BaseException as error:  # noqa: BLE001 - user code: whatever it raises is an outcome
                outcome = self._outcome(attempt, handler, error)
                self.handled[task.kind][1] += 1
            else:
                outcome = Outcome(task, "completed", text, None, True, None, attempt.started - task.claimed)
                self.handled[task.kind][0] += 1
            self._report(outcome)
        finally:
            del self.running[task.id]
            self.finished += 1

    async def _batch(self, attempt: Attempt, handler: Task[Any, Any]) -> None:
        """One call for many: the handler gets a list of payloads and may answer a list of results or exceptions."""
        more = self._buffer.pop_like(attempt.task, at_most=(handler.options.batch or 1) - 1)
        attempts = [attempt]
        for task in more:
            attempts.append(Attempt(self._sink, task, attempt.runner))
            self.running[task.id] = attempts[-1]
        try:
            payloads = [handler.arguments(one.task.payload) for one in attempts]
            answers = await self._call(attempt, handler, {handler.batch_name: payloads})
            results = _spread(answers, count=len(attempts))
        except BaseException as error:  # noqa: BLE001 - user code
            results = [error] * len(attempts)
        finally:
            for one in attempts[1:]:
                self.running.pop(one.task.id, None)
        for one, result in zip(attempts, results, strict=True):
            outcome = self._batch_outcome(one, handler, result)
            self.handled[handler.kind][0 if outcome.how == "completed" else 1] += 1
            self._report(outcome)

    def _batch_outcome(self, attempt: Attempt, handler: Task[Any, Any], result: Any) -> Outcome:
        if not isinstance(result, BaseException):
            try:
                text = None if result is None else json.text(result, what="the result")
                return Outcome(attempt.task, "completed", text, None, True, None, attempt.started - attempt.task.claimed)
            except errors.InvalidPayload as error:
                result = error
        return self._outcome(attempt, handler, result)

    async def _call(self, attempt: Attempt, handler: Task[Any, Any], arguments: dict[str, Any]) -> Any:
        declared = handler.options.timeout
        timeout = attempt.task.rest.timeout or (None if declared is None else declared.total_seconds())
        if timeout is None:
            return await self._invoke(attempt, handler, arguments)
        # counted from before the claim was sent, so that our deadline is never later than the database's
        left = timeout - (time.monotonic() - attempt.started)
        timer = asyncio.get_running_loop().call_later(max(left, 0), attempt.end, "timed out")
        try:
            return await self._invoke(attempt, handler, arguments)
        finally:
            timer.cancel()

    async def _invoke(self, attempt: Attempt, handler: Task[Any, Any], arguments: dict[str, Any]) -> Any:
        if handler.options.isolate == "process":
            return await self._children.call(attempt, handler.kind, attempt.task.payload)
        if handler.context_name is not None:
            arguments = {**arguments, handler.context_name: attempt}
        if handler.options.isolate == "loop":
            return await handler.function(**arguments)
        carried = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: carried.run(handler.function, **arguments))

    def _outcome(self, attempt: Attempt, handler: Task[Any, Any], error: BaseException) -> Outcome:
        """What an exception out of a handler means."""
        task, started = attempt.task, attempt.started - attempt.task.claimed
        options = handler.options
        if isinstance(error, asyncio.CancelledError | Stopped) and attempt.cancelled is not None:
            if attempt.runner.cancelling():
                attempt.runner.uncancel()
            why = attempt.cancelled
            problem = json.text({"type": "Stopped", "message": why})
            return Outcome(
                task, _ENDS.get(why, "lost"), error=None if why == "shutting down" else problem, started=started,
                policy=options.retry, declared_attempts=options.max_attempts,
            )  # fmt: skip
        if isinstance(error, asyncio.CancelledError) and attempt.runner.cancelling():
            raise error
        match error:
            case errors.Discard():
                return Outcome(task, "discarded", error=_problem(error), started=started)
            case errors.Snooze():
                return Outcome(task, "snoozed", delay=error.delay.total_seconds(), started=started)
            case errors.RetryLater():
                delay: float | None = error.delay.total_seconds()
            case _:
                delay = None
        return Outcome(
            task, "failed", error=_problem(error), retryable=_retryable(error, handler), delay=delay, started=started,
            policy=options.retry, declared_attempts=options.max_attempts,
        )  # fmt: skip

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _retryable(error: BaseException, handler: Task[Any, Any]) -> bool:
    options = handler.options
    if isinstance(error, errors.InvalidPayload | errors.Refused) or isinstance(error, options.fail_on):
        return False
    return not options.retry_on or isinstance(error, options.retry_on) or isinstance(error, ChildDied)


def _problem(error: BaseException) -> str:
    """An exception as JSON: type, message, traceback, each bounded and storable."""
    inner = error.__traceback__
    while inner is not None and inner.tb_frame.f_code.co_filename == __file__:
        inner = inner.tb_next  # people look for their own code
    trace = "".join(traceback.format_exception(type(error), error, inner))[-8192:]
    problem = {"type": type(error).__name__, "message": str(error)[:4096], "traceback": trace}
    clean = {name: text.replace("\0", "�").encode("utf-8", "replace").decode() for name, text in problem.items()}
    return json.text(clean, what="error")


def _spread(answers: Any, *, count: int) -> Sequence[Any]:
    """A batch handler's answer as one result per task: nothing, or a list of the right length."""
    if answers is None:
        return [None] * count
    if isinstance(answers, list | tuple) and len(answers) == count:
        return answers
    raise errors.InvalidPayload(f"a batch handler must answer None or a list of {count} results")
