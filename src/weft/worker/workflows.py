"""Running workflows: a wake-up is a task; its handler replays the run, carries out what it asks for, and parks or ends it.

    replay ─▶ what is wanted? ─▶ save what is unsaved ─▶ run the steps ─▶ tell the replayer ─▶ …
                             └▶ only waits ─▶ park: the task sleeps until the time, or until something is sent

The code is driven ahead of what is saved, for it does nothing by itself; but no step begins before everything the code
knows is committed. So the last checkpoint, the run's end and the task's are one transaction.
"""

import asyncio
import datetime as dt
import time
from typing import Any

import msgspec

from weft.base import errors, json
from weft.db.database import Database
from weft.flows import checkpoint, workflows
from weft.queue.model import Claimed
from weft.sdk import context as contexts
from weft.sdk import task as declarations
from weft.sdk.operation import ContinueAsNew, Operation, Record
from weft.sdk.task import Task
from weft.sdk.workflow import Declared, Workflow
from weft.settle.outcome import Outcome
from weft.worker import ending, hearing
from weft.worker import workflow_outcomes as outcomes
from weft.worker.keeper import Keeper
from weft.worker.live import Live
from weft.worker.remembered import Remembered
from weft.worker.stepping import LONG, Fault, Stepping, patiently

_FRESH = 60.0
"""Seconds for which the database's time, once told, is counted on by ourselves."""


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
        self._stepping = Stepping(database, threads=threads, fault=fault)
        self._remembered = Remembered()
        self._live: dict[str, Live] = {}
        self._looking: asyncio.Task[None] | None = None
        self._heard: tuple[dt.datetime, float] | None = None
        """The database's time, and our own when it was told."""
        self._era = ""

    def handlers(self) -> list[Task[Any, Any]]:
        return [self._handler(workflow) for workflow in self._declared.workflows.values()]

    async def declare(self) -> None:
        """Makes the workflows known, so that they can be started from anywhere."""
        async with self._database.tx() as tx:
            await workflows.declare(tx, list(self._declared.workflows.values()))
        if self._declared.workflows:
            await self._hear()

    def close(self) -> None:
        self._stepping.close()

    def _handler(self, workflow: Workflow[Any, Any]) -> Task[Any, Any]:
        async def drive(**payload: Any) -> Any:
            attempt: Any = contexts.current()
            return await self._wake(attempt.task, workflow)

        options = declarations.Options(queue=workflow.options.queue, priority=workflow.options.priority)
        return Task(drive, kind=workflow.kind, options=options)

    async def _wake(self, task: Claimed, workflow: Workflow[Any, Any]) -> Outcome:
        loaded = None
        if task.attempt > 1:
            memory = self._remembered.take(task.id, attempt=task.attempt)
            loaded = await self._keeper.load((task.id, None if memory is None else memory.place))
            if loaded is None:
                return Outcome(task, "completed")  # the run is over: nothing follows
            if memory is not None and memory.place.life == loaded.life:
                loaded.history = memory.history + loaded.history
            self._heard, self._era = (loaded.now, time.monotonic()), loaded.life.rpartition(" ")[0]
        elif self._heard is None or time.monotonic() - self._heard[1] > _FRESH:
            await patiently(self._hear)
        assert self._heard is not None
        try:
            live = Live(task, workflow, loaded, heard=self._heard, era=self._era)
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

    async def _hear(self) -> None:
        async with self._database.once() as tx:
            asked = time.monotonic()
            now, self._era = await workflows.time(tx)
            self._heard = now, max(asked, time.monotonic() - 0.001)

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
        if live.running:
            await self._collect(live)
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
        for operation in replayer.take_wanted():
            later = live.retrying.get(operation.position)
            if operation.kind in ("step", "transaction", "start") and later is None:
                live.todo[operation.position] = operation
            else:
                live.waits[operation.position] = operation
                if later is not None:
                    operation.due = later[1]
        if live.waits and (record := live.happened()) is not None:
            if record.kind in ("step", "transaction", "start"):
                live.todo[record.position] = replayer.issued[record.position]
            else:
                live.tell(record)  # what is to do stays so
                return None
        if live.todo:
            work, live.todo = list(live.todo.values()), {}
            await self._save(live)
            # a transaction is a task of its own: whoever stops the run must not cut off its commit
            if len(work) == 1 and not live.running and not live.waits and work[0].kind != "transaction":
                live.alone = work[0].name, work[0].position
                self._arrived(live, work[0], await self._stepping.carry_out(live, work[0]))
                live.alone = None
                return None
            for operation in work:
                live.running[operation.position] = asyncio.create_task(self._stepping.carry_out(live, operation))
        if live.running:
            await self._save(live)  # what is done need not wait for what goes on beside it
            await self._wait(live)
            return None
        self._remembered.keep(live)
        return outcomes.parked(live)

    async def _save(self, live: Live, **words: Any) -> None:
        if live.dirty or words:
            asked = time.monotonic()
            if self._fault is not None:
                await self._fault("before a checkpoint", live.task)
            self._heard = live.hear(await self._keeper.keep(live.written(**words)), asked)
            if self._fault is not None:
                await self._fault("after a checkpoint", live.task)
            if live.task.rest.losses:
                await self._forgive(live)

    async def _visit(self, place: str, task: Claimed) -> None:
        if self._fault is not None:
            await self._fault(place, task)

    async def _forgive(self, live: Live) -> None:
        """It got further than the worker it was lost with: that counts no more."""
        async def forgive() -> None:
            async with self._database.once() as tx:
                await workflows.forgive(tx, [live.task.id])

        await patiently(forgive)
        live.task.rest = msgspec.structs.replace(live.task.rest, losses=0)

    async def _wait(self, live: Live) -> None:
        """Until something that runs has ended, something is due, or something was sent."""
        due = live.due()
        timeout = None if due is None else max((due - live.now()).total_seconds(), 0.0)
        told = asyncio.ensure_future(live.told.wait())
        try:
            await asyncio.wait({*live.running.values(), told}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()
        live.told.clear()
        await self._collect(live)

    async def _collect(self, live: Live) -> None:
        """Tells of what has ended. A transaction that has its number already is waited for: others come after it."""
        while committing := [live.running[one] for one in live.committing if one in live.running]:
            await asyncio.wait(committing)
        ended = [(position, task) for position, task in live.running.items() if task.done()]
        for position, task in ended:
            del live.running[position]
            _unheard(task)  # if one of them says that the lease is lost, nobody asks the others
        # those of transactions are numbered already
        records = [(task.result(), live.replayer.issued[position]) for position, task in ended]
        for record, operation in sorted(records, key=lambda one: one[0].number or 1 << 60):
            if record.number or not live.replayer.finished:
                self._arrived(live, operation, record)
                live.replayer.go_on()  # after each, as when it is run again: between them the code may look at the time

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

    # ending

    async def _ended(self, live: Live) -> Outcome:
        error = live.replayer.error
        if isinstance(error, ContinueAsNew):
            try:
                return self._renewed(live, live.workflow.payload((), error.arguments))
            except errors.InvalidInput as invalid:
                error = invalid
        if error is None:
            try:
                value = live.replayer.value
                output = None if value is None else json.text(value, what=f"the result of workflow {live.workflow.name!r}")
            except errors.InvalidPayload as invalid:
                error = invalid
            else:
                return Outcome(live.task, "completed", written=live.written(state="completed", output=output))
        return await self._undo(live, {**json.loads(ending.problem(error)), **outcomes.cause(live)})

    @staticmethod
    def _renewed(live: Live, arguments: str) -> Outcome:
        written = live.written(state="running", due=live.replayer.now(), renewed=arguments, taken=live.stale())
        # what was not saved belongs to the life that ends here; but the messages in it are taken
        written.taken += [one.message for one in written.records if one.message is not None]
        written.records, written.waits = [], []
        return Outcome(live.task, "snoozed", written=written)

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
        """Ends what runs; what comes out of it does not count, unless it is being committed."""
        await self._collect(live)
        for task in live.running.values():
            task.cancel()
        if live.running:
            await asyncio.wait(live.running.values(), timeout=5)
        live.running.clear()

    async def _undo(self, live: Live, error: dict[str, Any]) -> Outcome:
        """Compensates in reverse order of completion, each step durably, and ends the run."""
        live.undoing = True
        cancelled = error.get("type") == "Cancelled"
        plan = [one for one in sorted(live.history, reverse=True) if one.ok and one.undo and one.kind != "compensation"]
        if not plan:
            state: Any = "cancelled" if cancelled else "failed"
            return Outcome(live.task, "completed", written=live.written(state=state, error=json.text(error)))
        await self._save(live, state="compensating", error=json.text(error))
        over = {one.position: one for one in live.history if one.kind == "compensation"}
        for record in plan:
            position = f"~{record.position}"
            if position in over and (record.position in live.undone or not over[position].ok):
                continue
            if position not in over:
                try:
                    done = await self._undo_one(live, record, position)
                except errors.HistoryMismatch as mismatch:
                    return outcomes.blocked(live, mismatch, undoing=error)
                if done.kind == "later":
                    return outcomes.undone_later(live, error, due=live.retrying[position][1])
                over[position] = done
                live.history.append(done)
                if not done.number:
                    live.unsaved.append(done._replace(number=live.next_number()))
            node = checkpoint.node(record.name, record.position)
            await self._save(live, undone=[node] if over[position].ok else [])
        if failed := [one.name for one in plan if not over[f"~{one.position}"].ok]:
            error = {**error, "not_undone": failed}
        return Outcome(
            live.task, "completed", written=live.written(state="failed" if failed else "compensated", error=json.text(error))
        )

    async def _undo_one(self, live: Live, record: Record, position: str) -> Record:
        """Undoes a step; `later`, if it is to be tried again after a long pause."""
        told = msgspec.json.decode(record.undo or "{}")
        step = self._declared.steps.get(told["compensate"])
        if step is None:
            problem = {"type": "UnknownStep", "message": f"there is no step named {told['compensate']!r} to undo it with"}
            return Record(0, position, "compensation", told["compensate"], False, None, problem, live.now())
        arguments = step.undoing(told["arguments"], record.output, of=record.name)
        live.alone = step.name, position
        while True:
            attempt, due = live.retrying.get(position, (0, None))
            pause = 0 if due is None else (due - live.now()).total_seconds()
            if pause > LONG:
                return Record(0, position, "later", step.name, False, attempt=attempt)
            await asyncio.sleep(max(pause, 0))
            done = await self._stepping.attempts(live, step, position, (), arguments, kind="compensation")
            if done.kind != "later":
                return done
            # written down, however short the pause: whoever goes on with it must not try for ever
            live.later.append(done._replace(kind="compensation"))
            live.retrying[position] = (done.attempt, dt.datetime.fromisoformat((done.error or {})["due"]))
            await self._save(live)


def _unheard(task: "asyncio.Task[Any]") -> None:
    """Whatever becomes of a step that nobody waits for any more."""
    if not task.cancelled():
        task.exception()
