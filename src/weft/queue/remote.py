"""What HTTP workers do with the tasks they hold, but for ending them: extend, fetch, name their claims. All fenced."""

import datetime as dt
import hashlib
import secrets
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from weft.db import statements
from weft.db.tx import Tx
from weft.queue.lease import Progress

SQL = statements.load("weft.queue")

LEASE = dt.timedelta(seconds=120)
"""How long after its last heartbeat a task is taken from an HTTP worker, unless the task says otherwise."""

HEARTBEAT = dt.timedelta(seconds=30)

_NODES = uuid.UUID("6b1f9d2e-4f0e-5c0a-9d0b-3a8a9f6f7c11")
_BATCH = 1000


class Extended(NamedTuple):
    """A lease that began anew, and what its worker should know."""

    id: str
    org: str
    attempt: int
    node_id: str
    cancelled: bool
    overdue: bool
    """It runs longer than its timeout."""
    timeout: float | None
    lease: float
    """Seconds."""


class Fetched(NamedTuple):
    """A task as its holder may see it."""

    id: str
    org: str
    kind: str
    queue: str
    payload: str
    attempt: int
    token: str
    run_at: dt.datetime
    timeout: float | None
    heartbeat_timeout: float | None
    losses: int
    correlation_id: str | None
    trace_parent: str | None
    tags: list[str] | None
    cancelled: bool
    concurrency_key: str | None
    run_id: str | None


def node_id(*, org: str, worker: str) -> str:
    """The node an HTTP worker is: the same name of the same org is the same node, whichever server it asks."""
    return str(uuid.uuid5(_NODES, f"{org} {worker}"))


def lease_token(*, node: str, claim: str | None) -> str:
    """A token nobody can guess, which begins with what the worker called its claim, so that it can be given back."""
    first = _first(node, claim) if claim is not None else secrets.token_bytes(8)
    return str(uuid.UUID(bytes=first + secrets.token_bytes(8)))


async def extend(tx: Tx, reports: Sequence[Progress], *, lease: dt.timedelta = LEASE) -> dict[str, Extended]:
    """Begins leases anew and writes progress; answers those that are still held, by id."""
    ids, tokens, percents, messages, started = map(list, zip(*sorted(reports), strict=True))
    arguments = {
        "ids": ids, "tokens": tokens, "progress": percents, "messages": messages, "started": started, "lease": lease,
    }  # fmt: skip
    return {row[0]: Extended(*row) for row in await tx.rows(SQL.extend_leases, arguments)}


async def fetch(tx: Tx, *, id: str, token: str) -> Fetched | None:
    row = await tx.row(SQL.fetch_held, {"id": id, "token": token})
    return None if row is None else Fetched(*row)


async def of_claims(tx: Tx, *, node: str, claims: Sequence[str]) -> list[str]:
    """What these claims of a worker took, its rows locked."""
    firsts = [_first(node, claim) for claim in claims]
    arguments = {
        "first": [uuid.UUID(bytes=one + bytes(8)) for one in firsts],
        "last": [uuid.UUID(bytes=one + b"\xff" * 8) for one in firsts],
        "node_id": node, "take": _BATCH,
    }  # fmt: skip
    return [row[0] for row in await tx.rows(SQL.tasks_of_claim_names, arguments)]


def _first(node: str, claim: str) -> bytes:
    return hashlib.sha256(f"{node} {claim}".encode()).digest()[:8]
