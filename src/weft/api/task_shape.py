"""A task as the API shows it: from the kernel's view to JSON, in this one place."""

import datetime as dt
import uuid
from typing import Any

import msgspec

from weft.queue.model import FinalState, LiveState, Reason, TaskView


class Task(msgspec.Struct, kw_only=True):
    """A task, unfinished or finished. `scheduled`, `blocked` and `ready` are the three ways of being queued."""

    id: uuid.UUID
    kind: str
    queue: str
    state: LiveState | FinalState
    reason: Reason | None
    """Why it ended so, where the state alone does not say; `dead` and `lost` are on the dead letter list."""
    priority: int
    attempt: int
    """The attempt that runs or ran last; 0: none has begun."""
    max_attempts: int | None
    """None: what its handler declares, else 3."""
    losses: int
    created_at: dt.datetime
    run_at: dt.datetime
    claimed_at: dt.datetime | None
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    cancel_requested_at: dt.datetime | None
    node_id: uuid.UUID | None
    capabilities: list[str]
    tags: list[str]
    concurrency_key: str | None
    concurrency: int | None
    dedupe_key: str | None
    timeout: float | None
    """Seconds."""
    parent_id: uuid.UUID | None
    run_id: uuid.UUID | None
    correlation_id: str | None
    progress: int | None
    progress_message: str | None
    payload: dict[str, Any]
    result: Any
    error: dict[str, Any] | None
    attempts: list[dict[str, Any]]
    """Ended attempts before this one."""


EXAMPLE: dict[str, Any] = {
    "id": "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f", "kind": "send_email", "queue": "default", "state": "completed",
    "reason": None, "priority": 50, "attempt": 1, "max_attempts": None, "losses": 0,
    "created_at": "2026-01-05T09:30:00Z", "run_at": "2026-01-05T09:30:00Z", "claimed_at": "2026-01-05T09:30:00.012Z",
    "started_at": "2026-01-05T09:30:00.014Z", "finished_at": "2026-01-05T09:30:00.420Z", "cancel_requested_at": None,
    "node_id": "0f8fad5b-d9cb-469f-a165-70867728950e", "capabilities": [], "tags": [], "concurrency_key": None,
    "concurrency": None, "dedupe_key": None, "timeout": None, "parent_id": None, "run_id": None, "correlation_id": None,
    "progress": None, "progress_message": None, "payload": {"to": "ada@example.com"}, "result": {"sent": True},
    "error": None, "attempts": [],
}  # fmt: skip


def shown(view: TaskView) -> Task:
    """A task for whoever may see it."""
    return Task(
        id=view.id, kind=view.kind, queue=view.queue, state=view.state, reason=view.reason, priority=view.priority,
        attempt=view.attempt, max_attempts=view.max_attempts, losses=view.losses, created_at=view.created_at,
        run_at=view.run_at, claimed_at=view.claimed_at, started_at=view.started_at, finished_at=view.finished_at,
        cancel_requested_at=view.cancel_requested_at, node_id=view.node_id, capabilities=view.lane.split("+")[1:],
        tags=view.tags or [], concurrency_key=view.concurrency_key, concurrency=view.concurrency,
        dedupe_key=view.dedupe_key, timeout=None if view.timeout is None else view.timeout.total_seconds(),
        parent_id=view.parent_id, run_id=view.run_id, correlation_id=view.correlation_id, progress=view.progress,
        progress_message=view.progress_message, payload=view.payload, result=view.result, error=view.error,
        attempts=view.attempts or [],
    )  # fmt: skip
