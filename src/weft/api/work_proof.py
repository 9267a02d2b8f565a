"""Whose attempt is meant: from what an item says, and the credential it came with, to a proof or a refusal.

a task token, in the header or in the item        signed by us: task, attempt, lease and org are true
a worker key and {task_id, attempt, lease_token}  to be compared with the row
"""

import dataclasses
from typing import Any

from weft.api.operation import Call
from weft.api.work_desk import Desk
from weft.api.worker_types import Attempt
from weft.base import errors
from weft.queue.tokens import Proof

_HOW = "send the task's token (Authorization: Bearer weftt_…), or a worker key with task_id, attempt and lease_token"


@dataclasses.dataclass(frozen=True, slots=True)
class Proven:
    """An attempt somebody speaks of. `signed`: we said ourselves that it is theirs."""

    proof: Proof
    signed: bool
    token: str | None = None


def desk(call: Call[Any, Any]) -> Desk:
    found: Desk = call.service.desk
    return found


def bearer(call: Call[Any, Any]) -> str:
    return call.headers.get("authorization", "").partition(" ")[2].strip()


def by(call: Call[Any, Any]) -> str | None:
    """The key it came with."""
    return None if call.principal.key is None else str(call.principal.key)


async def of(call: Call[Any, Any], item: Attempt, *, header: bool = False) -> Proven:
    """What is proven of an item; `header`: it is the request's only one, so the header's token may speak for it."""
    token = item.token
    if token is None and header and call.principal.role == "attempt":
        token = bearer(call)
    if token is None:
        return _unsigned(call, item)
    proof = await desk(call).tokens.verify(token)
    if proof.org != str(call.principal.org):
        raise errors.Forbidden("the task token belongs to another org than the key it was sent with")
    if item.task_id is not None and str(item.task_id) != proof.task:
        raise errors.Forbidden(f"the token is not that of task {item.task_id}; use the one that came with its claim")
    if (item.attempt is not None and item.attempt != proof.attempt) or (
        item.lease_token is not None and str(item.lease_token) != proof.lease
    ):
        raise errors.LeaseLost("the token is that of another attempt of this task; nothing was changed")
    return Proven(proof, True, token)


def _unsigned(call: Call[Any, Any], item: Attempt) -> Proven:
    if call.principal.role != "worker":
        raise errors.Unauthenticated(f"whose attempt is meant is not proven; {_HOW}")
    if item.task_id is None or item.attempt is None or item.lease_token is None:
        raise errors.InvalidInput(f"which attempt is meant is not said; {_HOW}")
    proof = Proof(str(item.task_id), item.attempt, str(item.lease_token), str(call.principal.org), 0.0, by=by(call))
    return Proven(proof, False)
