"""Why is it not running? The facts come in one row; the words are chosen here. Pure but for that one statement."""

import dataclasses
import datetime as dt
import uuid
from typing import Any

from weft.base import errors
from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.queue")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that can keep a task from running, in the order `explain` selects it."""

    state: str
    kind: str
    queue: str
    lane: str
    attempt: int
    losses: int
    run_at: dt.datetime
    due: bool
    concurrency_key: str | None
    concurrency: int | None
    node_id: str | None
    cancelling: bool
    paused: bool
    suspended: bool
    workers_of_queue: int
    workers_of_kind: int
    workers_able: int
    max_concurrent: int | None
    org_running: int
    queue_max: int | None
    queue_running: int
    queue_tokens: float | None
    key_running: int
    key_first: str | None
    ahead: int


@dataclasses.dataclass(frozen=True)
class Explanation:
    """One sentence for people, one word for programs, and every reason that applies."""

    code: str
    summary: str
    reasons: list[str]


_FIELDS = tuple(field.name for field in dataclasses.fields(Facts))


async def explain(tx: Tx, *, id: uuid.UUID, org: uuid.UUID) -> Explanation:
    """Why an unfinished task is not running; NotFound if it is not unfinished."""
    row: Any = await tx.row(SQL.explain, {"id": id, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no unfinished task {id}")
    return why(Facts(**dict(zip(_FIELDS, row, strict=True))), id=str(id))


def why(facts: Facts, *, id: str) -> Explanation:
    """The first reason is the one to fix first."""
    found = _reasons(facts, id=id)
    code, summary = found[0]
    return Explanation(code, summary, [text for _, text in found])


def _reasons(facts: Facts, *, id: str) -> list[tuple[str, str]]:
    if facts.cancelling:
        return [("cancelling", "it was cancelled and is about to end")]
    if facts.state == "running":
        return [("running", f"it is running: attempt {facts.attempt} on node {facts.node_id}")]
    found = []
    if not facts.due:
        what = "retry" if facts.attempt else "start"
        found.append(("not_due", f"its {what} is due at {facts.run_at.isoformat()}"))
    if facts.suspended:
        found.append(("suspended", "its org is suspended; whoever runs the server can lift that"))
    if facts.paused:
        found.append(("paused", f"the queue {facts.queue!r} is paused; resume it"))
    found += _workers(facts) + _limits(facts, id=id)
    if not found and facts.state == "scheduled":
        found.append(("promoting", "it is due and is about to be made ready (by the leader's promoter)"))
    if not found:
        many = "10,000 or more" if facts.ahead >= 10_000 else str(facts.ahead)
        found.append(("in_line", f"it is next in line: {many} tasks of its org are before it in {facts.lane!r}"))
    return found


def _workers(facts: Facts) -> list[tuple[str, str]]:
    needed = facts.lane.split("+")[1:]
    if not facts.workers_of_queue:
        return [("no_worker", f"no worker serves the queue {facts.queue!r}; start one: weft worker -q {facts.queue} …")]
    if not facts.workers_of_kind:
        return [("no_handler", f"no worker of this queue has a handler for {facts.kind!r}; deploy the code that has it")]
    if not facts.workers_able:
        return [("no_capability", f"no worker has the capabilities {', '.join(needed)}; start one with --capability")]
    return []


def _limits(facts: Facts, *, id: str) -> list[tuple[str, str]]:
    found = []
    if facts.max_concurrent is not None and facts.org_running >= facts.max_concurrent:
        found.append(("org_limit", f"its org's limit is full: {facts.org_running} of {facts.max_concurrent} are running"))
    if facts.queue_max is not None and facts.queue_running >= facts.queue_max:
        found.append(("queue_limit", f"the queue's limit is full: {facts.queue_running} of {facts.queue_max} are running"))
    if facts.queue_tokens is not None and facts.queue_tokens < 1:
        found.append(("rate_limit", "the queue's rate limit is used up for the moment"))
    if facts.concurrency_key is not None:
        allowed = max(facts.concurrency or 0, 1)
        key = repr(facts.concurrency_key)
        if facts.key_running >= allowed:
            found.append(("key_limit", f"the concurrency key {key} is full: {facts.key_running} of {allowed} are running"))
        elif facts.concurrency == 0 and facts.key_first != id:
            found.append(("key_order", f"the key {key} is strictly in order and task {facts.key_first} is before it"))
    return found
