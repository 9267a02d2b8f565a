"""The fenced writes that end an attempt. Called by `settle` only, which decides what is written."""

import datetime as dt
from collections.abc import Sequence
from typing import Any, NamedTuple

from weft.db import arrays, statements
from weft.db.tx import Tx
from weft.queue.model import FinalState, Reason

SQL = statements.load("weft.queue")


class Ended(NamedTuple):
    """A task that is over."""

    id: str
    token: str
    state: FinalState
    reason: Reason | None
    result: str | None
    error: str | None
    started: float | None


class Returned(NamedTuple):
    """A task that goes back into the queue."""

    id: str
    token: str
    delay: float
    uncounted: int
    lost: int
    outcome: str | None
    error: str | None


class Finished(NamedTuple):
    """The ids of tasks that were still held with their token, and the runs that were told of their ends."""

    ids: set[str]
    runs: list[str]


class Told(NamedTuple):
    """How a task of a run ended, as history has it."""

    run: str | None
    step: str | None
    task: str
    state: FinalState
    attempt: int
    started_at: dt.datetime | None
    result: Any
    error: dict[str, Any] | None


class Gone(NamedTuple):
    """A queued task that was ended."""

    id: str
    org: str
    key: str | None
    run: str | None


async def finish(tx: Tx, ended: Sequence[Ended]) -> Finished:
    """Moves tasks to history."""
    row = await tx.row(SQL.finish, {**_arguments(ended), "expected": len(ended)})
    assert row is not None  # an aggregate always answers
    count, found, runs = row
    return Finished({one.id for one in ended} if count == len(ended) else set(found or ()), runs or [])


async def finish_held(tx: Tx, ended: Sequence[Ended], *, held: Sequence[str]) -> list[Told]:
    """The same by somebody who holds the locks of these runs, and sees to what follows: nobody else is told of theirs.
    Answers the tasks that were still held with their token."""
    return [Told(*row) for row in await tx.rows(SQL.finish_held, {**_arguments(ended), "held": arrays.plain(held)})]


async def complete(
    tx: Tx, *, ids: Sequence[str], tokens: Sequence[str], results: Sequence[str | None], started: Sequence[float | None]
) -> set[str]:
    """The common case of `finish`: all of them succeeded, each is there once and has no run. Answers those that were still
    held with their token."""
    common = {
        "ids": arrays.uuids(ids), "results": arrays.quoted(results), "started": arrays.floats(started), "expected": len(ids)
    }  # fmt: skip
    if len(set(tokens)) == 1:
        row = await tx.row(SQL.complete_claimed, {**common, "token": tokens[0]})
    else:
        row = await tx.row(SQL.complete, {**common, "tokens": arrays.uuids(tokens)})
    assert row is not None  # an aggregate always answers
    count, found = row
    return set(ids) if count == len(ids) else set(found or ())


def _arguments(ended: Sequence[Ended]) -> dict[str, Any]:
    return {
        "ids": arrays.plain([one.id for one in ended]),
        "tokens": arrays.plain([one.token for one in ended]),
        "states": arrays.plain([one.state for one in ended]),
        "reasons": arrays.quoted([one.reason for one in ended]),
        "results": arrays.quoted([one.result for one in ended]),
        "errors": arrays.quoted([one.error for one in ended]),
        "started": arrays.floats([one.started for one in ended]),
    }


async def requeue(tx: Tx, returned: Sequence[Returned]) -> dict[str, tuple[str, str]]:
    """Puts tasks back; answers id → (state, queue) of those that were still held with their token."""
    ids, tokens, delays, uncounted, lost, outcomes, problems = map(list, zip(*returned, strict=True))
    arguments = {
        "ids": ids, "tokens": tokens, "delays": arrays.floats(delays), "uncounted": uncounted, "lost": lost,
        "outcomes": outcomes, "errors": problems,
    }  # fmt: skip
    return {id: (state, queue) for id, state, queue in await tx.rows(SQL.requeue, arguments)}


async def unblock(tx: Tx, keys: Sequence[tuple[str, str]]) -> list[str]:
    """Lets the next of each (org, key) into the claim index; answers the queues that have work now."""
    rows = await tx.rows(SQL.unblock, {"orgs": [org for org, _ in keys], "keys": [key for _, key in keys]})
    return [row[0] for row in rows]


async def ended_with(tx: Tx, attempts: Sequence[tuple[str, str, str]]) -> dict[str, FinalState]:
    """Which of these (org, id, token) ended earlier with this very token, and how."""
    orgs, ids, tokens = map(list, zip(*attempts, strict=True))
    rows = await tx.rows(SQL.ended_with, {"orgs": orgs, "ids": ids, "tokens": tokens})
    return {row[0]: row[1] for row in rows}


async def cancel_queued(tx: Tx, ids: Sequence[str]) -> list[Gone]:
    """Ends queued tasks."""
    return [Gone(*row) for row in await tx.rows(SQL.cancel_queued, {"ids": list(ids)})]
