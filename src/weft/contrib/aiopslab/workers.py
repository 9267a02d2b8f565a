"""Workers: they introduce themselves, beat, and are given problems. A worker is a node of the cluster."""

import uuid
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from weft.base import errors, json
from weft.cluster import nodes
from weft.cluster.model import Node, Vitals
from weft.contrib.aiopslab import globs
from weft.contrib.aiopslab.model import KIND, OFFLINE, QUEUE, Capabilities, Heartbeat, NewWorker, Worker, WorkerQuery
from weft.db import statements
from weft.db.tx import Tx
from weft.journal import record
from weft.queue import limits, remote
from weft.queue.lanes import Lane

SQL = statements.load("weft.contrib.aiopslab")


async def register(tx: Tx, *, org: uuid.UUID, wanted: NewWorker, actor: str) -> Worker:
    """A worker that is new here. Conflict if its name is taken; its owner may then go on with heartbeats."""
    try:
        can = msgspec.convert({name: _whole(value) for name, value in wanted.capabilities.items()}, Capabilities)
    except msgspec.ValidationError as error:
        raise errors.InvalidInput(f"capabilities are not valid: {error}") from None
    node = _node(org, wanted, can=can)
    arguments = {
        "org": org, "id": wanted.id, "node_id": node.id, "backend_type": wanted.backend_type,
        "capabilities": json.text({**wanted.capabilities, **msgspec.to_builtins(can)}, what="capabilities"),
        "metadata": json.text(wanted.metadata, what="metadata"),
    }  # fmt: skip
    if await tx.value(SQL.register_worker, arguments) is None:
        raise errors.Conflict(f"{wanted.id} is registered already; if that was you, go on with heartbeats", id=wanted.id)
    await nodes.register(tx, node=node, liveness=None)
    await nodes.beat(tx, node_id=node.id, vitals=Vitals())
    await record.record(
        tx, org_id=org, actor=actor, action="worker.register", object_type="worker", object_id=wanted.id,
        after={"backend_type": wanted.backend_type},
    )  # fmt: skip
    return await get(tx, org=org, id=wanted.id)


async def heartbeat(tx: Tx, *, org: uuid.UUID, told: Heartbeat) -> tuple[list[uuid.UUID], uuid.UUID | None]:
    """A sign of life, which keeps what the worker runs. Answers that, and the next task if the worker is free for one."""
    held = await _hold(tx, org=org, id=told.worker_id)
    await _beat(tx, org=org, id=told.worker_id, node_id=held[0])
    claimed = await _claim(tx, org=org, id=told.worker_id, held=held) if told.status == "idle" else None
    worker = await get(tx, org=org, id=told.worker_id)
    return worker.running_task_ids, claimed


async def claim(tx: Tx, *, org: uuid.UUID, id: str) -> uuid.UUID | None:
    """The next task for a worker, which is then its own. Conflict if the worker is offline or has no place for it."""
    _must_be_free(await get(tx, org=org, id=id))
    # idle workers ask again and again: then this is all that it costs
    if not await tx.value(SQL.problems_wait, {"org": org, "queue": QUEUE}):
        return None
    held = await _hold(tx, org=org, id=id)
    _must_be_free(await get(tx, org=org, id=id))
    await _beat(tx, org=org, id=id, node_id=held[0])
    return await _claim(tx, org=org, id=id, held=held)


async def get(tx: Tx, *, org: uuid.UUID, id: str) -> Worker:
    found = await tx.row(SQL.list_workers, {"org": org, "id": id, "status": None, "backend_type": None})
    if found is None:
        raise errors.NotFound(f"there is no worker {id[:80]!r}")
    return _worker(found)


async def known(tx: Tx, *, org: uuid.UUID, query: WorkerQuery) -> list[Worker]:
    arguments = {"org": org, "id": None, "status": query.status, "backend_type": query.backend_type}
    return [_worker(row) for row in await tx.rows(SQL.list_workers, arguments)]


async def counts(tx: Tx, *, org: uuid.UUID) -> dict[str, int]:
    """How many workers there are of each status."""
    return {status: count for status, count in await tx.rows(SQL.fleet_counts, {"org": org})}


def _must_be_free(worker: Worker) -> None:
    if worker.status == "offline":
        raise errors.Conflict(f"{worker.id} is offline; send a heartbeat first", status=worker.status)
    if worker.status == "busy":
        raise errors.Conflict(f"{worker.id} is busy; it runs as many tasks as it can", status=worker.status)


async def _hold(tx: Tx, *, org: uuid.UUID, id: str) -> Sequence[Any]:
    found = await tx.row(SQL.hold_worker, {"org": org, "id": id})
    if found is None:
        raise errors.NotFound(f"there is no worker {id[:80]!r}; register it first")
    return found


async def _beat(tx: Tx, *, org: uuid.UUID, id: str, node_id: str) -> None:
    answer = await nodes.beat(tx, node_id=node_id, vitals=Vitals())
    if answer.previous is None:
        # the cluster has forgotten it, we have not
        await nodes.register(tx, node=Node(**_named(org, id), lease=OFFLINE), liveness=None)
        await nodes.beat(tx, node_id=node_id, vitals=Vitals())
    await tx.run(SQL.keep_leases, {"node_id": node_id, "org": org, "lease": OFFLINE})


async def _claim(tx: Tx, *, org: uuid.UUID, id: str, held: Sequence[Any]) -> uuid.UUID | None:
    node_id, backend_type, capabilities = held
    # counted in a statement after the lock on the worker
    running = (await get(tx, org=org, id=id)).running_task_ids
    if len(running) >= capabilities["max_parallel_tasks"]:
        return None

    async def pick(most: int) -> list[str]:
        arguments = {
            "org": org, "queue": QUEUE, "kind": KIND, "backend_type": backend_type, "take": most,
            "patterns": globs.patterns(capabilities.get("supported_problems", ())),
        }  # fmt: skip
        return [row[0] for row in await tx.rows(SQL.pick, arguments)]

    taken = await limits.claim_picked(
        tx, node_id=node_id, token=remote.lease_token(node=node_id, claim=None), want=1, pick=pick, lease=OFFLINE,
        lane=Lane(QUEUE, str(org), True),
    )  # fmt: skip
    if not taken.tasks:
        return None
    [task] = taken.tasks
    await tx.run(SQL.assign, {"org": org, "ids": [task.id], "worker_id": id})
    return uuid.UUID(task.id)


def _whole(value: Any) -> Any:
    """To JSON 2.0 is a whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _node(org: uuid.UUID, wanted: NewWorker, *, can: Capabilities) -> Node:
    version = wanted.metadata.get("version")
    named = _named(org, wanted.id, version=version if isinstance(version, str) else "")
    return Node(**named, concurrency=can.max_parallel_tasks, lease=OFFLINE)


def _named(org: uuid.UUID, id: str, *, version: str = "") -> dict[str, Any]:
    return {
        "id": remote.node_id(org=str(org), worker=f"aiopslab {id}"), "org": str(org), "hostname": id, "ip_address": "",
        "pid": 0, "version": version[:80], "roles": ("worker",), "queues": (QUEUE,), "handlers": (KIND,),
    }  # fmt: skip


def _worker(row: Sequence[Any]) -> Worker:
    names = ("id", "backend_type", "status", "last_heartbeat", "current_task_id", "capabilities", "metadata",
             "registered_at", "tasks_completed", "tasks_failed", "running_task_ids")  # fmt: skip
    found = dict(zip(names, row, strict=True))
    found["current_task_id"] = UNSET if found["current_task_id"] is None else found["current_task_id"]
    return Worker(**found)
