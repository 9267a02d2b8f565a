"""What people do with DAGs: save, start, pause, resume, delete. Every change is journaled.

A DAG with a schedule is saved together with the CRON job that starts it, named `dag:NAME` and owned by the DAG.

The job's row is the one place that knows when the DAG is due. What the DAG's file says wins whenever it is saved.
"""

import datetime as dt
import hashlib
import uuid
from collections.abc import Sequence
from typing import Any

from weft.dagfile.dag import Dag
from weft.db import statements
from weft.db.tx import Tx
from weft.flows import definitions, start
from weft.flows.definitions import Definition, Saved
from weft.flows.model import Status
from weft.flows.start import Started, Wish
from weft.jobs import declared, manage
from weft.journal import record

SQL = statements.load("weft.jobs")

_LONGEST = 255


async def save(tx: Tx, dag: Dag, *, org: uuid.UUID, actor: str) -> Saved:
    """Makes this the active version of the DAG of its name, and its schedule the schedule."""
    saved = await definitions.save_dag(tx, dag, org=org)
    if dag.cron_expression is None:
        await declared.remove(tx, job_name(dag.name), org=org, owner=_owner(dag.name), actor=actor)
    else:
        given = {
            "name": job_name(dag.name), "job_type": "CRON", "cron_expression": dag.cron_expression,
            "timezone": dag.timezone, "payload": {"dag": dag.name}, "misfire": dag.misfire_policy,
            "catch_up_limit": dag.catch_up_limit, "jitter_seconds": dag.jitter_seconds, "start_at": dag.start_date,
            "end_at": dag.end_date, "tags": list(dag.tags),
        }  # fmt: skip
        job = await declared.put(tx, given, org=org, owner=_owner(dag.name), actor=actor)
        if saved.definition.status == "paused" and job.status == "ACTIVE":
            await manage.pause(tx, id=job.id, org=org, actor=actor)
    if saved.new:
        after = {"name": dag.name, "version": dag.version, "tasks": saved.definition.nodes}
        await _journal(tx, saved.definition, actor=actor, action="dag.create", after=after)
    return saved


async def trigger(tx: Tx, dag: Definition, wish: Wish) -> Started:
    """A run that somebody asks for, paused or not."""
    made = await start.start(tx, dag, wish)
    if made.created:
        actor = wish.actor or "unknown"
        await _journal(tx, dag, actor=actor, action="dag.trigger", after={"dag_run_id": str(made.id)})
    return made


async def set_status(tx: Tx, dag: Definition, status: Status, *, actor: str) -> None:
    """Pauses or resumes a DAG and its schedule, or deletes both."""
    await definitions.set_status(tx, dag, status)
    await _journal(tx, dag, actor=actor, action="dag.set", after={"status": status})
    if status == "deleted":
        await declared.remove(tx, job_name(dag.name), org=dag.org_id, owner=_owner(dag.name), actor=actor)
        return
    found = await manage.lock_named(tx, name=job_name(dag.name), org=dag.org_id)
    if found is not None and found[0].owner == _owner(dag.name) and found[0].status in ("ACTIVE", "PAUSED"):
        act = manage.pause if status == "paused" else manage.resume
        await act(tx, id=found[0].id, org=dag.org_id, actor=actor)


async def next_times(tx: Tx, dags: Sequence[str], *, org: uuid.UUID) -> dict[str, dt.datetime]:
    """When those of these DAGs that have a schedule are due next."""
    owners = {_owner(name): name for name in dags}
    rows = await tx.rows(SQL.times_of_owners, {"org_id": org, "owners": list(owners)})
    return {owners[owner]: time for owner, time in rows}


def job_name(dag: str) -> str:
    """What a DAG's job is called. A name that leaves no room is cut, and told apart by its hash."""
    name = f"dag:{dag}"
    if len(name) <= _LONGEST:
        return name
    return f"dag:{dag[:200]}:{hashlib.sha256(dag.encode()).hexdigest()[:16]}"


async def _journal(tx: Tx, dag: Definition, *, actor: str, action: str, after: dict[str, Any]) -> None:
    await record.record(
        tx, org_id=dag.org_id, actor=actor, action=action, object_type="dag", object_id=str(dag.id), after=after
    )


def _owner(dag: str) -> str:
    return f"dag:{dag}"
