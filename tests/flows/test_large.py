"""Large DAGs: 10,000 tasks and 50,000 edges are accepted, run, and can be looked at; what is hot has the plan it should."""

import random
from typing import Any

import psycopg
import pytest

from weft import App
from weft.base import ids
from weft.db import statements
from weft.db.database import Database
from weft.db.tx import Tx
from weft.flows import start
from weft.plan.model import Block, Node, Plan, Task
from weft.testing import inline

FLOWS = statements.load("weft.flows")


def large(nodes: int, edges: int) -> dict[str, Any]:
    """Levels of a hundred; each task but those of the first waits for some of the level before, all in all so many."""
    dice = random.Random(7)
    tasks = []
    for number in range(nodes):
        level = number // 100 * 100
        share = range(edges * (number - 100) // (nodes - 100), edges * (number - 99) // (nodes - 100))
        waits = dice.sample(range(level - 100, level), len(share)) if level else []
        tasks.append({"name": f"t{number}", "payload": {"task": "noop"}, "dependencies": [f"t{one}" for one in waits],
                      "max_retries": 0})  # fmt: skip
    assert sum(len(one["dependencies"]) for one in tasks) == edges
    return {"name": "large", "tasks": tasks}


async def _run(database_url: str, nodes: int, edges: int) -> None:
    async with App(database_url=database_url) as app:

        @app.task
        async def noop() -> None: ...

        saved = await app.dags.create(large(nodes, edges))
        assert saved.definition.nodes == nodes
        run = await app.dags.trigger("large")
        await inline.run_pending(app, concurrency=100)
        found = await app.runs.get(run.id)
        assert (found.state, found.nodes_ended, found.nodes_failed) == ("completed", nodes, 0)
        assert len(await app.runs.steps(run.id, take=nodes + 1)) == nodes
    with psycopg.connect(database_url) as connection:
        ran = connection.execute("select count(*), count(distinct step_id) from weft.task_history").fetchone()
    assert ran == (nodes, nodes)


async def test_a_dag_of_600_tasks_and_3000_edges_runs_each_once(database_url: str) -> None:
    await _run(database_url, 600, 3_000)


@pytest.mark.long
async def test_a_dag_of_10000_tasks_and_50000_edges_runs_each_once(database_url: str) -> None:
    await _run(database_url, 10_000, 50_000)


async def _plan(tx: Tx, text: str, **arguments: Any) -> str:
    rows = await tx.rows(f"explain {text}", arguments)
    return "\n".join(row[0] for row in rows)


async def test_an_advance_and_a_status_page_read_only_their_own_steps(database: Database) -> None:
    """Whatever other runs there are: each step is found by its place or its id, a page by its run."""
    plan = Plan("wide", "main", (Block("main", nodes=tuple(Node(f"n{number}", Task("t")) for number in range(400))),))
    async with database.tx() as tx:
        runs = [await start.start_plan(tx, plan, org=ids.DEFAULT_ORG) for _ in range(5)]
    async with database.tx() as tx:
        run = runs[0].id
        page = await _plan(tx, FLOWS.list_nodes, run_id=run, frame_id=run, org_id=ids.DEFAULT_ORG, after=run, take=500)
        assert "Seq Scan on steps" not in page, page
        steps = await _plan(
            tx, FLOWS.load_steps, runs=[run], frames=[run], nodes=["n1"], elements=[-1], catching=[False], whole=[False]
        )
        assert "steps_place" in steps and "Seq Scan on steps" not in steps, steps
        facts = await _plan(
            tx, FLOWS.load_told, ids=[run], runs=[run], frames=[run], nodes=["n1"], elements=[-1], catching=[False]
        )
        assert "steps_pkey" in facts and "steps_place" in facts and "Seq Scan on steps" not in facts, facts
