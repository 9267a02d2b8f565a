"""Contract of `/workers`: registration, heartbeat, claims, reports; who is lost, and what becomes of what it ran."""

import asyncio
import datetime as dt
import uuid
from typing import Any

import pytest
from lab import NOWHERE, PROBLEM, Lab, refused

from weft.base import ids
from weft.queue import tasks

GOOD: dict[str, Any] = {"id": "worker-001-kind", "backend_type": "default", "capabilities": {"max_parallel_tasks": 1}}


async def test_a_worker_introduces_itself_once(lab: Lab) -> None:
    body = {
        **GOOD, "capabilities": {"max_parallel_tasks": 2, "supported_problems": ["k8s_*"], "gpu": True},
        "metadata": {"host": "h", "version": "1", "kind_cluster": "kind-1"},
    }  # fmt: skip
    answer = await lab.post("/workers/register", body)
    told = answer.json()
    assert answer.status_code == 201
    assert (told["id"], told["status"], told["tasks_completed"], told["tasks_failed"]) == ("worker-001-kind", "idle", 0, 0)
    assert told["capabilities"] == body["capabilities"] and told["metadata"] == body["metadata"]
    assert "current_task_id" not in told and told["registered_at"] and told["last_heartbeat"]
    assert refused(await lab.post("/workers/register", body)) == (409, "CONFLICT")
    assert (await lab.beat("worker-001-kind", "idle"))["acknowledged"] is True
    assert (await lab.get("/workers")).json() == {"workers": [await lab.worker("worker-001-kind")], "total": 1}


BAD_IDS = [
    "", "worker", "worker-1-kind", "worker-0001-kind", "worker-001-kinds", "Worker-001-kind", "worker-001-kind\n",
    "\nworker-001-kind", "worker-٠٠١-kind", "worker-００１-kind", "worker-00a-kind", " worker-001-kind",
    "worker-001-kind ", 1, None,
]  # fmt: skip
BAD: dict[str, Any] = {
    **{f"the id {id!r}": {**GOOD, "id": id} for id in BAD_IDS},
    "no backend": {name: value for name, value in GOOD.items() if name != "backend_type"},
    "an empty backend": {**GOOD, "backend_type": ""},
    "a blank backend": {**GOOD, "backend_type": " "},
    "no capabilities": {name: value for name, value in GOOD.items() if name != "capabilities"},
    "empty capabilities": {**GOOD, "capabilities": {}},
    "no places": {**GOOD, "capabilities": {"max_parallel_tasks": 0}},
    "places in words": {**GOOD, "capabilities": {"max_parallel_tasks": "1"}},
    "problems that are no list": {**GOOD, "capabilities": {"max_parallel_tasks": 1, "supported_problems": "k8s"}},
    "metadata that are a list": {**GOOD, "metadata": []},
    "an unknown key": {**GOOD, "status": "idle"},
    "NUL": {**GOOD, "metadata": {"host": "\0"}},
}


async def test_what_is_wrong_with_a_worker_is_400_and_nothing_is_made(lab: Lab) -> None:
    for why, body in BAD.items():
        answer = await lab.post("/workers/register", body)
        assert refused(answer)[0] == 400, (why, answer.text)
    for raw in (b"", b"{", b"null"):
        answer = await lab.ask("POST", "/workers/register", content=raw, headers={"content-type": "application/json"})
        assert refused(answer)[0] == 400
    assert await lab.count("aiopslab_workers") == await lab.count("nodes") == 0


