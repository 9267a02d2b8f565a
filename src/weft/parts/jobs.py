"""`app.jobs`: jobs from Python. With `tx=` each call is part of your own transaction; without, it has one of its own.

    await app.jobs.create("nightly", {"task": "report"}, cron="0 2 * * *", timezone="Europe/Berlin")
    await app.jobs.trigger("nightly")

A job is named by its name or its id. What `@app.cron` declares a worker that starts writes.
"""

import contextlib
import datetime as dt
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from weft.base import errors, ids
from weft.db import foreign
from weft.db.database import Database
from weft.db.tx import Tx
from weft.jobs import backfill, declared, definition, executions, manage
from weft.jobs import trigger as triggers
from weft.jobs.executions import Filter, Place, Sort
from weft.jobs.model import Backfill, Execution, ExecutionStatus, Job, JobType, Status
from weft.sdk.synchronous import Part
from weft.sdk.task import Registry, Task

ACTOR = "app"
_SHORT = {"cron": "cron_expression", "delay": "delay_seconds", "timeout": "timeout_seconds", "jitter": "jitter_seconds"}
"""What Python calls shorter."""

Which = uuid.UUID | str

# `list` is a method below
_Jobs = list[Job]
_Times = list[dt.datetime]
_Executions = list[Execution]
_Backfills = list[Backfill]
_Declared = list[dict[str, Any]]


