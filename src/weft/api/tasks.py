"""`/v1/tasks`: enqueue, look at one, cancel, redrive, explain. (Lists: task_pages.py; results and logs: task_output.py.)"""

import uuid
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from weft.api import fields, task_shape
from weft.api.operation import Answer, Call, Operation
from weft.api.task_shape import Task
from weft.base import errors
from weft.db.tx import Tx
from weft.journal import record
from weft.queue import enqueue, explain, new
from weft.queue import tasks as kernel
from weft.queue.model import Enqueued
from weft.settle import rescue

MOST = 1000
"""Tasks in one batch."""


class Retry(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How long to wait after a failed attempt."""

    backoff: Literal["fixed", "linear", "exponential"] = "exponential"
    base: fields.Duration = 30.0
    multiplier: Annotated[float, msgspec.Meta(ge=1, le=100)] = 2.0
    cap: fields.Duration = 600.0
    jitter: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1


class NewTask(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A task to enqueue. What is left out is as in Python's `app.enqueue`."""

    kind: fields.Name
    payload: Annotated[dict[str, Any], msgspec.Meta(description="The handler's arguments.")] = {}
    queue: fields.Name = "default"
    priority: Annotated[int, msgspec.Meta(ge=0, le=100, description="0 (last) to 100 (first).")] = 50
    run_at: fields.Instant | None = None
    delay: fields.Duration | None = None
    max_attempts: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None
    retry: Retry | None = None
    timeout: Annotated[fields.Span, msgspec.Meta(description="Longest time of an attempt, in seconds.")] | None = None
    heartbeat_timeout: fields.Span | None = None
    capabilities: Annotated[list[fields.ShortName], msgspec.Meta(max_length=10)] = []
    tags: Annotated[list[fields.Name], msgspec.Meta(max_length=50)] = []
    dedupe_key: Annotated[fields.Key, msgspec.Meta(description="Answer the task that has this key.")] | None = None
    dedupe: Annotated[
        Literal["unfinished", "forever"] | fields.Span,
        msgspec.Meta(description="Among what the key is unique; a number: among the tasks of that many seconds."),
    ] = "unfinished"
    concurrency_key: Annotated[fields.Key, msgspec.Meta(description="Of tasks with this key few run at once.")] | None = None
    concurrency: Annotated[
        Literal["strict"] | Annotated[int, msgspec.Meta(ge=1, le=10_000)],
        msgspec.Meta(description="How many with this key at once; `strict`: one after another, in order."),
    ] | None = None
    correlation_id: fields.Key | None = None
    trace_parent: fields.Key | None = None
    parent_id: uuid.UUID | None = None
    check: Annotated[bool, msgspec.Meta(description="Refuse a kind that no live worker serves.")] = False

    schema_extra: ClassVar[dict[str, Any]] = {
        "not": {
            "required": ["run_at", "delay"],
            "properties": {"run_at": {"type": "string"}, "delay": {"type": "number"}},
        },
        "if": {"required": ["concurrency"], "properties": {"concurrency": {"type": ["string", "integer"]}}},
        "then": {"required": ["concurrency_key"], "properties": {"concurrency_key": {"type": "string"}}},
    }


class NewTasks(msgspec.Struct, forbid_unknown_fields=True):
    """Tasks to enqueue together: all of them or, if one is not valid, none."""

    tasks: Annotated[list[NewTask], msgspec.Meta(min_length=1, max_length=MOST)]


class Made(msgspec.Struct):
    """The task's id, and whether it is new; `created` is false if one with its dedupe key was there."""

    id: uuid.UUID
    created: bool


class MadeMany(msgspec.Struct):
    """In the order of the request."""

    items: list[Made]


class Cancelled(msgspec.Struct):
    """What a cancellation did: ended a queued task, told a running one, or found it finished already."""

    id: uuid.UUID
    outcome: Literal["cancelled", "cancelling", "finished"]


class Explanation(msgspec.Struct):
    """Why a task is not running: one word for programs, one sentence for people, and every reason that applies."""

    code: str
    summary: str
    reasons: list[str]


async def create(call: Call[NewTask, None]) -> Answer:
    arguments = _arguments(call.body, org=call.principal.org)
    async with call.tx() as tx:
        await _must_be_served(tx, [call.body])
        made = await enqueue.one(tx, arguments)
        if made.created:
            await _journal(call, tx, [made], kinds=[call.body.kind])
    headers = {"location": f"/v1/tasks/{made.id}"}
    return Answer(body=Made(made.id, made.created), status=201 if made.created else 200, headers=headers)


async def create_many(call: Call[NewTasks, None]) -> MadeMany:
    wanted = call.body.tasks
    checked = [_numbered(one, n, org=call.principal.org) for n, one in enumerate(wanted)]
    async with call.tx() as tx:
        await _must_be_served(tx, wanted)
        made = await _enqueue_all(tx, checked)
        if new_ones := [one for one in made if one.created]:
            await _journal(call, tx, new_ones, kinds=[one.kind for one in wanted])
    return MadeMany([Made(one.id, one.created) for one in made])


async def get(call: Call[None, None]) -> Task:
    async with call.tx() as tx:
        return task_shape.shown(await kernel.get(tx, id=call.id, org=call.principal.org))


async def cancel(call: Call[None, None]) -> Cancelled:
    org = call.principal.org
    async with call.tx() as tx:
        outcome = await rescue.cancel_one(tx, id=call.id, org=org)
        if outcome in ("cancelled", "cancelling"):
            await record.record(
                tx, org_id=org, actor=call.principal.actor, action="task.cancel", object_type="task",
                object_id=str(call.id), after={"outcome": outcome},
            )  # fmt: skip
    if outcome == "unknown":
        raise errors.NotFound(f"there is no task {call.id}")
    return msgspec.convert({"id": call.id, "outcome": outcome}, Cancelled)


async def redrive(call: Call[None, None]) -> Task:
    org = call.principal.org
    async with call.tx() as tx:
        redriven = await kernel.redrive(tx, org=org, ids=[call.id], actor=call.principal.actor)
        task = await kernel.get(tx, id=call.id, org=org)
    if not redriven:
        raise errors.Conflict(_why_not_redriven(task.state), state=task.state)
    return task_shape.shown(task)


async def explained(call: Call[None, None]) -> Explanation:
    org = call.principal.org
    async with call.tx() as tx:
        task = await kernel.get(tx, id=call.id, org=org)
        if task.finished_at is not None:
            text = f"it has ended: {task.state} at {task.finished_at.isoformat()}"
            return Explanation("finished", text, [text])
        found = await explain.explain(tx, id=call.id, org=org)
    return Explanation(found.code, found.summary, found.reasons)


async def _journal(call: Call[Any, None], tx: Tx, made: Sequence[Enqueued], *, kinds: Sequence[str]) -> None:
    """One entry for a request, however many tasks it makes: each of them is a row of its own with its time and kind."""
    after = {"kinds": sorted(set(kinds))[:20], "count": len(made), "last": str(made[-1].id)}
    await record.record(
        tx, org_id=call.principal.org, actor=call.principal.actor, action="task.create", object_type="task",
        object_id=str(made[0].id), after=after,
    )  # fmt: skip


def _arguments(task: NewTask, *, org: uuid.UUID) -> dict[str, Any]:
    """The checked arguments of `weft.try_enqueue`, always for the caller's org."""
    if task.run_at is not None and not 1970 <= task.run_at.year < 3000:
        raise errors.InvalidInput("run_at must be between 1970 and 2999")
    given = msgspec.structs.asdict(task)
    options = {
        name: value
        for name, value in given.items()
        if name not in ("kind", "payload", "check", "retry") and value is not None
    }
    if task.retry is not None:
        options["retry"] = msgspec.structs.asdict(task.retry)
    return new.arguments(task.kind, task.payload, declared=None, options={**options, "org": org})  # type: ignore[typeddict-item]


def _numbered(task: NewTask, n: int, *, org: uuid.UUID) -> dict[str, Any]:
    try:
        return _arguments(task, org=org)
    except errors.InvalidInput as error:
        raise type(error)(f"tasks[{n}]: {error.message}", **error.details) from None


async def _must_be_served(tx: Tx, wanted: Sequence[NewTask]) -> None:
    for kind in sorted({one.kind for one in wanted if one.check}):
        if not await enqueue.kind_is_served(tx, kind):
            raise errors.UnknownKind(
                f"no live worker serves the kind {kind!r}; start its worker, or leave `check` out to enqueue all the same",
                kind=kind,
            )


async def _enqueue_all(tx: Tx, wanted: Sequence[dict[str, Any]]) -> list[Enqueued]:
    """Those that differ only in their payload go in one statement; those with keys one by one, in the order of keys."""
    found: dict[int, Enqueued] = {}
    alike: dict[str, list[int]] = {}
    keyed: list[int] = []
    for n, arguments in enumerate(wanted):
        if arguments["dedupe_key"] is None and arguments["concurrency_key"] is None and not arguments["heartbeat_timeout"]:
            alike.setdefault(repr({**arguments, "payload": None}), []).append(n)
        else:
            keyed.append(n)
    for numbers in alike.values():
        payloads = "[" + ",".join(wanted[n]["payload"] for n in numbers) + "]"
        common = wanted[numbers[0]]
        made = await enqueue.many(tx, common, pieces=[{"payloads": payloads, "dedupe_keys": None, "count": len(numbers)}])
        found.update(zip(numbers, made, strict=True))
    # two batches with the same keys must not wait for each other
    for n in sorted(keyed, key=lambda n: (wanted[n]["kind"], wanted[n]["dedupe_key"] or "")):
        found[n] = await enqueue.one(tx, wanted[n])
    return [found[n] for n in range(len(wanted))]


def _why_not_redriven(state: str) -> str:
    if state == "completed":
        return "the task completed; enqueue a new one to do it again"
    if state in ("failed", "timed_out", "cancelled"):
        return (
            "a newer task with the same dedupe key has taken its place (redrive it when that one has ended), or its retry "
            "policy says that it must never begin twice (lost=False)"
        )
    return f"the task has not ended (it is {state}); only failed, timed out and cancelled tasks are redriven"


_NEW = {"kind": "send_email", "payload": {"to": "ada@example.com"}, "delay": 60}
_MADE = {"id": task_shape.EXAMPLE["id"], "created": True}

OPERATIONS = (
    Operation(
        "POST", "/v1/tasks", action="task.create", handler=create, summary="Enqueue a task",
        description="With `check` a kind that no live worker serves is refused.",
        body=NewTask, answer=Made, status=201, also={200: "A task with this dedupe key is there already: this one."},
        errors=("INVALID_NAME", "INVALID_PAYLOAD", "UNKNOWN_KIND"), idempotent=True, example=_NEW, answer_example=_MADE,
    ),
    Operation(
        "POST", "/v1/tasks/batch", action="task.create", handler=create_many, summary="Enqueue many tasks, or none",
        description=f"Up to {MOST} tasks in one transaction: if one is not valid, none is enqueued.",
        body=NewTasks, answer=MadeMany, status=201, errors=("INVALID_NAME", "INVALID_PAYLOAD", "UNKNOWN_KIND"),
        idempotent=True, example={"tasks": [_NEW]}, answer_example={"items": [_MADE]},
    ),
    Operation(
        "GET", "/v1/tasks/{id:uuid}", action="task.read", handler=get, summary="Look at a task", answer=Task, etag=True,
        errors=("NOT_FOUND",), answer_example=task_shape.EXAMPLE,
    ),
    Operation(
        "POST", "/v1/tasks/{id:uuid}/cancel", action="task.cancel", handler=cancel, summary="Cancel a task",
        description="A queued task ends at once; a running one is told, and ends by force after 30 seconds.",
        answer=Cancelled, errors=("NOT_FOUND",), answer_example={"id": _MADE["id"], "outcome": "cancelled"},
    ),
    Operation(
        "POST", "/v1/tasks/{id:uuid}/redrive", action="task.redrive", handler=redrive,
        summary="Queue a task again that failed, timed out or was cancelled",
        description="The same task with its attempts counted anew; its past is kept.",
        answer=Task, errors=("NOT_FOUND", "CONFLICT"),
        answer_example={**task_shape.EXAMPLE, "state": "ready", "finished_at": None, "result": None},
    ),
    Operation(
        "GET", "/v1/tasks/{id:uuid}/explain", action="task.read", handler=explained, summary="Why a task is not running",
        answer=Explanation, errors=("NOT_FOUND",),
        answer_example={"code": "paused", "summary": "the queue 'default' is paused; resume it",
                        "reasons": ["the queue 'default' is paused; resume it"]},
    ),
)  # fmt: skip
