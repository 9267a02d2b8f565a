"""Running workflows: a wake-up is a task; its handler replays the run, carries out what it asks for, and parks or ends it.

    replay ─▶ what is wanted? ─▶ save what is unsaved ─▶ run the steps ─▶ tell the replayer ─▶ …
                             └▶ only waits ─▶ park: the task sleeps until the time, or until something is sent

The code is driven ahead of what is saved, for it does nothing by itself; but no step begins before everything the code
knows is committed. So the last checkpoint, the run's end and the task's are one transaction.
"""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import datetime as dt
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from weft.base import errors, json
from weft.db.database import Database
from weft.flows import checkpoint, workflows
from weft.flows.checkpoint import Written
from weft.queue.model import Claimed
from weft.sdk import context as contexts
from weft.sdk import task as declarations
from weft.sdk.operation import ContinueAsNew, Operation, Record
from weft.sdk.task import Task
from weft.sdk.workflow import Declared, Step, Workflow
from weft.settle.outcome import Outcome
from weft.worker import ending, hearing
from weft.worker import workflow_outcomes as outcomes
from weft.worker.keeper import Keeper
from weft.worker.live import Live

log = logging.getLogger("weft.worker")

_LONG = 5.0
"""Seconds: a pause before the next attempt that is longer is not waited for in a worker."""
Fault = Callable[[str, Claimed], Awaitable[None]]
"""Called around each checkpoint of a run, by tests of workflows; it may raise `Crashed`."""


class Crashed(BaseException):
    """Here the worker would have died: what it knew of the run is gone, and somebody else goes on."""


