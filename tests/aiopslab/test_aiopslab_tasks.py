"""Contract of `/tasks`: every operation, every status, every bad input of the seed and of its spec."""

import datetime as dt
import json
import re
import uuid
from typing import Any

import pytest
from lab import NOWHERE, PROBLEM, Lab, refused

from each import each

FULL = {
    "problem_id": PROBLEM, "agent_config": {"model": "m", "temperature": 0.2}, "max_steps": 12, "timeout_minutes": 45,
    "callback_url": "https://example.com/done?x=1", "metadata": {"team": "sre"}, "priority": 9,
}  # fmt: skip


async def test_a_task_with_nothing_but_its_problem_has_the_documented_defaults(lab: Lab) -> None:
    answer = await lab.post("/tasks", {"problem_id": PROBLEM})
    told = answer.json()
    assert answer.status_code == 201 and uuid.UUID(told["id"])
    assert told["status"] == "pending" and told["problem_id"] == PROBLEM
    assert told["parameters"] == {
        "agent_config": {}, "max_steps": 30, "timeout_minutes": 30, "metadata": {}, "priority": 5,
    }  # fmt: skip
    assert told["logs"] == [] and told["callbacks"] == []
    assert not {"worker_id", "started_at", "completed_at", "result", "error_details"} & set(told)
    assert dt.datetime.fromisoformat(told["created_at"]).tzinfo is not None
    assert await lab.task(told["id"]) == told


async def test_a_task_says_back_everything_it_was_made_with(lab: Lab) -> None:
    told = (await lab.post("/tasks", FULL)).json()
    assert told["problem_id"] == FULL["problem_id"]
    assert told["parameters"] == {name: value for name, value in FULL.items() if name != "problem_id"}


BAD: dict[str, Any] = {
    "no problem": {},
    "an empty problem": {"problem_id": ""},
    "a blank problem": {"problem_id": "  \t "},
    "a problem of spaces": {"problem_id": "   "},
    "a problem that is no text": {"problem_id": 7},
    "a problem that is null": {"problem_id": None},
    "a problem with a line end": {"problem_id": "a\n"},
    "a problem that is too long": {"problem_id": "x" * 256},
    "parameters in a nest": {"problem_id": PROBLEM, "parameters": {"max_steps": 3}},
    "an unknown key": {"problem_id": PROBLEM, "retries": 3},
    "a status": {"problem_id": PROBLEM, "status": "completed"},
    "no steps": {"problem_id": PROBLEM, "max_steps": 0},
    "too many steps": {"problem_id": PROBLEM, "max_steps": 1001},
    "half a step": {"problem_id": PROBLEM, "max_steps": 1.5},
    "steps in words": {"problem_id": PROBLEM, "max_steps": "30"},
    "steps that are true": {"problem_id": PROBLEM, "max_steps": True},
    "no time": {"problem_id": PROBLEM, "timeout_minutes": 0},
    "too much time": {"problem_id": PROBLEM, "timeout_minutes": 181},
    "a priority below": {"problem_id": PROBLEM, "priority": -1},
    "a priority above": {"problem_id": PROBLEM, "priority": 11},
    "an agent that is a list": {"problem_id": PROBLEM, "agent_config": []},
    "metadata that are text": {"problem_id": PROBLEM, "metadata": "x"},
    "metadata with NUL": {"problem_id": PROBLEM, "metadata": {"x": "\0"}},
    "a backend that is no text": {"problem_id": PROBLEM, "metadata": {"backend_type": 3}},
    "a callback that is no URL": {"problem_id": PROBLEM, "callback_url": "nowhere"},
    "a callback without a host": {"problem_id": PROBLEM, "callback_url": "http://"},
    "a callback by FTP": {"problem_id": PROBLEM, "callback_url": "ftp://example.com/x"},
    "a callback with a password": {"problem_id": PROBLEM, "callback_url": "http://me:secret@example.com/"},
    "a callback with a space": {"problem_id": PROBLEM, "callback_url": "http://example.com/a b"},
    "an empty callback": {"problem_id": PROBLEM, "callback_url": ""},
    "far too much": {"problem_id": PROBLEM, "metadata": {"x": "y" * 300_000}},
    "a list": [],
    "text": "problem",
    "null": None,
}


async def test_what_is_wrong_with_a_task_is_400_and_nothing_is_made(lab: Lab) -> None:
    for why, body in BAD.items():
        answer = await lab.ask("POST", "/tasks", content=_json(body), headers={"content-type": "application/json"})
        assert refused(answer)[0] == 400, (why, answer.text)
    for raw in (b"", b"{", b"{'problem_id': 1}", b'{"problem_id": "x"', b"\xff", b'{"problem_id": NaN}', b"[" * 5000):
        answer = await lab.ask("POST", "/tasks", content=raw, headers={"content-type": "application/json"})
        assert refused(answer)[0] == 400, (raw[:40], answer.text)
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = await lab.ask("POST", "/tasks", content=b'{"problem_id": "x"}', headers={"content-type": kind})
        assert refused(answer) == (400, "UNSUPPORTED_MEDIA_TYPE")
    for table in ("tasks", "task_history", "aiopslab_problems", "outbox", "change_inbox"):
        assert await lab.count(table) == 0, table


