"""`/v1/task/…`: how workers without a database take part, in any language. docs/concepts/http-workers.md tells the story.

A claim needs a worker key. Everything else is said about an attempt and needs its token (`work_proof.py`), one at a time
or many in one request, where each item gets the verdict it would have got alone: a batch never fails as a whole.

All of it runs as the engine, which claims and settles: the org is that of the credential, and the token fences.
"""

from typing import Any

import msgspec

from weft.api import work_claims, work_proof, work_reports
from weft.api.operation import Call, Operation
from weft.api.work_claims import Asked, Wish
from weft.api.worker_types import (
    Attempt,
    Claim,
    ClaimedTask,
    ClaimedTasks,
    Complete,
    Fail,
    Heartbeat,
    NewLog,
    Report,
    Which,
)  # fmt: skip
from weft.base import errors
from weft.flows import facets
from weft.queue import remote, tokens
from weft.queue.model import Claimed
from weft.queue.tokens import Keys, Proof

MAX_PAYLOADS = 8 * 1024 * 1024
"""Bytes of payloads in one answer; those beyond are left out, and fetched one by one."""

_REPORTS = ("LEASE_LOST",)


async def claim(call: Call[Claim, None]) -> ClaimedTasks:
    """Takes tasks of the key's org, waiting for them if it is asked to."""
    desk, body, org = work_proof.desk(call), call.body, str(call.principal.org)
    kinds = {*body.kinds}
    if body.shorts:
        async with call.database.once() as tx:
            kinds |= await facets.named(tx, body.shorts, org=call.principal.org)
    wish = Wish(org, tuple(sorted(kinds)), frozenset(body.queues), frozenset(body.capabilities))
    node = work_claims.node(
        org=org, worker=body.worker, wish=wish, concurrency=body.concurrency or body.limit,
        version=_agent(call),
    )  # fmt: skip
    if body.unanswered:
        await desk.claims.give_back(node, body.unanswered)
    asked = Asked(
        node=node, wish=wish, limit=body.limit, idle=body.limit if body.idle is None else min(body.idle, body.limit),
        claim_id=body.claim_id, wait=body.wait,
    )  # fmt: skip
    keys = await desk.tokens.ready()
    if body.limit:
        taken = await desk.claims.claim(asked, left=call.left)
        try:
            await call.still()
        except (errors.Unauthenticated, errors.Forbidden):
            # revoked while it waited
            await desk.claims.take_back(taken)
            raise
    else:
        await desk.claims.seen(node)
        taken = []
    return ClaimedTasks(
        tasks=_handed_out(taken, keys, now=desk.tokens.now(), by=work_proof.by(call)), org=org,
        lease_seconds=remote.LEASE.total_seconds(), heartbeat_seconds=remote.HEARTBEAT.total_seconds(),
    )  # fmt: skip


async def fetch(call: Call[None, Which]) -> ClaimedTask:
    """The task of a token: its payload and all that a claim says of it."""
    which = Attempt(task_id=call.query.task_id, attempt=call.query.attempt, lease_token=call.query.lease_token)
    proven = await work_proof.of(call, which, header=True)
    proof = proven.proof
    async with call.database.once() as tx:
        found = await remote.fetch(tx, id=proof.task, token=proof.lease)
    if found is None or (found.org, found.attempt) != (proof.org, proof.attempt):
        raise errors.LeaseLost
    token = proven.token
    if token is None:
        signer = work_proof.desk(call).tokens
        keys = await signer.ready()
        token = keys.sign(_proof(found, exp=signer.now() + tokens.lifetime(found.timeout), by=work_proof.by(call)))
    return ClaimedTask(
        task_id=found.id, attempt=found.attempt, lease_token=found.token, token=token, kind=found.kind, queue=found.queue,
        lease_seconds=found.heartbeat_timeout or remote.LEASE.total_seconds(), payload=msgspec.Raw(found.payload.encode()),
        timeout=found.timeout, heartbeat_timeout=found.heartbeat_timeout, losses=found.losses,
        correlation_id=found.correlation_id, trace_parent=found.trace_parent, tags=found.tags, cancelled=found.cancelled,
    )  # fmt: skip


