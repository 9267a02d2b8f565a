"""`/tasks`: submit, list, look at, cancel; logs, what was said, statistics."""

from msgspec import UNSET

from weft.api import pages
from weft.api.operation import Answer, Call, Operation
from weft.base import errors
from weft.contrib.aiopslab import tasks
from weft.contrib.aiopslab.model import (
    Conversation,
    LogQuery,
    Logs,
    NewTask,
    OneQuery,
    Place,
    Statistics,
    TaskDetails,
    TaskQuery,
    Tasks,
)  # fmt: skip

_ID = "0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55"
_NEW = {"problem_id": "k8s_target_port-misconfig-detection-1", "max_steps": 20, "metadata": {"team": "sre"}, "priority": 7}
_TASK = {
    "id": _ID, "problem_id": _NEW["problem_id"], "status": "pending",
    "parameters": {
        "agent_config": {}, "max_steps": 20, "timeout_minutes": 30, "metadata": {"team": "sre"}, "priority": 7,
    },
    "created_at": "2026-01-05T09:30:00Z", "updated_at": "2026-01-05T09:30:00Z",
}  # fmt: skip


async def create(call: Call[NewTask, None]) -> Answer:
    org = call.principal.org
    async with call.tx() as tx:
        id = await tasks.create(tx, org=org, wanted=call.body, actor=call.principal.actor)
        made = await tasks.get(tx, org=org, id=id)
    return Answer(body=made, headers={"location": f"tasks/{id}"})


async def listed(call: Call[None, TaskQuery]) -> Tasks:
    query = call.query
    if query.cursor is not None and query.offset:
        raise errors.InvalidInput("cursor and offset both say where to begin; give one of them")
    after = None if query.cursor is None else pages.decode(query.cursor, Place)
    async with call.tx() as tx:
        found, total, end = await tasks.page(tx, org=call.principal.org, query=query, after=after)
    following = UNSET if end is None else pages.encode(end)
    return Tasks(tasks=found, total=total, limit=query.limit, offset=query.offset, next_cursor=following)


async def one(call: Call[None, OneQuery]) -> TaskDetails:
    async with call.tx() as tx:
        return await tasks.get(tx, org=call.principal.org, id=call.id, include_logs=call.query.include_logs)


async def cancel(call: Call[None, None]) -> TaskDetails:
    async with call.tx() as tx:
        return await tasks.cancel(tx, org=call.principal.org, id=call.id, actor=call.principal.actor)


async def logs(call: Call[None, LogQuery]) -> Logs:
    org = call.principal.org
    async with call.tx() as tx:
        await tasks.get(tx, org=org, id=call.id)
        return Logs(task_id=call.id, logs=await tasks.read_logs(tx, org=org, id=call.id, query=call.query))


async def conversation(call: Call[None, None]) -> Conversation:
    org = call.principal.org
    async with call.tx() as tx:
        await tasks.get(tx, org=org, id=call.id)
        return Conversation(task_id=call.id, messages=await tasks.read_messages(tx, org=org, id=call.id))


async def statistics(call: Call[None, None]) -> Statistics:
    async with call.tx() as tx:
        return await tasks.statistics(tx, org=call.principal.org)


OPERATIONS = (
    Operation(
        "POST", "/tasks", action="task.create", handler=create, summary="Submit a problem", body=NewTask,
        answer=TaskDetails, status=201, idempotent=True, example=_NEW, answer_example=_TASK,
        description="It waits until a free worker takes it. With `metadata.backend_type` only workers of that backend do.",
    ),
    Operation(
        "GET", "/tasks", action="task.read", handler=listed, summary="List tasks", query=TaskQuery, answer=Tasks,
        example={"status": "running", "sort": "-priority,created_at"},
    ),
    Operation(
        "GET", "/tasks/stats", action="task.read", handler=statistics, summary="Statistics of the last 24 hours",
        answer=Statistics,
    ),
    Operation(
        "GET", "/tasks/{id:uuid}", action="task.read", handler=one, summary="One task, and what came of it",
        query=OneQuery, answer=TaskDetails,
    ),
    Operation(
        "DELETE", "/tasks/{id:uuid}", action="task.cancel", handler=cancel, summary="Cancel a task", answer=TaskDetails,
        errors=("CONFLICT",),
        description="It has failed then, with `error_details` \"cancelled by request\"; if it runs, its worker stops it.",
    ),
    Operation(
        "GET", "/tasks/{id:uuid}/logs", action="task.read", handler=logs, summary="The log of a task", query=LogQuery,
        answer=Logs, description=f"At most {tasks.MOST_LINES:,} lines, oldest first; go on with `since`.",
    ),
    Operation(
        "GET", "/tasks/{id:uuid}/conversation", action="task.read", handler=conversation, answer=Conversation,
        summary="What the agent and its model said to each other",
    ),
)  # fmt: skip
