"""`/workers`: who they are, their heartbeat, and what they do. As the engine, because nodes and leases are its own."""

import uuid
from typing import Any

from msgspec import UNSET

from weft.api.operation import Answer, Call, Operation
from weft.contrib.aiopslab import tasks, work, workers
from weft.contrib.aiopslab.model import (
    Beaten,
    Completed,
    Failed,
    Heartbeat,
    Kept,
    NewLogs,
    NewMessages,
    NewWorker,
    TaskDetails,
    Worker,
    WorkerQuery,
    Workers,
)  # fmt: skip

_ID = "0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55"
_WORKER = {
    "id": "worker-001-kind", "backend_type": "default",
    "capabilities": {"max_parallel_tasks": 1, "supported_problems": ["k8s_*"]},
    "metadata": {"host": "lab-1", "version": "0.1.0", "kind_cluster": "kind-1"},
}  # fmt: skip


async def register(call: Call[NewWorker, None]) -> Worker:
    async with call.engine_tx() as tx:
        return await workers.register(tx, org=call.principal.org, wanted=call.body, actor=call.principal.actor)


async def heartbeat(call: Call[Heartbeat, None]) -> Beaten:
    async with call.engine_tx() as tx:
        running, claimed = await workers.heartbeat(tx, org=call.principal.org, told=call.body)
        task = UNSET if claimed is None else await tasks.get(tx, org=call.principal.org, id=claimed)
    return Beaten(acknowledged=True, running_task_ids=running, next_task_id=claimed or UNSET, next_task=task)


async def listed(call: Call[None, WorkerQuery]) -> Workers:
    async with call.tx() as tx:
        found = await workers.known(tx, org=call.principal.org, query=call.query)
    return Workers(workers=found, total=len(found))


async def one(call: Call[None, None]) -> Worker:
    async with call.tx() as tx:
        return await workers.get(tx, org=call.principal.org, id=call.path["worker"])


async def claim(call: Call[None, None]) -> Answer:
    org = call.principal.org
    async with call.engine_tx() as tx:
        claimed = await workers.claim(tx, org=org, id=call.path["worker"])
        if claimed is None:
            return Answer(body=b"", status=204)
        return Answer(body=await tasks.get(tx, org=org, id=claimed))


async def log(call: Call[NewLogs, None]) -> Kept:
    async with call.engine_tx() as tx:
        return Kept(accepted=await work.log(tx, **_place(call), lines=call.body.logs))


async def converse(call: Call[NewMessages, None]) -> Kept:
    async with call.engine_tx() as tx:
        return Kept(accepted=await work.converse(tx, **_place(call), messages=call.body.messages))


async def complete(call: Call[Completed, None]) -> TaskDetails:
    async with call.engine_tx() as tx:
        await work.complete(tx, **_place(call), told=call.body)
        return await tasks.get(tx, org=call.principal.org, id=call.path["task"])


async def fail(call: Call[Failed, None]) -> TaskDetails:
    async with call.engine_tx() as tx:
        await work.fail(tx, **_place(call), told=call.body)
        return await tasks.get(tx, org=call.principal.org, id=call.path["task"])


def _place(call: Call[Any, Any]) -> dict[str, Any]:
    task: uuid.UUID = call.path["task"]
    return {"org": call.principal.org, "worker": call.path["worker"], "task": task}


OPERATIONS = (
    Operation(
        "POST", "/workers/register", action="work.claim", handler=register, summary="Introduce a worker", body=NewWorker,
        answer=Worker, status=201, errors=("CONFLICT",), example=_WORKER,
        description="A worker that was registered before (409) goes on with heartbeats.",
    ),
    Operation(
        "POST", "/workers/heartbeat", action="work.claim", handler=heartbeat, summary="A sign of life", body=Heartbeat,
        answer=Beaten, errors=("NOT_FOUND",), example={"worker_id": "worker-001-kind", "status": "idle"},
        answer_example={"acknowledged": True, "running_task_ids": [_ID], "next_task_id": _ID},
        description="Send one every 30 seconds; after 60 without one the worker is offline, and what it runs has failed.",
    ),
    Operation(
        "GET", "/workers", action="node.read", handler=listed, summary="List workers", query=WorkerQuery, answer=Workers,
        example={"status": "idle"},
    ),
    Operation("GET", "/workers/{worker}", action="node.read", handler=one, summary="One worker", answer=Worker),
    Operation(
        "POST", "/workers/{worker}/claim", action="work.claim", handler=claim, summary="Take the next task",
        answer=TaskDetails, also={204: "There is none for this worker."}, errors=("CONFLICT",),
        description="The one with the highest priority, of these the oldest. Not if the worker is offline or busy (409).",
    ),
    Operation(
        "POST", "/workers/{worker}/tasks/{task:uuid}/logs", action="work.claim", handler=log, answer=Kept, body=NewLogs,
        summary="Log", errors=("CONFLICT",),
        example={"logs": [{"level": "info", "message": "looking at the pods", "context": {"step": 1, "action": "shell"}}]},
    ),
    Operation(
        "POST", "/workers/{worker}/tasks/{task:uuid}/conversation", action="work.claim", handler=converse, answer=Kept,
        body=NewMessages, summary="Keep what the agent and its model said", errors=("CONFLICT",),
        example={"messages": [{"role": "assistant", "content": "exec_shell(\"kubectl get pods\")"}]},
    ),
    Operation(
        "POST", "/workers/{worker}/tasks/{task:uuid}/complete", action="work.claim", handler=complete, body=Completed,
        answer=TaskDetails, summary="Complete a task", errors=("CONFLICT",),
        example={"output": {"solved": True}, "metrics": {"steps": 6}},
        description="Unsolved is completed too. After the task's time it counts as `timeout`.",
    ),
    Operation(
        "POST", "/workers/{worker}/tasks/{task:uuid}/fail", action="work.claim", handler=fail, body=Failed,
        answer=TaskDetails, summary="Give a task up", errors=("CONFLICT",),
        example={"error": "the cluster cannot be reached"},
    ),
)  # fmt: skip
