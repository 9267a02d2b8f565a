"""Graphs of runs and versions of DAGs over HTTP."""

import copy
from typing import Any

from calling import Caller, code

import hands
from weft.db.database import Database

DAG: dict[str, Any] = {
    "name": "shapes",
    "params": {"shops": ["berlin", "ulm"]},
    "groups": {"load": {}},
    "tasks": [
        {"name": "extract", "payload": {"task": "extract", "args": {"shop": "${shop}"}}, "foreach": "${params.shops}",
         "item": "shop"},
        {"name": "clean", "group": "load", "payload": {"task": "clean", "args": {"all": "${tasks.extract.output}"}}},
        {"name": "tell", "payload": {"task": "tell"}, "dependencies": ["load"], "condition": "params.shops != null"},
    ],
}  # fmt: skip


async def test_the_graph_of_a_run_is_that_of_its_own_version(api: Caller) -> None:
    await api.post("/v1/dags", DAG)
    run = (await api.post("/v1/dags/shapes/trigger", {})).json()["dag_run_id"]
    shorter = copy.deepcopy(DAG)
    del shorter["tasks"][2]
    await api.post("/v1/dags", shorter)
    graph = (await api.get(f"/v1/runs/{run}/graph")).json()
    [block] = [one for one in graph["blocks"] if one["name"] == graph["entry"]]
    nodes = {one["name"]: one for one in block["nodes"]}
    assert {name: one["after"] for name, one in nodes.items()} == {"extract": [], "clean": ["extract"], "tell": ["clean"]}
    assert (nodes["extract"]["each"], nodes["clean"]["group"], nodes["tell"]["conditional"]) == (True, "load", True)
    assert (nodes["clean"]["does"], nodes["clean"]["what"]) == ("task", "clean")


async def test_what_was_tried_more_than_once_is_told_attempt_by_attempt(api: Caller, database: Database) -> None:
    await api.post("/v1/dags", {"name": "one", "tasks": [{"name": "only", "payload": {"task": "mail"}}]})
    run = (await api.post("/v1/dags/one/trigger", {})).json()["dag_run_id"]
    assert (await api.get(f"/v1/runs/{run}/attempts")).json() == {"items": []}
    async with database.tx() as tx:
        await hands.end(tx, [await hands.claim_one(tx)], "lost")
        held = await hands.claim_one(tx)
    [lost, now] = (await api.get(f"/v1/runs/{run}/attempts")).json()["items"]
    [step] = (await api.get(f"/v1/runs/{run}/steps")).json()["items"]
    assert (lost["outcome"], lost["attempt"], lost["task_id"], lost["step_id"]) == ("lost", 1, held.id, step["id"])
    assert lost["began_at"] <= lost["ended_at"] <= now["began_at"]
    assert (now["outcome"], now["attempt"], now["ended_at"]) == ("running", 2, None)
    async with database.tx() as tx:
        await hands.end(tx, [held])
    assert (await api.get(f"/v1/runs/{run}/attempts")).json()["items"][-1]["outcome"] == "completed"
    assert code(await api.get(f"/v1/runs/{run}/attempts", role="other:admin")) == (404, "NOT_FOUND")


async def test_a_version_is_shown_by_its_number(api: Caller) -> None:
    await api.post("/v1/dags", DAG)
    other = copy.deepcopy(DAG)
    other["tasks"][2]["payload"]["task"] = "shout"
    await api.post("/v1/dags", other)
    shown = [(await api.get(f"/v1/dags/shapes/definition?number={number}")).json() for number in (1, 2)]
    assert [one["tasks"][2]["payload"] for one in shown] == [{"task": "tell"}, {"task": "shout"}]
    assert (await api.get("/v1/dags/shapes/definition")).json() == shown[1]
    assert code(await api.get("/v1/dags/shapes/definition?number=3")) == (404, "NOT_FOUND")
