"""Running attempts: a fixed number of long-lived coroutines take tasks from the buffer and call their handlers.

No asyncio task is made per job. One runner is enough for handlers that never suspend, and fifty of them taking turns
would keep the loop from all else for fifty turns: others are woken only once whoever runs has suspended.

To end a handler its runner's own task is cancelled, and the runner goes on. A thread cannot be cancelled: it is told,
and left alone if it does not end within the grace time.
"""

import asyncio
import collections
import contextvars
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from weft.base import references
from weft.base.redact import Redactor
from weft.queue.model import Claimed
from weft.sdk import context as contexts
from weft.sdk.context import Context, Sink
from weft.sdk.task import Task
from weft.settle.outcome import Outcome
from weft.worker import ending
from weft.worker.buffer import Buffer
from weft.worker.child import Children
from weft.worker.courtesy import Courtesy
from weft.worker.handlers import Handlers

_TURN = 100
"""Tasks started, by all runners together, before the loop may see to everything else."""

_AGAIN = 0.2
"""How often it is asked whether runners are still kept for others, if no task starts."""

_GRACE = 5.0
"""How long after it was told to end an attempt is ended by force, and again, if it took no notice."""

_ALONE_PATIENCE = 10.0
"""How long a suspect waits for others to finish. Those still running then have lost fewer workers than it has."""


class Attempt(Context):
    """A task in the hands of a runner; what its handler sees is the `Context` part."""

    __slots__ = ("payload", "runner", "secrets", "started", "task")

    def __init__(self, sink: Sink, task: Claimed, runner: "asyncio.Task[None]") -> None:
        super().__init__(sink, task)
        self.task = task
        self.runner = runner
        self.payload = task.payload
        """As the handler gets it: with its secrets."""
        self.secrets: Sequence[str] = ()
        self.started = time.monotonic()


