"""Jobs that belong to something else: to an app that declares them (`@app.cron`), or to a DAG with a schedule.

They are written anew only if they differ. What its owner does not declare any more is paused with that as its error: it
must not go on unseen, and not be gone either, with its past, because somebody started an old version.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from weft.base import errors, json
from weft.db.tx import Tx
from weft.jobs import definition, manage
from weft.jobs.definition import Definition
from weft.jobs.model import Job

NOT_DECLARED = "NOT_DECLARED"


async def put(tx: Tx, given: Mapping[str, Any], *, org: uuid.UUID, owner: str, actor: str) -> Job:
    """The job as it is declared. JobExists if the name is somebody else's; paused by hand, it stays paused."""
    found = await manage.lock_named(tx, name=str(given.get("name")), org=org)
    if found is None:
        try:
            async with tx.savepoint():
                return await manage.create(tx, given, org=org, actor=actor, owner=owner)
        except errors.JobExists:
            # another process declares the same at this moment, and has committed
            found = await manage.lock_named(tx, name=str(given.get("name")), org=org)
            if found is None:
                raise
    job, now = found
    if job.owner != owner:
        whose = "somebody made" if job.owner is None else f"{job.owner} declares"
        raise errors.JobExists(
            f"there is a job named {job.name!r} that {whose}; give yours another name, or delete that one", name=job.name
        )
    back = job.status == "PAUSED" and job.error is not None and job.error.get("code") == NOT_DECLARED
    if not back and _same(job, given):
        return job
    return await manage.rewrite(tx, job, given, now=now, actor=actor, owner=owner)


async def only(tx: Tx, names: Sequence[str], *, org: uuid.UUID, owner: str, actor: str) -> list[Job]:
    """Pauses what this owner declared once and does not declare now; answers those."""
    paused = []
    for id in await manage.no_longer_declared(tx, org=org, owner=owner, names=list(names)):
        error = {
            "code": NOT_DECLARED,
            "message": f"{owner} does not declare it any more; declare it again, or delete it",
        }
        paused.append(await manage.pause(tx, id=id, org=org, actor=actor, error=error))
    return paused


async def remove(tx: Tx, name: str, *, org: uuid.UUID, owner: str, actor: str) -> bool:
    """Deletes the owner's job; answers whether there was one."""
    found = await manage.lock_named(tx, name=name, org=org)
    if found is None or found[0].owner != owner:
        return False
    await manage.delete(tx, id=found[0].id, org=org, actor=actor)
    return True


def _same(job: Job, given: Mapping[str, Any]) -> bool:
    """Whether the job says already what is declared, however that is written."""
    wanted = _meaning(definition.read(given))
    try:
        return wanted == _meaning(definition.read(definition.said(job)))
    except errors.InvalidInput:
        return False  # such as a zone that there is no more


def _meaning(one: Definition) -> dict[str, Any]:
    """Its columns, JSON as values: the order of names in it means nothing."""
    texts = ("payload", "args", "retry_config", "retry")
    return {name: json.loads(value) if name in texts else value for name, value in one.columns().items()}
