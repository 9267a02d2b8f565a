"""`/v1/dags` and `/v1/dag-runs` as seed 002 has them."""

import copy
from typing import Any

import pytest
from calling import Caller, code

from weft.db.database import Database

SEED: dict[str, Any] = {
    "name": "etl-pipeline",
    "cron_expression": "0 2 * * *",
    "timezone": "UTC",
    "tasks": [
        {"name": "extract", "payload": {"action": "extract_data", "source": "production_db"}, "timeout_seconds": 1800},
        {"name": "transform", "payload": {"action": "transform_data"}, "dependencies": ["extract"], "timeout_seconds": 3600},
        {"name": "load", "payload": {"action": "load_data", "destination": "data_warehouse"}, "dependencies": ["transform"],
         "timeout_seconds": 1800},
        {"name": "notify", "payload": {"action": "send_notification", "channel": "#data-team"}, "dependencies": ["load"]},
    ],
}  # fmt: skip
"""The seed's own request, word for word."""


async def test_create_dag_workflow_of_the_seed(api: Caller) -> None:
    answer = await api.post("/v1/dags", SEED)
    assert answer.status_code == 201
    dag = answer.json()
    assert answer.headers["location"] == f"/v1/dags/{dag['dag_id']}"
    assert (dag["name"], dag["cron_expression"], dag["timezone"]) == ("etl-pipeline", "0 2 * * *", "UTC")
    assert dag["status"] == "ACTIVE"
    assert dag["config"] == {} and dag["version_number"] == 1 and dag["task_count"] == 4
    assert [one["name"] for one in dag["tasks"]] == ["extract", "transform", "load", "notify"]
    # what the request leaves out is what the seed's tables say
    assert dag["tasks"][0]["payload"] == SEED["tasks"][0]["payload"]
    assert [one["dependencies"] for one in dag["tasks"]] == [[], ["extract"], ["transform"], ["load"]]
    assert [one["timeout_seconds"] for one in dag["tasks"]] == [1800, 3600, 1800, 3600]
    assert {one["max_retries"] for one in dag["tasks"]} == {3}
    for wanted in (dag["dag_id"], "etl-pipeline"):
        assert (await api.get(f"/v1/dags/{wanted}")).json() == dag


async def test_the_same_content_is_the_same_version_and_other_content_a_new_one(api: Caller) -> None:
    first = (await api.post("/v1/dags", SEED)).json()
    again = await api.post("/v1/dags", SEED)
    assert (again.status_code, again.json()) == (200, first)
    other = copy.deepcopy(SEED)
    other["tasks"][3]["payload"]["channel"] = "#ops"
    changed = await api.post("/v1/dags", other)
    assert changed.status_code == 201
    assert changed.json()["dag_id"] == first["dag_id"] and changed.json()["version_number"] == 2
    # the id of a task stays
    assert [one["task_id"] for one in changed.json()["tasks"]] == [one["task_id"] for one in first["tasks"]]
    back = await api.post("/v1/dags", SEED)
    assert (back.status_code, back.json()["version_number"]) == (201, 1)
    versions = (await api.get("/v1/dags/etl-pipeline/versions")).json()["items"]
    assert [one["number"] for one in versions] == [2, 1]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"dependencies": ["nothing"]}, "'nothing', which is not there"),
        ({"dependencies": ["extract"]}, "waits for itself"),
        ({"dependencies": ["notify"]}, "a cycle: "),
        ({"name": "load"}, "two tasks are called 'load'"),
        ({"payload": {}}, "a payload has one of"),
        ({"nonsense": 1}, "'nonsense' is not known here"),
    ],
)
async def test_what_is_wrong_with_a_dag_is_told_with_its_place(api: Caller, change: dict[str, Any], why: str) -> None:
    wrong = copy.deepcopy(SEED)
    wrong["tasks"][0] |= change
    answer = await api.post("/v1/dags", wrong)
    assert code(answer) == (400, "INVALID_DAG")
    error = answer.json()["error"]
    assert why in error["message"]
    assert all(one["pointer"].startswith("/tasks/") for one in error["details"]["problems"])
    assert (await api.get("/v1/dags")).json()["items"] == []