async def test_a_worker_nobody_knows_is_404(lab: Lab) -> None:
    await lab.submit()
    for id in ("worker-009-kind", "worker-9-kind", "x"):
        assert refused(await lab.get(f"/workers/{id}")) == (404, "NOT_FOUND")
        assert refused(await lab.post(f"/workers/{id}/claim")) == (404, "NOT_FOUND")
    body = {"worker_id": "worker-009-kind", "status": "idle"}
    assert refused(await lab.post("/workers/heartbeat", body)) == (404, "NOT_FOUND")
    for path, told in (("logs", {"logs": [{"message": "m"}]}), ("complete", {}), ("fail", {"error": "e"})):
        assert refused(await lab.post(f"/workers/worker-009-kind/tasks/{NOWHERE}/{path}", told)) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    "body",
    [{}, {"worker_id": "worker-001-kind\n"}, {"worker_id": "worker-001-kind", "status": "offline"},
     {"worker_id": "worker-001-kind", "current_task_id": "x"}, {"worker_id": "worker-001-kind", "load": 1}],
)  # fmt: skip
async def test_a_bad_heartbeat_is_400(lab: Lab, body: Any) -> None:
    await lab.register()
    assert refused(await lab.post("/workers/heartbeat", body))[0] == 400


async def test_claims_go_by_priority_then_age(lab: Lab) -> None:
    made = [await lab.submit(priority=priority) for priority in (5, 1, 10, 5, 0, 10)]
    worker = await lab.register()
    order = []
    while (id := await lab.claim(worker)) is not None:
        order.append(id)
        task = await lab.task(id)
        assert (task["status"], task["worker_id"]) == ("running", worker) and task["started_at"]
        busy = await lab.worker(worker)
        assert (busy["status"], busy["current_task_id"], busy["running_task_ids"]) == ("busy", id, [id])
        assert refused(await lab.post(f"/workers/{worker}/claim")) == (409, "CONFLICT")
        assert (await lab.post(f"/workers/{worker}/tasks/{id}/complete", {})).status_code == 200
        assert "current_task_id" not in await lab.worker(worker)
    assert order == [made[index] for index in (2, 5, 0, 3, 1, 4)]
    assert (await lab.worker(worker))["tasks_completed"] == 6


async def test_a_heartbeat_of_an_idle_worker_brings_the_next_task(lab: Lab) -> None:
    worker, id = await lab.register(), await lab.submit()
    assert "next_task_id" not in await lab.beat(worker, "busy")
    told = await lab.beat(worker, "idle")
    assert (told["next_task_id"], told["running_task_ids"]) == (id, [id])
    assert (await lab.task(id))["worker_id"] == worker
    await lab.submit()
    assert "next_task_id" not in await lab.beat(worker, "idle"), "it has no place"


async def test_a_claim_needs_the_backend_and_a_problem_the_worker_takes(lab: Lab) -> None:
    gpu = await lab.submit(metadata={"backend_type": "gpu"})
    odd = await lab.submit("100%_sure\\")
    k8s = await lab.submit("k8s_x")
    picky = await lab.register(1, supported_problems=["k8s_?", "other*"])
    literal = await lab.register(2, supported_problems=["100%_sure\\"])
    strong = await lab.register(3, backend="gpu", supported_problems=["*"])
    assert [await lab.claim(picky), await lab.claim(literal), await lab.claim(strong)] == [k8s, odd, gpu]
    near_miss = await lab.register(4, supported_problems=["k8sxx", "%", "_"])
    await lab.submit("k8s_x")
    assert await lab.claim(near_miss) is None


async def test_a_worker_with_three_places_is_busy_when_they_are_full(lab: Lab) -> None:
    worker = await lab.register(places=3)
    made = [await lab.submit() for _ in range(4)]
    assert [await lab.claim(worker) for _ in range(2)] == made[:2]
    half = await lab.worker(worker)
    assert half["status"] == "idle" and "current_task_id" not in half and half["running_task_ids"] == made[:2]
    assert await lab.claim(worker) == made[2]
    full = await lab.worker(worker)
    assert (full["status"], full["current_task_id"]) == ("busy", made[0])
    assert refused(await lab.post(f"/workers/{worker}/claim")) == (409, "CONFLICT")


