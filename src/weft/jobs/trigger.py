"""A job's execution now, by hand: paused or not, with other arguments if wanted. Once for each key that is given."""

import uuid
from typing import Any

from weft.base import crash, json, names
from weft.db import statements
from weft.db.tx import Tx
from weft.jobs import definition, manage, scheduler
from weft.jobs.model import Job
from weft.journal import record
from weft.queue import enqueue, new

SQL = statements.load("weft.jobs")


async def trigger(
    tx: Tx, *, id: uuid.UUID, org: uuid.UUID, actor: str, payload: dict[str, Any] | None = None, key: str | None = None
) -> tuple[uuid.UUID, bool]:
    """The execution's id, and whether it is new: a key that was used before answers the execution it made.

    `payload` is laid over the job's own, object by object. Overlap `skip` does not hold back what somebody asked for;
    `queue` lets it wait its turn, `cancel_previous` ends what runs.
    """
    # the row is locked: two triggers with one key take turns
    job, now = await manage.lock(tx, id=id, org=org)
    name = "" if key is None else f"manual:{names.check_key(key, what='idempotency_key')}"
    if name and (found := await tx.value(SQL.execution_of_key, {"job_id": id, "key": name})):
        return found, False
    columns = definition.what(job.payload if payload is None else laid_over(job.payload, payload))
    if job.overlap == "cancel_previous":
        await scheduler.cancel_unfinished(tx, [id])
    made = await enqueue.one(tx, _arguments(job, columns, now=now))
    await tx.run(
        SQL.insert_execution,
        {"id": made.id, "org_id": org, "job_id": id, "scheduled_time": now, "key": name or f"manual:{made.id}"},
    )
    await record.record(
        tx, org_id=org, actor=actor, action="job.trigger", object_type="job", object_id=str(id),
        after={"execution_id": str(made.id), "changed_payload": payload is not None},
    )  # fmt: skip
    crash.point("trigger: before commit")
    return made.id, True


def laid_over(under: Any, over: Any) -> Any:
    """`over` in place of `under`; where both are objects, name by name."""
    if isinstance(under, dict) and isinstance(over, dict):
        return {**under, **{name: laid_over(under.get(name), value) for name, value in over.items()}}
    return over


def _arguments(job: Job, columns: dict[str, Any], *, now: Any) -> dict[str, Any]:
    options: dict[str, Any] = {
        "queue": job.queue, "priority": 11 * job.priority, "max_attempts": job.retry_config.get("max_attempts", 3),
        "tags": job.tags, "org": job.org_id, "job_id": job.id, "scheduled_for": now,
        "retry": json.loads(definition.retry(job.retry_config)[1]),
    }  # fmt: skip
    if job.timeout is not None:
        options["timeout"] = job.timeout
    if job.overlap == "queue":
        options |= {"concurrency_key": f"job:{job.id}", "concurrency": "strict"}
    return new.arguments(columns["kind"], json.loads(columns["args"]), declared=None, options=options)  # type: ignore[arg-type]