class Runners:
    """The runners of a worker and what they are doing."""

    def __init__(
        self, buffer: Buffer, *, handlers: Handlers, sink: Sink, report: Callable[[Outcome], None],
        children: Children, runners: int, courtesy: Courtesy, all_settled: Callable[[], bool],
        more_like: Callable[..., Awaitable[list[Claimed]]],
        secrets: Callable[[Claimed, Collection[str]], Awaitable[Mapping[str, str]]],
    ) -> None:  # fmt: skip
        self.running: dict[str, Attempt] = {}
        self.handled: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0], {kind: [0, 0] for kind in handlers})
        self.finished = 0
        self._buffer = buffer
        self._handlers = handlers
        self._sink = sink
        self._report = report
        self._children = children
        self._all_settled = all_settled
        self._more_like = more_like
        self._secrets = secrets
        self._runners = runners
        self._courtesy = courtesy
        self._threads = self._new_threads()
        self._alone = asyncio.Lock()
        self._batches: dict[str, Sequence[Attempt]] = {}
        self._closing = False
        self._started = 0
        """In this turn of the loop."""
        self._yielding = False
        self._busy = 0
        self._most = _TURN
        self._spare = 0
        self._again: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """One runner. Ending an attempt cancels this coroutine's task for a moment; it goes on with the next."""
        mine = asyncio.current_task()
        assert mine is not None
        while True:
            if self._started >= self._most:
                await self._turn_over()
            task = self._buffer.pop(only_fresh=self._busy >= self._runners - self._spare)
            if task is None:
                if self._closing:
                    return
                contexts.enter(None)
                await self._buffer.wait()
                continue
            self._started += 1
            if self._started == 1:
                asyncio.get_running_loop().call_soon(self._new_turn)
            self._busy += 1
            try:
                if self._alone.locked():
                    self._report(Outcome(task, "released"))
                elif task.rest.losses > 1:
                    await self._run_alone(task, mine)
                else:
                    await self._execute(task, mine)
            finally:
                self._busy -= 1

    async def _turn_over(self) -> None:
        """One runner goes on in the next turn; the others wait until they are needed."""
        contexts.enter(None)
        if self._yielding:
            await self._buffer.wait()
            return
        self._yielding = True
        try:
            await asyncio.sleep(0)
        finally:
            self._yielding = False

    def _new_turn(self) -> None:
        """The loop has been around. If whoever ran has suspended, there is work for others."""
        self._started = 0
        self._most = self._courtesy.turn(_TURN)
        self._spare = self._courtesy.spare(self._runners)
        if not self._yielding:
            self._buffer.wake(len(self._buffer), but=0 if self._buffer.fresh else self._spare)
        if self._spare and self._again is None:
            self._again = asyncio.get_running_loop().call_later(_AGAIN, self._look_again)

    def _look_again(self) -> None:
        """Runners that were kept may be kept no longer, even if nothing ends that would tell them."""
        self._again = None
        self._new_turn()

    def end(self, id: str, why: str) -> None:
        """Ends an attempt: async handlers are cancelled, threads are told, children are killed.

        A call for many tasks goes on while there is one among them that should.
        """
        attempt = self.running.get(id)
        if attempt is None or attempt.cancelled is not None:
            return
        attempt.stop(why)
        if any(mate.cancelled is None for mate in self._batches.get(id, ())):
            return
        if self._handlers[attempt.task.kind].options.isolate == "thread":
            asyncio.get_running_loop().call_later(_GRACE, self.force, attempt)
        else:
            self.force(attempt)

    def force(self, attempt: Attempt) -> None:
        """Cancels the runner of an attempt that has not ended yet, again and again."""
        if self.running.get(attempt.task.id) is attempt:
            attempt.runner.cancel()
            asyncio.get_running_loop().call_later(_GRACE, self.force, attempt)

    def close(self) -> None:
        """The runners' tasks are about to be cancelled for good."""
        self._closing = True
        if self._again is not None:
            self._again.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def alone(self) -> bool:
        """Whether a task runs, or is about to, beside which nothing else may be in our hands."""
        return self._alone.locked()

    async def _run_alone(self, task: Claimed, mine: "asyncio.Task[None]") -> None:
        """A task that took two workers down runs with nothing here that it could take down too: what runs may end,
        what waits is given back, and nothing is claimed meanwhile."""
        async with self._alone:
            try:
                await self._empty_hands()
            except asyncio.CancelledError:
                self._report(Outcome(task, "released"))
                raise
            await self._execute(task, mine)

    async def _empty_hands(self) -> None:
        patience = time.monotonic() + _ALONE_PATIENCE
        quiet = 0
        # several looks: a claim may have been under way
        while quiet < 5 and time.monotonic() < patience:
            for waiting in self._buffer.drain():
                self._report(Outcome(waiting, "released"))
            quiet = quiet + 1 if not self.running and self._all_settled() else 0
            await asyncio.sleep(0.01)

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
                if references.MARK in task.payload:
                    await self._open(attempt)
                if handler.immediate and task.rest.timeout is None and task.rest.heartbeat_timeout is None:
                    result = await handler.function(**handler.arguments(attempt.payload))
                else:
                    result = await self._call(attempt, handler, handler.arguments(attempt.payload))
                said = result if type(result) is Outcome else None
                text = None if result is None or said is not None else ending.written(result, hidden=attempt.hidden)
            except BaseException as error:  # noqa: BLE001 - user code: whatever it raises is an outcome
                outcome = self._ended(attempt, handler, error)
                self.handled[task.kind][1] += 1
            else:
                if said is not None:
                    outcome = said  # it ends its own way: what follows from it is written with it
                    self.handled[task.kind][0] += 1
                elif attempt._stopped is None:
                    outcome = Outcome(task, "completed", text, None, True, None, attempt.started - task.claimed)
                    self.handled[task.kind][0] += 1
                else:
                    outcome = self._ended(attempt, handler, None)
                    self.handled[task.kind][1] += 1
            self._report(outcome)
        finally:
            # one that was taken away from us may have come back to us meanwhile
            if self.running.get(task.id) is attempt:
                del self.running[task.id]
            self.finished += 1

    async def _batch(self, attempt: Attempt, handler: Task[Any, Any]) -> None:
        """One call for many: the handler gets a list of payloads and may answer a list of results or exceptions."""
        attempts = [attempt]
        room = (handler.options.batch or 1) - 1
        self._join(attempts, self._buffer.pop_like(attempt.task, at_most=room))
        try:
            if len(attempts) <= room:
                # what is buffered was measured for one task per call
                self._join(attempts, await self._more_like(attempt.task, at_most=room + 1 - len(attempts)))
            for one in attempts:
                if references.MARK in one.payload:
                    await self._open(one)
            payloads = [handler.arguments(one.payload) for one in attempts]
            answers = await self._call(attempt, handler, {handler.batch_name: payloads})
            results = ending.spread(answers, count=len(attempts))
        except BaseException as error:  # noqa: BLE001 - user code
            results = [error] * len(attempts)
        for one, result in zip(attempts, results, strict=True):
            outcome = self._ended(one, handler, result)
            self.handled[handler.kind][0 if outcome.how == "completed" else 1] += 1
            self._report(outcome)
            del self._batches[one.task.id]
            if one is not attempt:
                del self.running[one.task.id]
                self.finished += 1

    async def _open(self, attempt: Attempt) -> None:
        """Puts the secrets that a payload names in their places: only here, and only for this attempt."""
        names = references.names(attempt.payload)
        values = await self._secrets(attempt.task, names) if names else {}
        if values:
            attempt.hidden = Redactor(values.values())
            attempt.secrets = sorted(values.values())
        attempt.payload = references.filled(attempt.payload, values)

    def _join(self, attempts: list[Attempt], tasks: Sequence[Claimed]) -> None:
        attempts += [Attempt(self._sink, task, attempts[0].runner) for task in tasks]
        for one in attempts:
            self.running[one.task.id] = one
            self._batches[one.task.id] = attempts

    def _ended(self, attempt: Attempt, handler: Task[Any, Any], result: Any) -> Outcome:
        """The outcome of a handler that has ended, and a runner that is free of whatever cancelled it."""
        started = attempt.started - attempt.task.claimed
        if self._closing and isinstance(result, asyncio.CancelledError):
            attempt.stop("shutting down")
        if attempt.cancelled is None:
            return ending.returned(attempt.task, handler, result, started=started, hidden=attempt.hidden)
        while attempt.runner.cancelling():
            attempt.runner.uncancel()
        return ending.stopped(attempt.task, handler, attempt.cancelled, started=started)

    async def _call(self, attempt: Attempt, handler: Task[Any, Any], arguments: dict[str, Any]) -> Any:
        declared = handler.options.timeout
        timeout = attempt.task.rest.timeout or (None if declared is None else declared.total_seconds())
        if attempt.task.rest.heartbeat_timeout is not None:
            self._watch(attempt, attempt.task.rest.heartbeat_timeout)
        if timeout is None:
            return await self._invoke(attempt, handler, arguments)
        timer = asyncio.get_running_loop().call_later(timeout, self._time_out, attempt)
        try:
            return await self._invoke(attempt, handler, arguments)
        finally:
            timer.cancel()

    def _watch(self, attempt: Attempt, patience: float) -> None:
        """Ends an attempt that shows no sign of life for too long."""
        if self.running.get(attempt.task.id) is not attempt:
            return
        left = max(attempt.alive, attempt.started) + patience - time.monotonic()
        if left <= 0:
            for one in self._batches.get(attempt.task.id, (attempt,)):
                self.end(one.task.id, "silent")
        else:
            asyncio.get_running_loop().call_later(left, self._watch, attempt, patience)

    def _time_out(self, attempt: Attempt) -> None:
        for one in self._batches.get(attempt.task.id, (attempt,)):
            self.end(one.task.id, "timed out")

    async def _invoke(self, attempt: Attempt, handler: Task[Any, Any], arguments: dict[str, Any]) -> Any:
        if handler.options.isolate == "process":
            return await self._children.call(attempt, handler.kind, attempt.payload, secrets=attempt.secrets)
        if handler.context_name is not None:
            arguments = {**arguments, handler.context_name: attempt}
        if handler.options.isolate == "loop":
            return await handler.function(**arguments)
        carried = contextvars.copy_context()
        working = self._threads.submit(carried.run, _call_in_thread, handler.function, arguments)
        try:
            return await asyncio.wrap_future(working)
        except asyncio.CancelledError:
            if not working.done():
                self._abandon()
            raise

    def _abandon(self) -> None:
        """A thread that does not end keeps its place for ever: the others get new ones."""
        self._threads.shutdown(wait=False)
        self._threads = self._new_threads()

    def _new_threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._runners, thread_name_prefix="weft")


def _call_in_thread(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    try:
        return function(**arguments)
    except (StopIteration, GeneratorExit) as error:
        # they cannot pass through a future: whoever awaits that would wait for ever
        raise RuntimeError(f"the handler raised {type(error).__name__}") from error