async def test_two_claims_of_one_worker_at_once_take_one_task(lab: Lab) -> None:
    worker = await lab.register()
    for _ in range(3):
        await lab.submit()
    answers = await asyncio.gather(*(lab.post(f"/workers/{worker}/claim") for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
    assert len((await lab.worker(worker))["running_task_ids"]) == 1


async def test_only_the_owner_may_speak_of_a_task_and_only_while_it_runs(lab: Lab) -> None:
    mine, other = await lab.register(1), await lab.register(2)
    id, pending = await lab.submit(priority=9), await lab.submit()
    reports = {
        "logs": {"logs": [{"message": "m"}]}, "conversation": {"messages": [{"role": "user", "content": "c"}]},
        "complete": {"output": {}}, "fail": {"error": "e"},
    }  # fmt: skip
    assert await lab.claim(mine) == id
    for path, body in reports.items():
        assert refused(await lab.post(f"/workers/{other}/tasks/{id}/{path}", body)) == (409, "CONFLICT")
        assert refused(await lab.post(f"/workers/{mine}/tasks/{pending}/{path}", body)) == (409, "CONFLICT")
        assert refused(await lab.post(f"/workers/{mine}/tasks/{NOWHERE}/{path}", body)) == (404, "NOT_FOUND")
    task = await lab.task(id, include_logs="true")
    assert task["status"] == "running" and task["logs"] == []
    for path in ("logs", "conversation"):
        assert (await lab.post(f"/workers/{mine}/tasks/{id}/{path}", reports[path])).json() == {"accepted": 1}
    failed = await lab.post(f"/workers/{mine}/tasks/{id}/fail", {"error": "no cluster", "metrics": {"steps": 1}})
    told = failed.json()
    assert (told["status"], told["error_details"], told["worker_id"]) == ("failed", "no cluster", mine)
    assert told["result"]["metrics"] == {"steps": 1}
    for path, body in reports.items():
        assert refused(await lab.post(f"/workers/{mine}/tasks/{id}/{path}", body)) == (409, "CONFLICT")
    [said] = (await lab.get(f"/tasks/{id}/conversation")).json()["messages"]
    assert (said["role"], said["content"]) == ("user", "c")
    worker = await lab.worker(mine)
    assert (worker["status"], worker["tasks_completed"], worker["tasks_failed"]) == ("idle", 0, 1)


@pytest.mark.parametrize(
    ("path", "body"),
    [("logs", {}), ("logs", {"logs": []}), ("logs", {"logs": [{}]}), ("logs", {"logs": [{"message": "m", "level": "loud"}]}),
     ("logs", {"logs": [{"message": "m", "context": {"where": 1}}]}), ("logs", {"logs": [{"message": "m\0"}]}),
     ("logs", {"logs": [{"message": "m"}] * 1001}), ("conversation", {"messages": [{"role": "", "content": ""}]}),
     ("complete", {"output": []}), ("complete", {"solved": True}), ("fail", {}), ("fail", {"error": ""})],
)  # fmt: skip
async def test_a_bad_report_is_400_and_changes_nothing(lab: Lab, path: str, body: Any) -> None:
    worker, id = await lab.register(), await lab.submit()
    await lab.claim(worker)
    assert refused(await lab.post(f"/workers/{worker}/tasks/{id}/{path}", body))[0] == 400
    assert (await lab.task(id))["status"] == "running" and await lab.count("task_logs") == 0


async def test_a_lost_worker_is_offline_and_its_task_has_failed_for_good(lab: Lab) -> None:
    worker, id = await lab.register(), await lab.submit()
    await lab.claim(worker)
    await lab.advance(seconds=45)
    assert (await lab.beat(worker))["running_task_ids"] == [id], "a heartbeat keeps what it runs"
    await lab.advance(seconds=45)
    assert (await lab.task(id))["status"] == "running"
    await lab.advance(seconds=30)
    told = await lab.task(id)
    assert (told["status"], told["error_details"], told["worker_id"]) == ("failed", "worker lost", worker)
    gone = await lab.worker(worker)
    assert gone["status"] == "offline" and "current_task_id" not in gone and gone["tasks_failed"] == 1
    assert [one["id"] for one in (await lab.get("/workers", params={"status": "offline"})).json()["workers"]] == [worker]
    assert refused(await lab.post(f"/workers/{worker}/claim")) == (409, "CONFLICT")
    assert refused(await lab.post(f"/workers/{worker}/tasks/{id}/complete", {})) == (409, "CONFLICT")
    assert (await lab.beat(worker))["running_task_ids"] == []
    assert (await lab.worker(worker))["status"] == "idle", "it came back"
    assert await lab.claim(worker) is None, "a lost task is never pending again"


async def test_a_task_over_its_time_is_a_timeout_and_its_worker_takes_the_next(lab: Lab) -> None:
    worker = await lab.register()
    id, following = await lab.submit(timeout_minutes=1, priority=9), await lab.submit()
    assert await lab.claim(worker) == id
    for _ in range(3):
        await lab.beat(worker)
        await lab.advance(seconds=25)
    told = await lab.task(id)
    assert told["status"] == "timeout" and told["error_details"] and told["worker_id"] == worker
    assert (await lab.beat(worker))["running_task_ids"] == []
    assert await lab.claim(worker) == following
    assert (await lab.get("/tasks/stats")).json()["timeout"] == 1


@pytest.mark.parametrize(
    ("path", "body", "late"),
    [("complete", {"output": {"x": 1}}, True), ("fail", {"error": "e"}, True),
     ("fail", {"error": "e", "timed_out": True}, False)],
)  # fmt: skip
async def test_what_ends_after_its_time_is_a_timeout_whatever_it_says(lab: Lab, path: str, body: Any, late: bool) -> None:
    worker, id = await lab.register(), await lab.submit(timeout_minutes=1)
    await lab.claim(worker)
    if late:
        assert lab.clock is not None
        await lab.beat(worker)
        await lab.clock.advance(dt.timedelta(seconds=61))
    assert (await lab.post(f"/workers/{worker}/tasks/{id}/{path}", body)).json()["status"] == "timeout"


async def test_a_worker_offline_for_a_week_is_forgotten_and_its_name_is_free(lab: Lab) -> None:
    worker, id = await lab.register(), await lab.submit(PROBLEM)
    await lab.claim(worker)
    await lab.post(f"/workers/{worker}/tasks/{id}/complete", {})
    await lab.advance(days=6)
    assert (await lab.worker(worker))["status"] == "offline"
    await lab.advance(days=2)
    assert refused(await lab.get(f"/workers/{worker}")) == (404, "NOT_FOUND")
    assert (await lab.get("/workers")).json() == {"workers": [], "total": 0}
    assert await lab.count("aiopslab_workers") == 1, "its row is kept, softly deleted"
    assert (await lab.task(id))["worker_id"] == worker
    assert await lab.register() == worker
    assert (await lab.worker(worker))["tasks_completed"] == 1


async def test_a_paused_queue_and_its_limits_hold_for_workers_too(lab: Lab) -> None:
    first, second = await lab.register(1), await lab.register(2)
    made = [await lab.submit(), await lab.submit()]
    async with lab.database.tx() as tx:
        await tx.run("insert into weft.queues (org_id, name, max_running) values ('00000000-0000-7000-8000-000000000001', "
                     "'aiopslab', 1)")  # fmt: skip
    assert [await lab.claim(first), await lab.claim(second)] == [made[0], None]
    async with lab.database.tx() as tx:
        await tx.run("update weft.queues set paused = true, max_running = null")
    assert await lab.claim(second) is None
    async with lab.database.tx() as tx:
        await tx.run("update weft.queues set paused = false")
    assert await lab.claim(second) == made[1]


async def test_what_must_never_begin_twice_is_not_redriven(lab: Lab) -> None:
    worker, id = await lab.register(), await lab.submit()
    await lab.claim(worker)
    await lab.advance(seconds=61)
    async with lab.database.tx() as tx:
        assert await tasks.redrive(tx, org=ids.DEFAULT_ORG, ids=[uuid.UUID(id)], actor="test") == []
    assert (await lab.task(id))["status"] == "failed"
