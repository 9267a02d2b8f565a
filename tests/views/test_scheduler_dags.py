"""DAGs in the words of seed 002: the five views of its DAGs, runs and task instances."""

import datetime as dt
import uuid
from typing import Any

import hands
from weft.base import ids
from weft.dagfile import read
from weft.db.tx import Tx
from weft.flows import definitions
from weft.flows.definitions import Definition
from weft.flows.start import Started, Wish
from weft.jobs import dags

FOR = dt.datetime(2026, 1, 15, 2, tzinfo=dt.UTC)


def task(name: str, *waits: str, **words: Any) -> dict[str, Any]:
    return {"name": name, "payload": {"task": name, "args": {"n": 1}}, "dependencies": list(waits), **words}


DAG = {
    "name": "etl", "cron_expression": "0 2 * * *", "timezone": "Europe/Berlin", "config": {"owner": "data"},
    "tasks": [
        task("extract", timeout_seconds=1800.4, max_retries=0), task("clean", "extract", max_retries=5),
        task("load", "extract", "clean"), task("other"),
    ],
}  # fmt: skip


async def save(tx: Tx, **words: Any) -> Definition:
    return (await dags.save(tx, read.from_value(DAG | words), org=ids.DEFAULT_ORG, actor="test")).definition


async def trigger(tx: Tx, dag: Definition) -> Started:
    return await dags.trigger(tx, dag, Wish(logical_date=FOR, config={"queue": "slow"}))


async def test_a_dag_its_tasks_and_what_they_wait_for(tx: Tx) -> None:
    await save(tx, tasks=[task("gone")])
    dag = await save(tx)
    [shown] = await tx.rows(
        "select d.dag_id, d.tenant_id, d.name, d.cron_expression, d.timezone, d.config, d.status, "
        "d.next_run_time is not null, d.created_at < d.updated_at from scheduler.dags as d"
    )
    assert tuple(shown) == (
        dag.id, ids.DEFAULT_ORG, "etl", "0 2 * * *", "Europe/Berlin", {"owner": "data"}, "ACTIVE", True, True,
    )  # fmt: skip
    rows = await tx.rows("select t.task_id, t.dag_id, t.name, t.payload, t.timeout_seconds, t.max_retries "
                         "from scheduler.dag_tasks as t")  # fmt: skip
    id = {name: definitions.task_id(dag.id, name) for name in ("extract", "clean", "load", "other")}
    payload = {name: {"task": name, "args": {"n": 1}} for name in id}
    assert [tuple(row) for row in rows] == [
        (id["extract"], dag.id, "extract", payload["extract"], 1800, 0),
        (id["clean"], dag.id, "clean", payload["clean"], 3600, 5),
        (id["load"], dag.id, "load", payload["load"], 3600, 3),
        (id["other"], dag.id, "other", payload["other"], 3600, 3),
    ]
    edges = await tx.rows("select w.task_id, w.depends_on_task_id, w.dependency_id from scheduler.task_dependencies as w")
    assert {(row[0], row[1]) for row in edges} == {
        (id["clean"], id["extract"]), (id["load"], id["extract"]), (id["load"], id["clean"]),
    }  # fmt: skip
    assert len({row[2] for row in edges}) == 3
    await dags.set_status(tx, dag, "paused", actor="test")
    assert await tx.rows("select d.status, d.next_run_time from scheduler.dags as d") == [("PAUSED", None)]


async def test_a_run_and_its_task_instances_as_they_go(tx: Tx) -> None:
    dag = await save(tx, max_active_runs=1)
    first, second = await trigger(tx, dag), await trigger(tx, dag)
    found = await tx.rows("select r.dag_run_id, r.dag_id, r.status, r.scheduled_time, r.config, r.started_at is not null, "
                          "r.completed_at from scheduler.dag_runs as r order by 1")  # fmt: skip
    assert [tuple(row) for row in found] == [
        (first.id, dag.id, "RUNNING", FOR, {"queue": "slow"}, True, None),
        (second.id, dag.id, "PENDING", FOR, {"queue": "slow"}, False, None),
    ]
    waits = {"extract": "QUEUED", "clean": "PENDING", "load": "PENDING", "other": "QUEUED"}
    assert await instances(tx, dag, first.id) == {name: (status, 0, None) for name, status in waits.items()}
    held = await hands.claim_plain(tx, queues=["slow"], kinds=["extract", "other"])
    assert {name: one[0] for name, one in (await instances(tx, dag, first.id)).items()} == {
        **waits, "extract": "RUNNING", "other": "RUNNING",
    }  # fmt: skip
    by_kind = {one.kind: one for one in held}
    await hands.end(tx, [by_kind["other"]], result="1")
    await hands.end(tx, [by_kind["extract"]], how="failed", error='{"type": "E", "message": "broken"}')
    assert await instances(tx, dag, first.id) == {
        "extract": ("FAILED", 1, "broken"), "clean": ("CANCELLED", 0, None), "load": ("CANCELLED", 0, None),
        "other": ("COMPLETED", 1, None),
    }  # fmt: skip
    [ended] = await tx.rows("select r.status, r.completed_at is not null from scheduler.dag_runs as r "
                            "where r.dag_run_id = %(id)s", {"id": first.id})  # fmt: skip
    assert tuple(ended) == ("FAILED", True)


async def instances(tx: Tx, dag: Definition, run: uuid.UUID) -> dict[str, tuple[str, int, str | None]]:
    """Task → status, attempt and error; tasks are known by the ids that `dag_tasks` has."""
    rows = await tx.rows(
        "select t.name, i.status, i.attempt_number, i.error_message, i.started_at is null or i.status <> 'PENDING' "
        "from scheduler.task_instances as i join scheduler.dag_tasks as t on t.task_id = i.task_id and t.dag_id = %(dag)s "
        "where i.dag_run_id = %(run)s", {"dag": dag.id, "run": run},
    )  # fmt: skip
    assert all(row[4] for row in rows)
    return {row[0]: (row[1], row[2], row[3]) for row in rows}


async def test_an_instance_does_not_look_for_its_id_among_all_tasks_of_its_dag(tx: Tx) -> None:
    plan = await tx.rows("explain select * from scheduler.task_instances where dag_run_id = weft.uuid7()")
    assert "definition_versions" not in "\n".join(row[0] for row in plan)
