"""Carrying out what a run asks for: steps with their attempts, transactions, the start of children."""

import asyncio
import concurrent.futures
import contextvars
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from weft.base import errors, json
from weft.db.database import Database
from weft.db.tx import Tx
from weft.flows import checkpoint, workflows
from weft.flows.checkpoint import Written
from weft.flows.start import Started
from weft.queue.model import Claimed
from weft.sdk.operation import Operation, Record
from weft.sdk.workflow import Step
from weft.worker import ending
from weft.worker import workflow_outcomes as outcomes
from weft.worker.live import Live

log = logging.getLogger("weft.worker")

T = TypeVar("T")

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0

LONG = 5.0
"""Seconds: a pause before the next attempt that is longer is not waited for in a worker."""

Fault = Callable[[str, Claimed], Awaitable[None]]
"""Called around each checkpoint of a run, by tests of workflows; it may raise `Crashed`."""


class Stepping:
    """The hands of an executor."""

    def __init__(self, database: Database, *, threads: int, fault: Fault | None) -> None:
        self._database = database
        self._fault = fault
        self._threads = concurrent.futures.ThreadPoolExecutor(threads, thread_name_prefix="weft step")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def carry_out(self, live: Live, operation: Operation) -> Record:
        """Runs a step until it is over. A record without a number is not saved yet."""
        if operation.kind == "start":
            return await self._start(live, operation)
        step, args, kwargs = operation.about
        return await self.attempts(live, step, operation.position, args, kwargs, kind=operation.kind)

    async def attempts(
        self, live: Live, step: Step[Any, Any], position: str, args: Any, kwargs: Mapping[str, Any], *, kind: str
    ) -> Record:
        attempt = live.retrying.get(position, (0, None))[0]
        began = live.now()
        while True:
            attempt += 1
            try:
                undo = step.undo(args, dict(kwargs))
                if step.kind == "transaction":
                    return await self._transact(live, step, position, args, kwargs, kind=kind, attempt=attempt, undo=undo)
                if step.is_async and step.options.timeout is None:
                    value = await step.function(*args, **kwargs)
                else:
                    value = await self._call(step, args, kwargs)
                output = outcomes.output(step, value)
                return Record(0, position, kind, step.name, True, output, None, live.now(), attempt, undo, began=began)
            except errors.LeaseLost:
                raise
            except (Exception, SystemExit) as error:  # noqa: BLE001 - user code, which is not to end the worker
                problem = json.loads(ending.problem(error))
                if attempt > step.options.retries or not outcomes.retryable(step, error):
                    return Record(0, position, kind, step.name, False, None, problem, live.now(), attempt, began=began)
                pause = step.options.retry.delay(attempt)
                if pause.total_seconds() > LONG or kind == "compensation":
                    now = live.now()
                    problem["due"] = (now + pause).isoformat()
                    return Record(0, position, "later", step.name, False, None, problem, now, attempt, began=began)
            await asyncio.sleep(pause.total_seconds())

    async def _call(self, step: Step[Any, Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
        async with _limit(step):
            if step.is_async:
                return await step.function(*args, **kwargs)
            carried = contextvars.copy_context()
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, lambda: carried.run(step.function, *args, **kwargs)
            )

    async def _transact(
        self, live: Live, step: Step[Any, Any], position: str, args: Any, kwargs: Mapping[str, Any], *, kind: str,
        attempt: int, undo: str | None,
    ) -> Record:  # fmt: skip
        """The step's writes and its checkpoint are one transaction. A database that goes away is waited for: that is no
        fault of the step; and whether a commit went through that got no answer is looked up."""
        pause = _FIRST_PAUSE
        began = live.now()
        try:
            while True:
                record = None
                try:
                    async with self._database.tx() as tx:
                        async with _limit(step):
                            value = await step.function(tx.connection, *args, **kwargs)
                        output = outcomes.output(step, value)
                        live.committing.add(position)
                        record = Record(
                            live.next_number(), position, kind, step.name, True, output, None, live.now(), attempt, undo,
                            began=began,
                        )  # fmt: skip
                        await self._write(tx, live, record)
                    await self._visit("after a transaction's commit", live.task)
                    return record
                except errors.OutcomeUnknown:
                    if record is not None and await patiently(partial(self._is_there, live, record)):
                        return record
                except errors.Unavailable as error:
                    # after the step's last word it is our own statement that waited in vain or in a circle
                    if record is None and not _is_away(error):
                        raise
                live.committing.discard(position)
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
        finally:
            live.committing.discard(position)

    async def _write(self, tx: Tx, live: Live, record: Record) -> None:
        written = Written(run=live.task.id, token=live.task.token, records=[record])
        _, held = await checkpoint.keep(tx, [written])
        if not held:
            raise errors.LeaseLost(f"run {live.task.id} is no longer ours")
        if live.task.rest.losses:
            await workflows.forgive(tx, [live.task.id])
        await self._visit("before a transaction's commit", live.task)

    async def _is_there(self, live: Live, record: Record) -> bool:
        async with self._database.tx() as tx:
            return await checkpoint.is_there(tx, record, run=live.task.id, token=live.task.token)

    async def _visit(self, place: str, task: Claimed) -> None:
        if self._fault is not None:
            await self._fault(place, task)

    async def _start(self, live: Live, operation: Operation) -> Record:
        """A child, once, however often this is tried: its key is our run, which life it is in, and the position."""
        workflow, arguments, detached = operation.about
        task = live.task
        key = f"child:{task.id}:{live.life.rpartition(' ')[2]}:{operation.position}"
        wanted = workflows.wish(
            workflow.name, arguments, version=workflow.version, key=key, org=task.org, parent=task.id,
            place=None if detached else operation.position, correlation_id=task.correlation_id,
            trace_parent=task.trace_parent,
        )  # fmt: skip

        async def start() -> Started:
            async with self._database.once() as tx:
                return await workflows.start(tx, wanted)

        made = await patiently(start)
        return Record(0, operation.position, "start", operation.name, True, json.text(str(made.id)), None, live.now())


async def patiently(do: Callable[[], Awaitable[T]]) -> T:
    """What can be done again without harm is, until the database answers."""
    pause = _FIRST_PAUSE
    while True:
        try:
            return await do()
        except (errors.Unavailable, errors.OutcomeUnknown) as error:
            log.warning("the database is away: %s", error)
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def _limit(step: Step[Any, Any]) -> asyncio.Timeout:
    limit = step.options.timeout
    return asyncio.timeout(None if limit is None else limit.total_seconds())


def _is_away(error: errors.Unavailable) -> bool:
    """Whether the connection is gone; a deadlock, or a statement that took too long, is the step's own."""
    state = error.details.get("sqlstate")
    return state is None or str(state).startswith(("08", "57P"))
