"""The CRON job of a DAG that has a schedule. Whoever stores the DAG calls this in the same transaction."""

import uuid
from typing import Any

from weft.cron.misfire import Misfire
from weft.db.tx import Tx
from weft.jobs import declared
from weft.jobs.model import Job, Overlap


async def schedule(
    tx: Tx, *, org: uuid.UUID, dag: str, cron: str, timezone: str = "UTC", misfire: Misfire = "fire_once",
    overlap: Overlap = "allow", actor: str, **more: Any,
) -> Job:  # fmt: skip
    """Makes or changes the job named `dag:NAME`, which starts the DAG at its times. `more`: other words of a job."""
    given = {
        "name": name(dag), "job_type": "CRON", "cron_expression": cron, "timezone": timezone, "payload": {"dag": dag},
        "misfire": misfire, "overlap": overlap, **more,
    }  # fmt: skip
    return await declared.put(tx, given, org=org, owner=_owner(dag), actor=actor)


async def unschedule(tx: Tx, *, org: uuid.UUID, dag: str, actor: str) -> bool:
    """Deletes a DAG's job; answers whether it had one."""
    return await declared.remove(tx, name(dag), org=org, owner=_owner(dag), actor=actor)


def name(dag: str) -> str:
    """What a DAG's job is called."""
    return f"dag:{dag}"[:255]


def _owner(dag: str) -> str:
    return f"dag:{dag}"
