"""The scheduler: a chore of the leader. Due jobs in, executions and tasks out, many jobs in one transaction.

    due_jobs (locked, in order) → decide each → known_secrets, busy_jobs → dispatch → advance → commit

A job that cannot be dispatched is set aside in the same transaction. Should the database itself refuse a batch, nothing
of it is stored; it is halved until the one that is at fault stands alone, and that one is set aside.
"""

import datetime as dt
import logging
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from weft.base import crash, errors
from weft.db import arrays, statements
from weft.db.statements import Part
from weft.db.tx import Tx
from weft.jobs import definition, firing
from weft.jobs.firing import Fire, SetAside
from weft.jobs.model import Due
from weft.journal import record
from weft.queue import orphans

SQL = statements.load("weft.jobs")

log = logging.getLogger("weft.jobs")

BATCH = 2000
"""Jobs in one transaction. One that catches up may bring many executions."""

MOST = 20_000
"""Executions in one transaction, if some jobs catch up with many."""

STIRS = Part(SQL.stirs)
"""Of the scheduler and the backfiller."""

_OVERLAPS = "the execution before has not ended (overlap: skip)"
_OVERTAKEN = "a later time of the job took its place (overlap: cancel_previous)"


async def once(tx: Tx) -> int:
    """A batch of due jobs; answers how many there were."""
    due = [Due(*row) for row in await tx.rows(SQL.due_jobs, {"take": BATCH})]
    await _carefully(tx, due)
    return len(due)


async def _carefully(tx: Tx, due: Sequence[Due]) -> None:
    """Dispatches a batch; if the database refuses it, its halves, down to the one that is at fault."""
    try:
        async with tx.savepoint():
            await dispatch(tx, due)
    except (errors.DatabaseError, errors.InvalidInput) as error:
        if isinstance(error, errors.Unavailable | errors.MigrationError):
            raise
        if len(due) > 1:
            half = len(due) // 2
            await _carefully(tx, due[:half])
            await _carefully(tx, due[half:])
        else:
            log.warning("job %s is set aside: %s", due[0].id, error)
            await set_aside(tx, [SetAside(due[0].id, "DISPATCH_FAILED", f"it could not be dispatched: {error.message}")])


async def dispatch(tx: Tx, due: Sequence[Due]) -> int:
    """Fires what is to be fired of these jobs, which are locked; answers how many executions that made."""
    if not due:
        return 0
    now = await tx.value(SQL.present)
    decided, due = _some([firing.decide(job, now) for job in due], due)
    known = await _known_secrets(tx, due)
    for n, job in enumerate(due):
        one = decided[n]
        if job.secrets and isinstance(one, Fire) and one.times and (lacking := firing.missing(job, known=known)):
            decided[n] = lacking
    fires = [one for one in decided if isinstance(one, Fire)]
    crash.point("schedule: decided")
    if aside := [one for one in decided if isinstance(one, SetAside)]:
        await set_aside(tx, aside)
    await _read(tx, fires)
    made = await _dispatch(tx, fires, jobs={job.id: job for job in due})
    crash.point("schedule: dispatched")
    if fires:
        await tx.run(
            SQL.advance,
            {"ids": arrays.plain([one.id for one in fires]), "waiting": arrays.moments([one.waiting for one in fires]),
             "due_at": arrays.moments([one.due_at for one in fires]),
             "fired": arrays.moments([one.times[-1] if one.times else None for one in fires])},
        )  # fmt: skip
    return made


def _some(decided: list[Fire | SetAside], due: Sequence[Due]) -> tuple[list[Fire | SetAside], Sequence[Due]]:
    """The first of them, not more than one transaction should hold; the others stay due."""
    executions = 0
    for n, one in enumerate(decided):
        executions += len(one.times) if isinstance(one, Fire) else 0
        if executions > MOST and n > 0:
            return decided[:n], due[:n]
    return decided, due


