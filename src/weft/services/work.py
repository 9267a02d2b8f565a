"""`task` and `event`: the queue. An event is what a step asks for; its processing is the task of the same id."""

import uuid as uuids
from collections.abc import Sequence
from typing import Any, Literal

from weft.afl.records import EventDefinition, TaskDefinition
from weft.base import errors, ids, json
from weft.db import statements
from weft.db.tx import Tx
from weft.queue import enqueue, new, orphans, remote, tasks
from weft.services.link import ACTOR, Link, id_of, illegal, must_be
from weft.settle import rescue
from weft.settle.outcome import Held, Outcome
from weft.settle.settle import settle

SQL = statements.load("weft.services")

_ENDINGS: dict[str, Literal["completed", "failed", "discarded", "cancelled"]] = {
    "completed": "completed", "failed": "failed", "error": "failed", "ignored": "discarded", "canceled": "cancelled",
}  # fmt: skip


class Tasks:
    """To save a new one enqueues it."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def get_by_id(self, uuid: str) -> TaskDefinition | None:
        return self._link.one(SQL.task, {"id": id_of(uuid)}, type=TaskDefinition)

    def get_pending(self, task_list: str) -> Sequence[TaskDefinition]:
        """Oldest first."""
        arguments = {"queue": task_list, "org_id": self._link.org}
        return self._link.read(SQL.pending_tasks, arguments, type=TaskDefinition)

    def save(self, task: TaskDefinition) -> None:
        """Enqueues it, if there is none of this id, and sets the id; else takes over its state."""
        known = self.get_by_id(task.uuid)
        if known is not None:
            self.update_state(task.uuid, task.state)
            return
        if task.state != "pending":
            raise illegal("task", "not there", task.state)
        tags = [f"data_type:{task.data_type}"] if task.data_type else []
        task.uuid = self._link.run(_put(
            self._link, task.name, task.data or {}, queue=task.task_list_name, run=task.runner_id, step=task.step_id,
            tags=tags,
        ))  # fmt: skip

    def update_state(self, uuid: str, state: str, *, result: Any = None, error: str | None = None) -> None:
        """`running` takes one that waits, for two minutes; `completed`, `failed`, `ignored`, `canceled` end it: who held
        it holds it no more. `pending` has one run again that failed. Conflict for what cannot follow."""
        before = self.get_by_id(uuid)
        if before is None:
            raise errors.NotFound(f"there is no task {uuid!r}")
        if before.state != state:
            move = _move(self._link, must_be(uuid, what="task"), before.state, state, result=result, error=error)
            self._link.run(move)


class Events:
    """The work that steps have asked for."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def get_by_id(self, uuid: str) -> EventDefinition | None:
        id = id_of(uuid)
        found = self._some(self._link.run(self._run_of(id)), id=id) if id is not None else []
        return found[0] if found else None

    def get_by_runner(self, runner_id: str) -> Sequence[EventDefinition]:
        return self._some(id_of(runner_id))

    def get_by_step(self, step_id: str) -> Sequence[EventDefinition]:
        return self._some(self._link.run(self._run_of_step(id_of(step_id))), step=step_id)

    def get_pending(self, topic: str) -> Sequence[EventDefinition]:
        """Oldest first."""
        arguments = {"queue": topic, "org_id": self._link.org}
        return self._link.read(SQL.pending_events, arguments, type=EventDefinition)

    def save(self, event: EventDefinition) -> None:
        """Takes over its state and result. Events are made by running flows; what else is to be done is a task."""
        data = event.event_data
        self.update_state(event.uuid, event.state, result=data.result if data is not None else None,
                          error=event.error.message if event.error is not None else None)  # fmt: skip

    def update_state(self, uuid: str, state: str, *, result: Any = None, error: str | None = None) -> None:
        """`running`, `completed`, `ignored`, `error`, as for a task; the step goes with it."""
        before = self.get_by_id(uuid)
        if before is None:
            raise errors.NotFound(f"there is no event {uuid!r}")
        if before.state != state:
            move = _move(self._link, must_be(uuid, what="event"), before.state, state, result=result, error=error)
            self._link.run(move)

    def _some(
        self, run: uuids.UUID | None, *, id: uuids.UUID | None = None, step: str | None = None
    ) -> list[EventDefinition]:
        return self._link.read(SQL.events, {"run": run, "id": id, "step": step}, type=EventDefinition)

    async def _run_of(self, task: uuids.UUID | None) -> uuids.UUID | None:
        async with self._link.writing() as tx:
            found: uuids.UUID | None = await tx.value(SQL.run_of_task, {"id": task, "org_id": self._link.org})
            return found

    async def _run_of_step(self, step: uuids.UUID | None) -> uuids.UUID | None:
        async with self._link.writing() as tx:
            found: uuids.UUID | None = await tx.value(SQL.run_of_step, {"id": step, "org_id": self._link.org})
            return found