class Jobs(Part):
    """An app's jobs."""

    def __init__(self, opened: Callable[[], Awaitable[Database]], *, registry: Registry, owner: str) -> None:
        self._opened = opened
        self._registry = registry
        self.owner = owner
        """Whose the jobs are that this app declares."""
        self.declared: _Declared = []

    async def create(
        self, name: str, payload: dict[str, Any], *, tx: Any = None, org: uuid.UUID = ids.DEFAULT_ORG, **words: Any
    ) -> Job:
        """A new job: `cron=` with `timezone=`, `run_at=` or `delay=`; and any other word of a job, such as `misfire=`."""
        given = {"name": name, "payload": payload, **_long(words)}
        async with self._tx(tx) as own:
            return await manage.create(own, given, org=org, actor=ACTOR)

    async def get(self, job: Which, *, tx: Any = None, org: uuid.UUID = ids.DEFAULT_ORG) -> Job:
        """A job; JobNotFound if there is none."""
        async with self._tx(tx) as own:
            return await manage.get(own, id=await _id(own, job, org), org=org)

    async def list(
        self, *, tx: Any = None, org: uuid.UUID = ids.DEFAULT_ORG, status: Status | None = None,
        type: JobType | None = None, tag: str | None = None, name: str | None = None, sort: Sort = "-created_at",
        after: Job | None = None, take: int = 100,
    ) -> _Jobs:  # fmt: skip
        """Jobs, `name` being how they begin; `after` is the last one of the page before."""
        filter = Filter(status=status, job_type=type, tag=tag, prefix=name)
        place = Place() if after is None else Place(after.id, after.name, after.due_at or executions.EARLIEST)
        async with self._tx(tx) as own:
            return await executions.jobs(own, org=org, filter=filter, sort=sort, place=place, take=take)

    async def update(
        self, job: Which, *, version: int | None = None, tx: Any = None, org: uuid.UUID = ids.DEFAULT_ORG, **words: Any
    ) -> Job:
        """Changes what is named. With `version` only if that is still the job's: else VersionConflict."""
        async with self._tx(tx) as own:
            id = await _id(own, job, org)
            return await manage.change(own, _long(words), id=id, org=org, actor=ACTOR, version=version)

    async def pause(self, job: Which, *, tx: Any = None, org: uuid.UUID = ids.DEFAULT_ORG) -> Job:
        async with self._tx(tx) as own:
            return await manage.pause(own, id=await _id(own, job, org), org=org, actor=ACTOR)

    async def resume(self, job: Which, *, tx: Any = None, org: uuid.UUID = ids.DEFAULT_ORG) -> Job:
        async with self._tx(tx) as own:
            return await manage.resume(own, id=await _id(own, job, org), org=org, actor=ACTOR)

    async def delete(self, job: Which, *, tx: Any = None, org: uuid.UUID = ids.DEFAULT_ORG) -> Job:
        async with self._tx(tx) as own:
            return await manage.delete(own, id=await _id(own, job, org), org=org, actor=ACTOR)

    async def trigger(
        self, job: Which, payload: dict[str, Any] | None = None, *, key: str | None = None, tx: Any = None,
        org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> Execution:  # fmt: skip
        """An execution now; `payload` is laid over the job's own. Once for each `key`."""
        async with self._tx(tx) as own:
            job_id = await _id(own, job, org)
            id, _ = await triggers.trigger(own, id=job_id, org=org, actor=ACTOR, payload=payload, key=key)
            return await executions.get(own, id=id, org=org)

    async def backfill(
        self, job: Which, start: dt.datetime, end: dt.datetime, *, max_active: int = 1, tx: Any = None,
        org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> Backfill:  # fmt: skip
        """Executions for past times, never more than `max_active` unfinished."""
        async with self._tx(tx) as own:
            id = await _id(own, job, org)
            return await backfill.create(
                own, job_id=id, org=org, start=start, end=end, max_active=max_active, actor=ACTOR
            )  # fmt: skip

    async def backfills(
        self, job: Which, *, before: uuid.UUID | None = None, take: int = 50, tx: Any = None,
        org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> _Backfills:  # fmt: skip
        """A job's backfills, newest first; `before` is the last id of the page before."""
        async with self._tx(tx) as own:
            return await backfill.page(own, job_id=await _id(own, job, org), org=org, before=before, take=take)

    async def cancel_backfill(self, id: uuid.UUID, *, tx: Any = None, org: uuid.UUID = ids.DEFAULT_ORG) -> Backfill:
        """Makes no more of its times; what was made goes on."""
        async with self._tx(tx) as own:
            return await backfill.cancel(own, id=id, org=org, actor=ACTOR)

    async def preview(
        self, job: Which, *, count: int = 10, tx: Any = None, org: uuid.UUID = ids.DEFAULT_ORG
    ) -> _Times:
        """The next times of a job."""
        async with self._tx(tx) as own:
            found, now = await manage.look(own, id=await _id(own, job, org), org=org)
        return executions.preview(found, now=now, count=count)

    async def executions(
        self, job: Which, *, status: ExecutionStatus | None = None, take: int = 50, tx: Any = None,
        org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> _Executions:  # fmt: skip
        """A job's executions, latest time first."""
        async with self._tx(tx) as own:
            id = await _id(own, job, org)
            found, _ = await executions.page(own, job_id=id, org=org, status=status, before=None, limit=take)
            return found

    async def execution(self, id: Which, *, tx: Any = None, org: uuid.UUID = ids.DEFAULT_ORG) -> Execution:
        """One execution. `app.result(id)` waits for it: its id is its task's."""
        async with self._tx(tx) as own:
            return await executions.get(own, id=uuid.UUID(str(id)), org=org)

    def declaring(
        self, expression: str, *, timezone: str = "UTC", name: str | None = None, args: dict[str, Any] | None = None,
        **words: Any,
    ) -> Callable[[Any], Task[Any, Any]]:  # fmt: skip
        """What `@app.cron` is: notes down a job for the task below it, and makes a task of it if it is none yet."""

        def declare(given: Any) -> Task[Any, Any]:
            task = given if isinstance(given, Task) else self._registry.add(given, name=None, version=None)
            job = {
                "name": name or task.kind, "job_type": "CRON", "cron_expression": expression, "timezone": timezone,
                "payload": {"task": task.kind, "args": args or {}}, "queue": task.options.queue, **_long(words),
            }  # fmt: skip
            definition.read(job)  # what is wrong is said where it stands
            if any(one["name"] == job["name"] for one in self.declared):
                raise errors.InvalidInput(f"two jobs are named {job['name']!r}; give one of them another name=")
            self.declared.append(job)
            return task

        return declare

    async def declare(self) -> None:
        """Writes what the code declares, and pauses what it does not declare any more. A worker that starts calls this."""
        org, owner = ids.DEFAULT_ORG, self.owner
        async with self._tx(None) as own:
            # in one order, so that workers that start together do not wait for each other in a circle
            for one in sorted(self.declared, key=lambda job: str(job["name"])):
                await declared.put(own, one, org=org, owner=owner, actor=owner)
            await declared.only(own, [str(one["name"]) for one in self.declared], org=org, owner=owner, actor=owner)

    @contextlib.asynccontextmanager
    async def _tx(self, connection: Any) -> AsyncIterator[Tx]:
        if connection is not None:
            yield foreign.Borrowed(connection)
            return
        async with (await self._opened()).tx() as tx:
            yield tx


def _long(words: Mapping[str, Any]) -> dict[str, Any]:
    return {_SHORT.get(name, name): value for name, value in words.items()}


async def _id(tx: Tx, job: Which, org: uuid.UUID) -> uuid.UUID:
    if isinstance(job, uuid.UUID):
        return job
    if not isinstance(job, str):
        raise errors.InvalidInput(f"name a job by its name or id, not {job!r}")
    try:
        return uuid.UUID(job)
    except ValueError:
        return await manage.named(tx, name=job, org=org)