def _json(body: Any) -> bytes:
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    ("name", "least", "most"), [("max_steps", 1, 1000), ("timeout_minutes", 1, 180), ("priority", 0, 10)]
)
async def test_the_bounds_themselves_are_fine(lab: Lab, name: str, least: int, most: int) -> None:
    for value in (least, most, float(most)):
        answer = await lab.post("/tasks", {"problem_id": PROBLEM, name: value})
        assert answer.status_code == 201 and answer.json()["parameters"][name] == int(value)


async def test_a_key_of_the_caller_s_makes_one_task_of_two_requests(lab: Lab) -> None:
    first, again = [
        await lab.post("/tasks", {"problem_id": PROBLEM}, headers={"idempotency-key": "k"}) for _ in range(2)
    ]  # fmt: skip
    assert first.status_code == again.status_code == 201 and first.json()["id"] == again.json()["id"]
    assert await lab.count("tasks") == 1


async def test_what_is_not_there_is_404_in_the_seed_s_words(lab: Lab) -> None:
    one = f"/tasks/{NOWHERE}"
    for path in (one, f"{one}/logs", f"{one}/conversation", "/tasks/x", "/nowhere", "/"):
        assert refused(await lab.get(path)) == (404, "NOT_FOUND"), path
    assert refused(await lab.delete(f"/tasks/{NOWHERE}")) == (404, "NOT_FOUND")
    assert refused(await lab.ask("PUT", "/tasks")) == (405, "METHOD_NOT_ALLOWED")


async def test_lists_filter_page_and_sort(lab: Lab) -> None:
    made = [await lab.submit(problem, priority=priority) for problem, priority in (("a", 1), ("b", 9), ("a", 5), ("c", 5))]
    worker = await lab.register()
    claimed = await lab.claim(worker)
    assert claimed == made[1]

    async def ids(**query: Any) -> list[str]:
        answer = await lab.get("/tasks", params=query)
        assert answer.status_code == 200, answer.text
        return [one["id"] for one in answer.json()["tasks"]]

    everything = (await lab.get("/tasks")).json()
    assert (everything["total"], everything["limit"], everything["offset"]) == (4, 20, 0)
    assert not {"logs", "result"} & set(everything["tasks"][0])
    assert await ids() == made[::-1]
    assert await ids(sort="created_at") == made == await ids(sort="+created_at")
    assert await ids(sort="-priority,created_at") == [made[1], made[2], made[3], made[0]]
    assert await ids(sort="priority,-created_at") == [made[0], made[3], made[2], made[1]]
    assert await ids(problem_id="a", sort="created_at") == [made[0], made[2]]
    assert await ids(status="running") == [made[1]] == await ids(worker_id=worker)
    assert await ids(status="completed") == await ids(worker_id="nobody") == []
    assert await ids(limit=2, offset=1) == [made[2], made[1]]
    page = (await lab.get("/tasks", params={"offset": 100, "status": "pending"})).json()
    assert (page["tasks"], page["total"]) == ([], 3)


@pytest.mark.parametrize("sort", ["-created_at", "created_at", "-priority", "priority,-created_at", "-priority,created_at"])
async def test_a_cursor_goes_on_where_the_page_ended_whatever_is_submitted_meanwhile(lab: Lab, sort: str) -> None:
    for number in range(5):
        await lab.submit(f"p{number}", priority=number % 2)
    expected = [one["id"] for one in (await lab.get("/tasks", params={"sort": sort})).json()["tasks"]]
    found: list[str] = []
    query: dict[str, Any] = {"sort": sort, "limit": 2}
    while True:
        page = (await lab.get("/tasks", params=query)).json()
        found += [one["id"] for one in page["tasks"] if one["id"] in expected]
        if "next_cursor" not in page:
            break
        query["cursor"] = page["next_cursor"]
        if page["total"] < 8:
            await lab.submit("later", priority=1)
    assert found == expected


@each(
    "query",
    ["limit=0", "limit=101", "limit=x", "limit=", "offset=-1", "status=done", "status=PENDING", "sort=name", "sort=",
     "sort=created_at,created_at,priority", "page=1", "status=pending&status=failed", "problem_id=", "cursor=x",
     "cursor=MVsieCIsICIwIiwgMV0", "offset=1&cursor=x"],
)  # fmt: skip
async def test_a_bad_question_is_400(lab: Lab, query: str) -> None:
    assert refused(await lab.get(f"/tasks?{query}"))[0] == 400


async def test_a_pending_task_is_cancelled_and_never_runs(lab: Lab) -> None:
    id = await lab.submit()
    told = (await lab.delete(f"/tasks/{id}")).json()
    assert (told["status"], told["error_details"]) == ("failed", "cancelled by request")
    assert "worker_id" not in told and "started_at" not in told and told["completed_at"]
    assert await lab.claim(await lab.register()) is None
    assert refused(await lab.delete(f"/tasks/{id}")) == (409, "CONFLICT")