async def _put(
    link: Link, kind: str, payload: dict[str, Any], *, queue: str, run: str, step: str, tags: Sequence[str]
) -> str:
    """The task's id. A step has one task that is not over: else two could run."""
    options: dict[str, Any] = {"queue": queue, "tags": tags, "org": link.org}
    if run:
        options["correlation_id"] = run
    async with link.writing() as tx:
        if (step_id := id_of(step)) is not None:
            taken = await tx.value(SQL.unfinished_of_step, {"org_id": link.org, "step_id": step_id})
            if taken:
                raise errors.Conflict(f"step {step} has a task that is not over; one of a step runs at a time")
            options["step_id"] = step_id
        arguments = new.arguments(kind, payload, declared=None, options=options)  # type: ignore[arg-type]
        return str((await enqueue.one(tx, arguments)).id)


async def _move(
    link: Link, id: uuids.UUID, before: str, wanted: str, *, result: Any, error: str | None
) -> None:
    token = {"id": id, "org_id": link.org, "token": ids.token()}
    async with link.writing() as tx:
        if before == "pending" and wanted in ("running", "ignored"):
            if await tx.value(SQL.take_task, {**token, "lease": remote.LEASE}) is None:
                raise illegal("task", "held by somebody else now", wanted)
            if wanted == "ignored":
                await _end(tx, id, "discarded", result=None, error=error)
        elif before == "pending" and wanted == "canceled":
            await rescue.cancel_one(tx, id=id, org=link.org)
        elif before == "running" and wanted == "pending":
            await _fenced(tx, token)
            await _settle(tx, id, Outcome, "released")
        elif before == "running" and wanted in _ENDINGS:
            await _fenced(tx, token)
            await _end(tx, id, _ENDINGS[wanted], result=result, error=error)
        elif before in ("failed", "canceled", "error") and wanted == "pending":
            if not await tasks.redrive(tx, org=link.org, ids=[id], actor=ACTOR):
                raise illegal("task", before, wanted)
        else:
            raise illegal("task", before, wanted)


async def _fenced(tx: Tx, token: dict[str, Any]) -> None:
    if await tx.value(SQL.fence_task, token) is None:
        raise errors.Conflict(f"the task {token['id']} has ended meanwhile")


async def _end(
    tx: Tx, id: uuids.UUID, how: Literal["completed", "failed", "discarded", "cancelled"], *, result: Any, error: str | None
) -> None:
    said = {
        "completed": {"result": None if result is None else json.text(result, what="result")},
        "failed": {"error": json.text({"type": "Failed", "message": error or f"said by {ACTOR}"}), "retryable": False},
        "cancelled": {"error": json.text({"type": "Cancelled", "message": error or f"cancelled by {ACTOR}"})},
        "discarded": {},
    }[how]
    await _settle(tx, id, Outcome, how, **said)  # type: ignore[arg-type]


async def _settle(tx: Tx, id: uuids.UUID, made: type[Outcome], how: Any, **said: Any) -> None:
    held = await orphans.held(tx, ids=[str(id)])
    settled = await settle(tx, [made(Held(*row), how, **said) for row in held])
    if settled.wake:
        await orphans.wake(tx, queues=settled.wake)