class Executor:
    """The workflows of an app, as handlers of their wake-ups."""

    def __init__(
        self, database: Database, declared: Declared, *, node_id: str, threads: int = 50, fault: Fault | None = None
    ) -> None:
        self._fault = fault
        self._database = database
        self._declared = declared
        self._node_id = node_id
        self._keeper = Keeper(database)
        self._live: dict[str, Live] = {}
        self._looking: asyncio.Task[None] | None = None
        self._threads = concurrent.futures.ThreadPoolExecutor(threads, thread_name_prefix="weft step")

    def handlers(self) -> list[Task[Any, Any]]:
        return [self._handler(workflow) for workflow in self._declared.workflows.values()]

    async def declare(self) -> None:
        """Makes the workflows known, so that they can be started from anywhere."""
        async with self._database.tx() as tx:
            await workflows.declare(tx, list(self._declared.workflows.values()))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _handler(self, workflow: Workflow[Any, Any]) -> Task[Any, Any]:
        async def drive(**payload: Any) -> Any:
            attempt: Any = contexts.current()
            return await self._wake(attempt.task, workflow)

        options = declarations.Options(queue=workflow.options.queue, priority=workflow.options.priority)
        return Task(drive, kind=workflow.kind, options=options)

    async def _wake(self, task: Claimed, workflow: Workflow[Any, Any]) -> Outcome:
        loaded = None
        if task.attempt > 1:
            loaded = await self._keeper.load(task.id)
            if loaded is None:
                return Outcome(task, "completed")  # the run is over: nothing follows
        try:
            live = Live(task, workflow, loaded)
        except errors.WeftError as error:
            return outcomes.failed(task, error)
        self._live[task.id] = live
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(hearing.look(self._database, self._live, node_id=self._node_id))
        try:
            if loaded is not None and loaded.state == "compensating":
                outcome = await self._undo(live, loaded.error or {})
            else:
                outcome = await self._run(live)
            await self._visit("before the end", task)
            return outcome
        except errors.LeaseLost:
            return Outcome(task, "lost", error=json.text({"type": "Lost", "message": "the lease was lost"}))
        except Crashed:
            return Outcome(task, "released")
        finally:
            if self._live.get(task.id) is live:
                del self._live[task.id]
            for running in live.running.values():
                running.cancel()
                running.add_done_callback(_unheard)
            live.replayer.close()

    async def _run(self, live: Live) -> Outcome:
        """Until it has ended, or only waits."""
        try:
            while True:
                try:
                    if (asked := await self._further(live)) is not None:
                        return asked
                except asyncio.CancelledError:
                    if not live.stopping or live.runner is None:
                        raise
                    live.stopping = False
                    live.runner.uncancel()
        except (errors.HistoryMismatch, errors.ForeignAwait, errors.Conflict) as error:
            if isinstance(error, errors.LeaseLost):
                raise
            return outcomes.blocked(live, error)

    async def _further(self, live: Live) -> Outcome | None:
        """One turn: None, if it goes on."""
        if live.messages:
            if (message := live.asked("cancel")) is not None:
                return await self._cancelled(live, msgspec.json.decode(message.value or "{}"))
            if live.asked("pause") is not None:
                return await self._paused(live)
        replayer = live.replayer
        replayer.go_on()
        live.forget()
        if replayer.finished:
            return await self._ended(live)
        work = []
        for operation in replayer.take_wanted():
            later = live.retrying.get(operation.position)
            if operation.kind in ("step", "transaction", "start") and later is None:
                work.append(operation)
            else:
                live.waits[operation.position] = operation
                if later is not None:
                    operation.due = later[1]
        if live.waits and (record := live.happened()) is not None:
            if record.kind in ("step", "transaction", "start"):
                work.append(replayer.issued[record.position])
            else:
                live.tell(record)
                return None
        if work:
            await self._save(live)
            if len(work) == 1 and not live.running and not live.waits:
                self._arrived(live, work[0], await self._execute(live, work[0]))
                return None
            for operation in work:
                live.running[operation.position] = asyncio.create_task(self._execute(live, operation))
        if live.running:
            await self._wait(live)
            return None
        return outcomes.parked(live)

    async def _save(self, live: Live, **words: Any) -> None:
        if live.dirty or words or (live.waits and live.now() is None):
            asked = time.monotonic()
            if self._fault is not None:
                await self._fault("before a checkpoint", live.task)
            live.hear(await self._keeper.keep(live.written(**words)), asked)
            if self._fault is not None:
                await self._fault("after a checkpoint", live.task)
            if live.task.rest.losses:
                await self._forgive(live)

    async def _visit(self, place: str, task: Claimed) -> None:
        if self._fault is not None:
            await self._fault(place, task)

    async def _forgive(self, live: Live) -> None:
        """It got further than the worker it was lost with: that counts no more."""
        async with self._database.once() as tx:
            await workflows.forgive(tx, [live.task.id])
        live.task.rest = msgspec.structs.replace(live.task.rest, losses=0)

    async def _wait(self, live: Live) -> None:
        """Until something that runs has ended, something is due, or something was sent."""
        due, now = live.due(), live.now()
        timeout = None if due is None or now is None else max((due - now).total_seconds(), 0.0)
        told = asyncio.ensure_future(live.told.wait())
        try:
            await asyncio.wait({*live.running.values(), told}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()
        live.told.clear()
        ended = [(position, task) for position, task in live.running.items() if task.done()]
        for position, _ in ended:
            del live.running[position]
        # those of transactions are numbered already
        records = [(task.result(), live.replayer.issued[position]) for position, task in ended]
        for record, operation in sorted(records, key=lambda one: one[0].number or 1 << 60):
            self._arrived(live, operation, record)

    def _arrived(self, live: Live, operation: Operation, record: Record) -> None:
        if record.kind == "later":
            due = dt.datetime.fromisoformat((record.error or {})["due"])
            live.later.append(record._replace(kind=operation.kind))
            live.retrying[operation.position] = (record.attempt, due)
            operation.due = due
            live.waits[operation.position] = operation
            return
        live.retrying.pop(operation.position, None)
        if record.number:
            live.tell(record, saved=True)
        else:
            live.tell(record._replace(number=live.next_number()))

    # carrying out

    async def _execute(self, live: Live, operation: Operation) -> Record:
        """Runs a step until it is over. A record without a number is not saved yet."""
        if operation.kind == "start":
            return await self._start(live, operation)
        step, args, kwargs = operation.about
        return await self._attempts(live, step, operation.position, args, kwargs, kind=operation.kind)

    async def _attempts(
        self, live: Live, step: Step[Any, Any], position: str, args: Any, kwargs: Mapping[str, Any], *, kind: str
    ) -> Record:
        attempt = live.retrying.get(position, (0, None))[0]
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
                return Record(0, position, kind, step.name, True, output, None, live.now(), attempt, undo)
            except errors.LeaseLost:
                raise
            except Exception as error:  # noqa: BLE001 - user code
                problem = json.loads(ending.problem(error))
                if attempt > step.options.retries or not outcomes.retryable(step, error):
                    return Record(0, position, kind, step.name, False, None, problem, live.now(), attempt)
                pause = step.options.retry.delay(attempt)
                if pause.total_seconds() > _LONG and (now := live.now()) is not None:
                    problem["due"] = (now + pause).isoformat()
                    return Record(0, position, "later", step.name, False, None, problem, now, attempt)
            await asyncio.sleep(pause.total_seconds())

    async def _call(self, step: Step[Any, Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
        limit = step.options.timeout
        async with asyncio.timeout(None if limit is None else limit.total_seconds()) if limit else contextlib.nullcontext():
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
        """The step's writes and its checkpoint are one transaction."""
        limit = step.options.timeout
        async with self._database.tx() as tx:
            async with asyncio.timeout(None if limit is None else limit.total_seconds()):
                value = await step.function(tx.connection, *args, **kwargs)
            output = outcomes.output(step, value)
            record = Record(live.next_number(), position, kind, step.name, True, output, None, live.now(), attempt, undo)
            written = Written(run=live.task.id, token=live.task.token, records=[record])
            now, held = await checkpoint.keep(tx, [written])
            if not held:
                raise errors.LeaseLost(f"run {live.task.id} is no longer ours")
            if live.task.rest.losses:
                await workflows.forgive(tx, [live.task.id])
            await self._visit("before a transaction's commit", live.task)
        await self._visit("after a transaction's commit", live.task)
        return record._replace(at=now)

    async def _start(self, live: Live, operation: Operation) -> Record:
        """A child, once, however often this is tried: its key is our run and the position."""
        workflow, arguments, detached = operation.about
        task = live.task
        wanted = workflows.wish(
            workflow.name, arguments, version=workflow.version, key=f"child:{task.id}:{operation.position}", org=task.org,
            parent=task.id, place=None if detached else operation.position, correlation_id=task.correlation_id,
            trace_parent=task.trace_parent,
        )  # fmt: skip
        async with self._database.once() as tx:
            made = await workflows.start(tx, wanted)
        return Record(0, operation.position, "start", operation.name, True, json.text(str(made.id)), None, live.now())

    # ending

    async def _ended(self, live: Live) -> Outcome:
        error = live.replayer.error
        if isinstance(error, ContinueAsNew):
            renewed = live.workflow.payload((), error.arguments)
            written = live.written(state="running", due=live.replayer.now(), renewed=renewed)
            return Outcome(live.task, "snoozed", written=written)
        if error is None:
            try:
                value = live.replayer.value
                output = None if value is None else json.text(value, what=f"the result of workflow {live.workflow.name!r}")
            except errors.InvalidPayload as invalid:
                error = invalid
            else:
                return Outcome(live.task, "completed", written=live.written(state="completed", output=output))
        return await self._undo(live, json.loads(ending.problem(error)))

    async def _cancelled(self, live: Live, wish: dict[str, Any]) -> Outcome:
        await self._stop(live)
        error = {"type": "Cancelled", "message": f"cancelled by {wish.get('actor') or 'somebody'}"}
        if wish.get("compensate", True):
            return await self._undo(live, error)
        return Outcome(live.task, "completed", written=live.written(state="cancelled", error=json.text(error)))

    async def _paused(self, live: Live) -> Outcome:
        await self._stop(live)
        message = live.asked("pause")
        written = live.written(state="paused", hold=True, taken=[] if message is None else [message.id])
        return Outcome(live.task, "snoozed", written=written)

    async def _stop(self, live: Live) -> None:
        """Ends what runs; what comes out of it does not count."""
        for task in live.running.values():
            task.cancel()
        if live.running:
            await asyncio.wait(live.running.values(), timeout=5)
        live.running.clear()

    async def _undo(self, live: Live, error: dict[str, Any]) -> Outcome:
        """Compensates in reverse order of completion, each step durably, and ends the run."""
        cancelled = error.get("type") == "Cancelled"
        plan = [one for one in sorted(live.history, reverse=True) if one.ok and one.undo and one.kind != "compensation"]
        if not plan:
            state: Any = "cancelled" if cancelled else "failed"
            return Outcome(live.task, "completed", written=live.written(state=state, error=json.text(error)))
        await self._save(live, state="compensating", error=json.text(error))
        over = {one.position: one for one in live.history if one.kind == "compensation"}
        for record in plan:
            position = f"~{record.position}"
            if position not in over:
                over[position] = done = await self._undo_one(live, record, position)
                live.history.append(done)
                if not done.number:
                    live.unsaved.append(done._replace(number=live.next_number()))
            elif record.position in live.undone or not over[position].ok:
                continue
            node = checkpoint.node(record.name, record.position)
            await self._save(live, undone=[node] if over[position].ok else [])
        if failed := [one.name for one in plan if not over[f"~{one.position}"].ok]:
            error = {**error, "not_undone": failed}
        return Outcome(
            live.task, "completed", written=live.written(state="failed" if failed else "compensated", error=json.text(error))
        )

    async def _undo_one(self, live: Live, record: Record, position: str) -> Record:
        told = msgspec.json.decode(record.undo or "{}")
        step = self._declared.steps.get(told["compensate"])
        if step is None:
            problem = {"type": "UnknownStep", "message": f"there is no step named {told['compensate']!r} to undo it with"}
            return Record(0, position, "compensation", told["compensate"], False, None, problem)
        arguments = step.undoing(told["arguments"], None if record.output is None else json.loads(record.output))
        while True:
            done = await self._attempts(live, step, position, (), arguments, kind="compensation")
            if done.kind != "later":
                return done
            live.retrying[position] = (done.attempt, None)
            await asyncio.sleep(_LONG)

    # hearing


def _unheard(task: "asyncio.Task[Any]") -> None:
    """Whatever becomes of a step that nobody waits for any more."""
    if not task.cancelled():
        task.exception()
