"""`/v1/executions`, and those of a job: what became of each time. Logs are those of the task, which has the same id."""

import datetime as dt
from typing import Annotated

import msgspec

from weft.api import job_shape, pages, task_output
from weft.api.job_shape import Execution
from weft.api.operation import Call, Operation, Stream
from weft.api.task_output import FollowQuery, Line
from weft.base import errors
from weft.jobs import executions, manage
from weft.jobs.model import Execution as KernelExecution
from weft.jobs.model import ExecutionStatus
from weft.journal import record
from weft.settle import rescue


class ExecutionQuery(pages.Paging, forbid_unknown_fields=True, kw_only=True):
    """Which executions of a job."""

    status: ExecutionStatus | None = None


class ExecutionPlace(msgspec.Struct, frozen=True):
    """Where a page of executions ended."""

    time: Annotated[dt.datetime, msgspec.Meta(tz=True)]
    key: str


async def page(call: Call[None, ExecutionQuery]) -> pages.Page[Execution]:
    org = call.principal.org
    place = call.query.place(ExecutionPlace)
    async with call.tx() as tx:
        await manage.get(tx, id=call.id, org=org)
        found, end = await executions.page(
            tx, job_id=call.id, org=org, status=call.query.status, limit=call.query.limit,
            before=None if place is None else (place.time, place.key),
        )  # fmt: skip
    cursor = None if end is None else pages.encode(ExecutionPlace(*end))
    return pages.Page(items=[job_shape.execution(one) for one in found], next_cursor=cursor)


async def get(call: Call[None, None]) -> Execution:
    return job_shape.execution(await _one(call))


async def cancel(call: Call[None, None]) -> Execution:
    org = call.principal.org
    async with call.tx() as tx:
        before = await executions.get(tx, id=call.id, org=org)
        if before.status == "CANCELLED":
            return job_shape.execution(before)
        outcome = "finished" if before.ended else await rescue.cancel_one(tx, id=call.id, org=org)
        if outcome not in ("cancelled", "cancelling"):
            raise errors.Conflict(f"the execution has ended: {before.status}", status=before.status)
        await record.record(
            tx, org_id=org, actor=call.principal.actor, action="execution.cancel", object_type="execution",
            object_id=str(call.id), after={"outcome": outcome},
        )  # fmt: skip
        return job_shape.execution(await executions.get(tx, id=call.id, org=org))


async def logs(call: Call[None, pages.Paging]) -> pages.Page[Line]:
    if (await _one(call)).skipped:
        return pages.Page(items=[], next_cursor=None)
    return await task_output.logs(call)


async def follow(call: Call[None, FollowQuery]) -> Stream:
    if (await _one(call)).skipped:
        raise errors.NotFound("the execution was skipped, so there is nothing to follow")
    return await task_output.follow(call)


async def _one(call: Call[None, object]) -> KernelExecution:
    async with call.tx() as tx:
        return await executions.get(tx, id=call.id, org=call.principal.org)


OPERATIONS = (
    Operation(
        "GET", "/v1/jobs/{id:uuid}/executions", action="execution.read", handler=page,
        summary="A job's executions, latest time first",
        description="A page looks at no more than 5,000 of them: with a status that few have it may be short or empty; go "
        "on with `next_cursor`.",
        query=ExecutionQuery, answer=pages.Page[Execution], errors=("JOB_NOT_FOUND",), example={"status": "FAILED"},
        answer_example={"items": [job_shape.EXECUTION], "next_cursor": None},
    ),
    Operation(
        "GET", "/v1/executions/{id:uuid}", action="execution.read", handler=get, summary="Look at an execution",
        answer=Execution, errors=("NOT_FOUND",), answer_example=job_shape.EXECUTION,
    ),
    Operation(
        "POST", "/v1/executions/{id:uuid}/cancel", action="execution.cancel", handler=cancel,
        summary="Cancel an execution",
        description="One that waits ends at once; one that runs is told (`cancelling`), and ends by force after 30 seconds.",
        answer=Execution, errors=("NOT_FOUND", "CONFLICT"), answer_example={**job_shape.EXECUTION, "status": "CANCELLED"},
    ),
    Operation(
        "GET", "/v1/executions/{id:uuid}/logs", action="execution.read", handler=logs,
        summary="What an execution logged, oldest first", query=pages.Paging, answer=pages.Page[Line],
        errors=("NOT_FOUND",), answer_example={"items": [task_output.LINE], "next_cursor": None},
    ),
    Operation(
        "GET", "/v1/executions/{id:uuid}/logs/stream", action="execution.read", handler=follow,
        summary="What an execution logs, as it does",
        description="Server-sent events: `log` with a line, `end` when it has ended. Resume with Last-Event-ID.",
        query=FollowQuery, stream=True, media_type="text/event-stream", errors=("NOT_FOUND", "RATE_LIMITED"),
    ),
)  # fmt: skip
