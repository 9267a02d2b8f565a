"""What people do with jobs: create, look, change, pause, resume, delete. Every change is journaled."""

import dataclasses
import datetime as dt
import uuid
from collections.abc import Mapping
from typing import Any

from weft.base import errors, json
from weft.cron import misfire
from weft.db import statements
from weft.db.tx import Tx
from weft.jobs import definition
from weft.jobs.definition import Definition
from weft.jobs.model import Job, Status, job
from weft.journal import record

SQL = statements.load("weft.jobs")

LOOKS = dt.timedelta(seconds=2)
"""How often the scheduler looks by itself; what is due sooner than that it must be told."""


async def create(
    tx: Tx, given: Mapping[str, Any], *, org: uuid.UUID, actor: str, owner: str | None = None
) -> Job:
    """A new job. JobExists if its name is taken, QuotaExceeded if the org has all it may have."""
    wanted = definition.read(given)
    await _room(tx, org=org)
    found = await tx.row(SQL.new_job)
    assert found is not None
    id, now = found
    wanted, times = timed(wanted, id=id, now=now)
    row = await tx.row(SQL.insert_job, {"id": id, "org_id": org, "owner": owner, **wanted.columns(), **times})
    if row is None:
        raise errors.JobExists(f"there is a job named {wanted.name!r} already; choose another name", name=wanted.name)
    made = job(row)
    await _journal(tx, made, actor=actor, action="job.create", before=None)
    await _tell(tx, made)
    return made


async def get(tx: Tx, *, id: uuid.UUID, org: uuid.UUID) -> Job:
    """A job, deleted or not."""
    return (await look(tx, id=id, org=org))[0]


async def look(tx: Tx, *, id: uuid.UUID, org: uuid.UUID) -> tuple[Job, dt.datetime]:
    """A job, deleted or not, and the time."""
    return _found(await tx.row(SQL.get_job, {"id": id, "org_id": org}), id)


async def named(tx: Tx, *, name: str, org: uuid.UUID) -> uuid.UUID:
    """The id of the job called so."""
    found: uuid.UUID | None = await tx.value(SQL.job_named, {"name": name, "org_id": org})
    if found is None:
        raise errors.JobNotFound(f"there is no job named {name!r}")
    return found


async def change(
    tx: Tx, changes: Mapping[str, Any], *, id: uuid.UUID, org: uuid.UUID, actor: str, version: int | None
) -> Job:
    """Changes what is named. VersionConflict if the job is not at `version` any more; None: whichever it is."""
    before, now = await lock(tx, id=id, org=org)
    if version is not None and version != before.version:
        raise errors.VersionConflict(
            f"the job is at version {before.version}, not {version}; read it again and repeat the change",
            version=before.version,
        )
    return await rewrite(tx, before, definition.changed(before, changes), now=now, actor=actor, owner=before.owner)


async def rewrite(
    tx: Tx, before: Job, given: Mapping[str, Any], *, now: dt.datetime, actor: str, owner: str | None
) -> Job:
    """Gives a locked job another definition. One that was set aside is tried again; one that was paused stays so."""
    wanted = definition.read(given)
    # not read again: what was wrong with the old one is no longer of interest
    moved = definition.timing(wanted) != definition.timing(before)
    status: Status = "ACTIVE" if before.error is not None or (moved and before.status == "COMPLETED") else before.status
    if moved or before.error is not None:
        wanted, times = timed(wanted, id=before.id, now=now)
    else:
        wanted = dataclasses.replace(wanted, run_at=before.run_at)
        times = {"next_run_time": before.next_run_time, "due_at": before.due_at}
        if status == "ACTIVE" and before.next_run_time is None:
            # weft.schedule wrote it down, and the scheduler, who would find its first time, has not seen it yet
            wanted, times = timed(wanted, id=before.id, now=now)
    if status != "ACTIVE":
        times = {"next_run_time": None, "due_at": None}
    arguments = {"id": before.id, "org_id": before.org_id, "status": status, "owner": owner, **wanted.columns(), **times}
    if wanted.name != before.name and await tx.value(SQL.job_named, {"name": wanted.name, "org_id": before.org_id}):
        raise errors.JobExists(f"there is a job named {wanted.name!r} already; choose another name", name=wanted.name)
    row = await tx.row(SQL.change_job, arguments)
    assert row is not None  # it is locked
    after = job(row)
    await _journal(tx, after, actor=actor, action="job.change", before=_plain(before))
    await _tell(tx, after)
    return after


async def pause(tx: Tx, *, id: uuid.UUID, org: uuid.UUID, actor: str, error: dict[str, Any] | None = None) -> Job:
    """Fires nothing from now on; pausing it again changes nothing."""
    before, now = await lock(tx, id=id, org=org)
    _must_not_be_over(before)
    if before.status == "PAUSED":
        return before
    error = None if error is None else {**error, "at": now}
    return await _set(tx, before, status="PAUSED", times=(None, None), actor=actor, action="job.pause", error=error)