async def test_a_schedule_that_is_wrong_is_refused(api: Caller) -> None:
    for change, said in (
        ({"cron_expression": "61 * * * *"}, "INVALID_CRON"), ({"timezone": "Mars/Olympus"}, "INVALID_TIMEZONE"),
        ({"cron_expression": "61 * * * *", "timezone": "Mars/Olympus"}, "INVALID_DAG"),
    ):  # fmt: skip
        assert code(await api.post("/v1/dags", SEED | change)) == (400, said)


async def test_where_nobody_leads_no_schedule_is_taken_and_no_run(api: Caller, database: Database) -> None:
    assert (await api.post("/v1/dags", SEED)).status_code == 201
    async with database.tx() as tx:
        await tx.run("update weft.leaders set lease_until = now() - interval '31 seconds'")
    for asked in (api.post("/v1/dags", SEED | {"name": "other"}), api.post("/v1/dags/etl-pipeline/trigger", {})):
        answer = await asked
        assert code(answer) == (503, "SCHEDULER_UNAVAILABLE") and answer.headers["retry-after"]
    unscheduled = {key: value for key, value in SEED.items() if key != "cron_expression"} | {"name": "no schedule"}
    assert (await api.post("/v1/dags", unscheduled)).status_code == 201


async def test_trigger_list_and_look_at_runs(api: Caller) -> None:
    dag = (await api.post("/v1/dags", SEED)).json()
    wanted = {"idempotency_key": "k", "scheduled_time": "2026-01-15T02:00:00Z"}
    made = await api.post("/v1/dags/etl-pipeline/trigger", wanted)
    assert made.status_code == 201
    run = made.json()
    assert (run["dag_id"], run["status"], run["scheduled_time"]) == (dag["dag_id"], "RUNNING", "2026-01-15T02:00:00Z")
    again = await api.post("/v1/dags/etl-pipeline/trigger", {"idempotency_key": "k"})
    assert (again.status_code, again.json()["dag_run_id"]) == (200, run["dag_run_id"])
    second = (await api.post("/v1/dags/etl-pipeline/trigger", {})).json()
    first_page = (await api.get("/v1/dags/etl-pipeline/runs?limit=1")).json()
    assert [one["dag_run_id"] for one in first_page["items"]] == [second["dag_run_id"]]
    rest = (await api.get("/v1/dags/etl-pipeline/runs", params={"cursor": first_page["next_cursor"]})).json()
    assert [one["dag_run_id"] for one in rest["items"]] == [run["dag_run_id"]]
    whole = (await api.get(f"/v1/dag-runs/{run['dag_run_id']}")).json()
    assert whole["task_states"] == {"running": 1, "pending": 3} and not whole["more_task_instances"]
    assert [(one["name"], one["status"], one["attempt_number"]) for one in whole["task_instances"]] == [
        ("extract", "QUEUED", 0), ("transform", "PENDING", 0), ("load", "PENDING", 0), ("notify", "PENDING", 0),
    ]  # fmt: skip
    assert [one["task_id"] for one in whole["task_instances"]] == [one["task_id"] for one in dag["tasks"]]
    why = (await api.get(f"/v1/dag-runs/{run['dag_run_id']}/explain")).json()
    assert why["code"] == "no_worker" and why["summary"].startswith("extract: no worker serves the queue 'default'")
    page = (await api.get(f"/v1/dag-runs/{run['dag_run_id']}/tasks?limit=3")).json()
    rest = (await api.get(f"/v1/dag-runs/{run['dag_run_id']}/tasks", params={"cursor": page["next_cursor"]})).json()
    assert [one["name"] for one in page["items"] + rest["items"]] == ["extract", "transform", "load", "notify"]
    listed = (await api.get("/v1/runs?kind=dag")).json()["items"]
    assert [one["id"] for one in listed] == [second["dag_run_id"], run["dag_run_id"]]
    steps = (await api.get(f"/v1/runs/{run['dag_run_id']}/steps")).json()["items"]
    assert [one["node"] for one in steps] == ["extract", "load", "notify", "transform"]
    first = (await api.get(f"/v1/runs/{run['dag_run_id']}/steps?limit=3")).json()
    rest = (await api.get(f"/v1/runs/{run['dag_run_id']}/steps", params={"cursor": first["next_cursor"]})).json()
    assert [one["node"] for one in first["items"] + rest["items"]] == [one["node"] for one in steps]