async def test_a_running_task_is_cancelled_and_its_worker_is_free_and_told(lab: Lab) -> None:
    id, worker = await lab.submit(), await lab.register()
    await lab.claim(worker)
    told = (await lab.delete(f"/tasks/{id}")).json()
    assert (told["status"], told["error_details"], told["worker_id"]) == ("failed", "cancelled by request", worker)
    assert (await lab.beat(worker))["running_task_ids"] == []
    assert (await lab.worker(worker))["status"] == "idle"
    for path, body in (("complete", {}), ("fail", {"error": "x"}), ("logs", {"logs": [{"message": "m"}]})):
        assert refused(await lab.post(f"/workers/{worker}/tasks/{id}/{path}", body)) == (409, "CONFLICT")
    assert (await lab.task(id))["status"] == "failed"


async def test_logs_are_in_order_filtered_and_within_the_time_of_the_task(lab: Lab) -> None:
    id, worker = await lab.submit(), await lab.register()
    await lab.claim(worker)
    await lab.advance(seconds=1)
    lines = [
        {"level": "debug", "message": "one", "timestamp": "1999-01-01T00:00:00Z"},
        {"level": "error", "message": "two", "context": {"step": 2, "action": "get", "details": {"a": [1]}}},
        {"message": "three", "timestamp": "2990-01-01T00:00:00Z"},
    ]
    kept = await lab.post(f"/workers/{worker}/tasks/{id}/logs", {"logs": lines})
    assert (kept.status_code, kept.json()) == (200, {"accepted": 3})
    told = (await lab.get(f"/tasks/{id}/logs")).json()
    assert told["task_id"] == id and [one["message"] for one in told["logs"]] == ["one", "two", "three"]
    assert [one["context"] for one in told["logs"][:2]] == [{}, {"step": 2, "action": "get", "details": {"a": [1]}}]
    task = await lab.task(id, include_logs="true")
    assert task["logs"] == told["logs"] and (await lab.task(id))["logs"] == []
    for one in told["logs"]:
        assert uuid.UUID(one["id"]) and task["started_at"] <= one["timestamp"]
    only = (await lab.get(f"/tasks/{id}/logs", params={"level": "error"})).json()["logs"]
    assert [one["message"] for one in only] == ["two"]
    after = (await lab.get(f"/tasks/{id}/logs", params={"since": told["logs"][0]["timestamp"]})).json()["logs"]
    assert [one["message"] for one in after] == ["two", "three"]
    for query in ("level=loud", "since=yesterday", "since=2026-01-01", "tail=3"):
        assert refused(await lab.get(f"/tasks/{id}/logs?{query}"))[0] == 400
    done = await lab.post(f"/workers/{worker}/tasks/{id}/complete", {"output": {"solved": True}, "metrics": {"steps": 2}})
    assert done.status_code == 200
    detailed = await lab.task(id, include_logs="true")
    assert detailed["result"] == {"logs": told["logs"], "metrics": {"steps": 2}, "output": {"solved": True}}
    assert detailed["completed_at"] >= told["logs"][-1]["timestamp"]


async def test_statistics_are_of_the_last_day(lab: Lab) -> None:
    empty = (await lab.get("/tasks/stats")).json()
    assert empty == {
        "total": 0, "pending": 0, "running": 0, "completed": 0, "failed": 0, "timeout": 0, "success_rate": 0.0,
    }  # fmt: skip
    await lab.submit("old")
    await lab.advance(hours=25)
    worker = await lab.register()
    done, failed, running, _waiting = [await lab.submit(priority=priority) for priority in (9, 8, 7, 0)]
    for id, path, body in ((done, "complete", {}), (failed, "fail", {"error": "no"})):
        assert await lab.claim(worker) == id
        await lab.post(f"/workers/{worker}/tasks/{id}/{path}", body)
    assert await lab.claim(worker) == running
    told = (await lab.get("/tasks/stats")).json()
    assert told.pop("avg_duration") >= 0
    assert told == {
        "total": 4, "pending": 1, "running": 1, "completed": 1, "failed": 1, "timeout": 0, "success_rate": 0.5,
    }  # fmt: skip


async def test_what_a_task_leaves_lies_in_the_month_of_its_id(lab: Lab) -> None:
    id, worker = await lab.submit(), await lab.register()
    await lab.claim(worker)
    await lab.post(f"/workers/{worker}/tasks/{id}/conversation", {"messages": [{"role": "user", "content": "c"}]})
    await lab.post(f"/workers/{worker}/tasks/{id}/complete", {})
    async with lab.database.once() as tx:
        rows = await tx.rows(
            "select tableoid::regclass::text from weft.aiopslab_problems union all "
            "select tableoid::regclass::text from weft.aiopslab_messages union all "
            "select tableoid::regclass::text from weft.task_history"
        )
    assert len(rows) == 3 and all(re.search(r"_\d{4}_\d{2}$", name) for (name,) in rows), rows