def _handed_out(tasks: list[Claimed], keys: Keys, *, now: float, by: str | None) -> list[ClaimedTask]:
    made: list[ClaimedTask] = []
    budget = MAX_PAYLOADS
    default = remote.LEASE.total_seconds()
    for task in tasks:
        rest = task.rest
        exp = now + tokens.lifetime(rest.timeout)
        proof = Proof(task.id, task.attempt, task.token, task.org, exp, rest.concurrency_key, by, rest.run_id is not None)
        one = ClaimedTask(
            task_id=task.id, attempt=task.attempt, lease_token=task.token, token=keys.sign(proof), kind=task.kind,
            queue=task.queue, lease_seconds=rest.heartbeat_timeout or default, timeout=rest.timeout,
            heartbeat_timeout=rest.heartbeat_timeout, losses=rest.losses, max_attempts=rest.max_attempts,
            concurrency_key=rest.concurrency_key, correlation_id=rest.correlation_id, trace_parent=rest.trace_parent,
            tags=rest.tags, run_id=rest.run_id, step_id=rest.step_id,
        )  # fmt: skip
        if len(task.payload) <= budget or not made:
            one.payload = msgspec.Raw(task.payload.encode())
            budget -= len(task.payload)
        made.append(one)
    return made


def _proof(found: remote.Fetched, *, exp: float, by: str | None) -> Proof:
    return Proof(found.id, found.attempt, found.token, found.org, exp, found.concurrency_key, by, found.run_id is not None)


def _agent(call: Call[Any, Any]) -> str:
    said = "".join(char for char in call.headers.get("user-agent", "") if char.isprintable())
    return f"http {said}".strip()[:128]


_ID = "0197e2a1-7c1e-7a52-9f3e-2b6f3c9a1d10"
_LEASE = "5d2f0c5e-93a1-4a55-8f0e-0c7f6f2b9a11"
_CLAIMED = {
    "tasks": [
        {
            "task_id": _ID, "attempt": 1, "lease_token": _LEASE, "token": "weftt_eyJhbGciOiJIUzI1NiIs…", "kind": "resize",
            "queue": "default", "lease_seconds": 120.0, "payload": {"url": "https://example.com/cat.jpg"},
        }
    ],
    "lease_seconds": 120.0,
    "heartbeat_seconds": 30.0,
    "org": "00000000-0000-7000-8000-000000000001",
}  # fmt: skip
_WHICH = {"task_id": _ID, "attempt": 1, "lease_token": _LEASE}

OPERATIONS = (
    Operation(
        "POST", "/v1/task/claim", action="work.claim", handler=claim, summary="Claim tasks to work on",
        description="Takes up to `limit` tasks of the worker key's org. With `wait` the answer comes when there is work, "
        "or when the time is up. Each task has a lease and a token.",
        body=Claim, answer=ClaimedTasks, answer_example=_CLAIMED,
        example={"worker": "ada-4711", "kinds": ["resize"], "limit": 10},
    ),
    Operation(
        "POST", "/v1/task/heartbeat", action="work.report", handler=work_reports.heartbeat,
        summary="Keep the lease of an attempt",
        description="Begins the lease anew, by the database's clock, and tells whether the attempt should stop.",
        body=Heartbeat, answer=Report, errors=_REPORTS, example={**_WHICH, "progress": 40},
        answer_example={"task_id": _ID, "attempt": 1, "lease_seconds": 120.0},
    ),
    Operation(
        "POST", "/v1/task/complete", action="work.report", handler=work_reports.complete,
        summary="Complete an attempt, or many",
        description="Said again with the same token it answers the same.",
        body=Complete, answer=Report, errors=_REPORTS, example={**_WHICH, "result": {"width": 640}},
        answer_example={"task_id": _ID, "attempt": 1, "state": "completed"},
    ),
    Operation(
        "POST", "/v1/task/fail", action="work.report", handler=work_reports.fail,
        summary="End an attempt that did not succeed, or many",
        description="What follows is decided as for every worker: retried by the policy, or dead, or, by `outcome`, "
        "discarded, snoozed, given back.",
        body=Fail, answer=Report, errors=_REPORTS,
        example={**_WHICH, "error": {"type": "Timeout", "message": "no answer from the camera"}},
        answer_example={"task_id": _ID, "attempt": 1, "state": "queued", "retry_in": 30.0},
    ),
    Operation(
        "POST", "/v1/task/log", action="work.report", handler=work_reports.log, summary="Keep log lines with a task",
        body=NewLog, answer=Report, errors=_REPORTS,
        example={**_WHICH, "lines": [{"message": "fetched", "level": "info", "fields": {"bytes": 51200}}]},
        answer_example={"task_id": _ID, "attempt": 1, "kept": 1},
    ),
    Operation(
        "GET", "/v1/task/fetch", action="work.report", handler=fetch, summary="Fetch the task of a token", query=Which,
        answer=ClaimedTask, errors=_REPORTS, answer_example=_CLAIMED["tasks"][0],  # type: ignore[index]
    ),
    Operation(
        "GET", "/internal/task-fetch", action="work.report", handler=fetch, summary="Another name of /v1/task/fetch",
        query=Which, answer=ClaimedTask, errors=_REPORTS,
    ),
)  # fmt: skip