async def resume(tx: Tx, *, id: uuid.UUID, org: uuid.UUID, actor: str) -> Job:
    """Fires again: a CRON job from its next time on, another at its time, or at once if that has passed."""
    before, now = await lock(tx, id=id, org=org)
    _must_not_be_over(before)
    if before.status == "ACTIVE":
        return before
    wanted = definition.read(definition.said(before))
    if before.run_at is not None:
        wanted = dataclasses.replace(wanted, run_at=before.run_at)
    _, times = timed(wanted, id=before.id, now=now)
    moments = times["next_run_time"], times["due_at"]
    return await _set(tx, before, status="ACTIVE", times=moments, actor=actor, action="job.resume")


async def delete(tx: Tx, *, id: uuid.UUID, org: uuid.UUID, actor: str) -> Job:
    """Takes a job out of the way: its name is free, its executions stay. What was dispatched goes on."""
    before, _now = await lock(tx, id=id, org=org)
    return await _set(tx, before, status="DELETED", times=(None, None), actor=actor, action="job.delete")


async def lock(tx: Tx, *, id: uuid.UUID, org: uuid.UUID) -> tuple[Job, dt.datetime]:
    """A job that is not deleted, locked for this transaction, and the time."""
    return _found(await tx.row(SQL.lock_job, {"id": id, "org_id": org}), id)


async def lock_named(tx: Tx, *, name: str, org: uuid.UUID) -> tuple[Job, dt.datetime] | None:
    row = await tx.row(SQL.lock_job_named, {"name": name, "org_id": org})
    return None if row is None else (job(row[:-1]), row[-1])


async def no_longer_declared(tx: Tx, *, org: uuid.UUID, owner: str, names: list[str]) -> list[uuid.UUID]:
    rows = await tx.rows(SQL.no_longer_declared, {"org_id": org, "owner": owner, "names": names})
    return [row[0] for row in rows]


def timed(wanted: Definition, *, id: uuid.UUID, now: dt.datetime) -> tuple[Definition, dict[str, Any]]:
    """With the time it waits for first. InvalidInput if there is none: such a job would never fire."""
    when = definition.when(wanted, id=str(id), now=now)
    first = misfire.first(when, now)
    if first is None:
        raise errors.InvalidInput("the job would never fire: none of its times is between start_at and end_at")
    if wanted.job_type != "CRON":
        wanted = dataclasses.replace(wanted, run_at=first)
    return wanted, {"next_run_time": first, "due_at": first + when.delay}


async def _room(tx: Tx, *, org: uuid.UUID) -> None:
    most = await tx.value(SQL.job_room, {"org_id": org})
    if most is not None and await tx.value(SQL.count_jobs, {"org_id": org, "most": most}) >= most:
        raise errors.QuotaExceeded(
            f"the org has {most} jobs, which is all it may have; delete one, or have max_jobs raised", max_jobs=most
        )


async def _set(
    tx: Tx, before: Job, *, status: Status, times: tuple[dt.datetime | None, dt.datetime | None], actor: str, action: str,
    error: dict[str, Any] | None = None,
) -> Job:  # fmt: skip
    arguments = {
        "id": before.id, "org_id": before.org_id, "status": status, "next_run_time": times[0], "due_at": times[1],
        "error": None if error is None else json.text(error, what="error"),
    }  # fmt: skip
    row = await tx.row(SQL.set_status, arguments)
    assert row is not None  # it is locked
    after = job(row)
    await _journal(tx, after, actor=actor, action=action, before=_plain(before))
    await _tell(tx, after)
    return after


async def _tell(tx: Tx, changed: Job) -> None:
    if changed.due_at is not None:
        await tx.rows(SQL.tell_scheduler, {"due_at": changed.due_at, "older": LOOKS})


def _must_not_be_over(before: Job) -> None:
    if before.status == "COMPLETED":
        raise errors.Conflict("the job is COMPLETED: it has no time left; change its run_at, or trigger it")


def _found(row: Any, id: uuid.UUID) -> tuple[Job, dt.datetime]:
    if row is None:
        raise errors.JobNotFound(f"Job with ID '{id}' not found")
    return job(tuple(row[:-1])), row[-1]


def _plain(one: Job) -> dict[str, Any]:
    """A job as the journal shows it: not its payload, which may hold what is nobody else's business."""
    return {
        "name": one.name, "job_type": one.job_type, "cron_expression": one.cron_expression, "timezone": one.timezone,
        "run_at": one.run_at, "status": one.status, "version": one.version, "error": one.error,
    }  # fmt: skip


async def _journal(tx: Tx, one: Job, *, actor: str, action: str, before: dict[str, Any] | None) -> None:
    await record.record(
        tx, org_id=one.org_id, actor=actor, action=action, object_type="job", object_id=str(one.id), before=before,
        after=_plain(one),
    )  # fmt: skip