async def test_what_people_do_to_a_run(api: Caller) -> None:
    await api.post("/v1/dags", SEED)
    run = (await api.post("/v1/dags/etl-pipeline/trigger", {})).json()["dag_run_id"]
    assert (await api.post(f"/v1/dag-runs/{run}/pause")).json()["state"] == "paused"
    assert code(await api.post(f"/v1/dag-runs/{run}/pause")) == (409, "CONFLICT")
    assert (await api.post(f"/v1/dag-runs/{run}/resume")).json()["state"] == "running"
    assert code(await api.post(f"/v1/dag-runs/{run}/rerun")) == (409, "CONFLICT")
    assert code(await api.post(f"/v1/dag-runs/{run}/mark", {"task": "extrakt", "status": "FAILED"})) == (404, "NOT_FOUND")
    done = await api.post(f"/v1/dag-runs/{run}/mark", {"task": "extract", "status": "FAILED"})
    assert (done.json()["status"], done.json()["failed_task"]) == ("FAILED", "extract")
    whole = (await api.get(f"/v1/dag-runs/{run}")).json()
    assert whole["task_states"] == {"failed": 1, "upstream_failed": 3}
    again = (await api.post(f"/v1/dag-runs/{run}/rerun")).json()
    assert (again["run"]["status"], again["tasks"]) == ("RUNNING", ["extract", "load", "notify", "transform"])
    assert (await api.post(f"/v1/dag-runs/{run}/cancel")).json()["status"] == "CANCELLED"
    assert (await api.post(f"/v1/dag-runs/{run}/cancel")).json()["status"] == "CANCELLED"
    cleared = (await api.post(f"/v1/dag-runs/{run}/clear", {"tasks": ["load"]})).json()
    assert cleared["tasks"] == ["load", "notify"]


async def test_another_orgs_dags_and_runs_are_not_there(api: Caller) -> None:
    dag = (await api.post("/v1/dags", SEED)).json()["dag_id"]
    run = (await api.post(f"/v1/dags/{dag}/trigger", {})).json()["dag_run_id"]
    own = f"/v1/dag-runs/{run}"
    for path in (f"/v1/dags/{dag}", "/v1/dags/etl-pipeline", own, f"{own}/tasks", f"{own}/explain", f"/v1/runs/{run}"):
        assert code(await api.get(path, role="other:admin")) == (404, "NOT_FOUND"), path
    for verb in ("cancel", "pause", "resume", "rerun"):
        assert code(await api.post(f"/v1/dag-runs/{run}/{verb}", role="other:admin")) == (404, "NOT_FOUND"), verb
    assert (await api.get("/v1/dags", role="other:admin")).json()["items"] == []
    assert (await api.post("/v1/dags", SEED, role="other:admin")).json()["dag_id"] != dag


async def test_a_deleted_dag_is_gone_and_its_name_is_free(api: Caller) -> None:
    dag = (await api.post("/v1/dags", SEED)).json()["dag_id"]
    run = (await api.post(f"/v1/dags/{dag}/trigger", {})).json()["dag_run_id"]
    assert (await api.delete(f"/v1/dags/{dag}")).status_code == 204
    assert code(await api.get(f"/v1/dags/{dag}")) == (404, "NOT_FOUND")
    assert (await api.get(f"/v1/dag-runs/{run}")).status_code == 200
    assert (await api.post("/v1/dags", SEED)).json()["dag_id"] != dag


async def test_a_definition_of_more_than_8_mib_is_refused(api: Caller) -> None:
    large = {**SEED, "description": "x" * (8 * 1024 * 1024)}
    assert code(await api.post("/v1/dags", large)) == (413, "TOO_LARGE")