async def set_aside(tx: Tx, jobs: Sequence[SetAside]) -> None:
    """Pauses jobs with their errors; people see why."""
    arguments = {
        "ids": [one.id for one in jobs], "codes": [one.code for one in jobs], "messages": [one.message for one in jobs],
    }  # fmt: skip
    for id, org, error in await tx.rows(SQL.set_aside, arguments):
        await record.record(
            tx, org_id=org, actor="scheduler", action="job.set_aside", object_type="job", object_id=str(id), after=error
        )


async def insert(
    tx: Tx, wanted: Sequence[tuple[uuid.UUID | str, dt.datetime, str, dt.datetime | None, str | None]], *,
    trigger: str = "schedule", backfill: uuid.UUID | None = None,
) -> int:  # fmt: skip
    """Executions and tasks of (job, time, key, missed since, why skipped); answers how many tasks, and wakes workers."""
    if not wanted:
        return 0
    jobs, times, keys, missed, skipped = map(list, zip(*wanted, strict=True))
    arguments: dict[str, Any] = {
        "ids": arrays.plain([str(id) for id in jobs]), "times": arrays.moments(times),
        "keys": arrays.quoted([key or None for key in keys]),
        "missed": arrays.moments(missed), "skipped": arrays.quoted(skipped), "trigger": trigger, "backfill_id": backfill,
    }  # fmt: skip
    made = await tx.rows(SQL.dispatch, arguments)
    if made:
        await orphans.wake(tx, queues=[queue for queue, _ in made])
    return sum(count for _, count in made)


async def cancel_unfinished(tx: Tx, jobs: Iterable[uuid.UUID | str]) -> None:
    """Asks for the end of every unfinished execution of these jobs."""
    await tx.rows(SQL.cancel_unfinished, {"ids": list(jobs)})


async def _known_secrets(tx: Tx, due: Sequence[Due]) -> frozenset[tuple[str, str]]:
    asked = sorted({(job.org_id, name) for job in due for name in job.secrets or ()})
    if not asked:
        return frozenset()
    rows = await tx.rows(SQL.known_secrets, {"orgs": [org for org, _ in asked], "names": [name for _, name in asked]})
    return frozenset((org, name) for org, name in rows)


async def _read(tx: Tx, fires: Sequence[Fire]) -> None:
    """Keeps what was read of payloads that weft.schedule wrote down."""
    read = [(one.id, one.read) for one in fires if one.read is not None]
    if not read:
        return
    config, retry = definition.retry()
    await tx.run(
        SQL.read_jobs,
        {"ids": [id for id, _ in read], "kinds": [one.kind for _, one in read], "args": [one.args for _, one in read],
         "secrets": [" ".join(one.secrets or ()) for _, one in read], "retry": retry, "retry_config": config},
    )  # fmt: skip


async def _dispatch(tx: Tx, fires: Sequence[Fire], *, jobs: dict[str, Due]) -> int:
    firing_now = [one for one in fires if one.times]
    skips = [one.id for one in firing_now if jobs[one.id].overlap == "skip"]
    busy = {row[0] for row in await tx.rows(SQL.busy_jobs, {"ids": skips})} if skips else set()
    if replaced := [one.id for one in firing_now if jobs[one.id].overlap == "cancel_previous"]:
        await cancel_unfinished(tx, replaced)
    wanted = []
    for one in firing_now:
        reasons = _skipped(jobs[one.id], len(one.times), busy=one.id in busy)
        for n, time in enumerate(one.times):
            wanted.append((one.id, time, "", one.missed_since if n == 0 else None, reasons[n]))
    return await insert(tx, wanted)


def _skipped(job: Due, count: int, *, busy: bool) -> list[str | None]:
    """Of so many times of a job at once, why each does not become a task; None: it does."""
    if job.overlap == "skip":
        return [_OVERLAPS if busy or n > 0 else None for n in range(count)]
    if job.overlap == "cancel_previous":
        return [_OVERTAKEN if n < count - 1 else None for n in range(count)]
    return [None] * count
