"""/v1/tasks: enqueue one and many, look, cancel, redrive, explain."""

import datetime as dt
import uuid

import pytest
from calling import Caller, code

import hands
from weft.api.tasks import MOST
from weft.db.database import Database

NEW = {"kind": "mail", "payload": {"to": "ada"}}
UNKNOWN = "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f"


async def test_a_task_is_enqueued_and_shown(api: Caller) -> None:
    options = {"queue": "slow", "priority": 80, "tags": ["a"], "timeout": 1.5}
    made = await api.post("/v1/tasks", {**NEW, **options}, role="writer")
    assert made.status_code == 201 and made.json()["created"] is True
    id = made.json()["id"]
    assert made.headers["location"] == f"/v1/tasks/{id}"
    task = (await api.get(f"/v1/tasks/{id}", role="reader")).json()
    expected = {"id": id, "state": "ready", "attempt": 0, **NEW, **options}
    assert {name: task[name] for name in expected} == expected


async def test_every_option_of_enqueue_arrives(api: Caller, database: Database) -> None:
    at = dt.datetime(2040, 1, 1, tzinfo=dt.UTC)
    options = {
        "run_at": at.isoformat(), "max_attempts": 7, "retry": {"backoff": "fixed", "base": 5}, "heartbeat_timeout": 30,
        "capabilities": ["gpu"], "dedupe_key": "d", "dedupe": 3600, "concurrency_key": "k", "concurrency": "strict",
        "correlation_id": "c", "trace_parent": "t", "parent_id": UNKNOWN,
    }  # fmt: skip
    made = await api.post("/v1/tasks", {**NEW, **options})
    assert made.status_code == 201, made.text
    async with database.tx() as tx:
        row = await tx.row(
            "select run_at, max_attempts, retry ->> 'backoff', heartbeat_timeout, lane, concurrency_key, concurrency, "
            "correlation_id, trace_parent, parent_id::text from weft.tasks"
        )
        kept = await tx.value("select expires_at - weft.now() > interval '59 minutes' from weft.dedupe_keys")
    assert row == (at, 7, "fixed", dt.timedelta(seconds=30), "default+gpu", "k", 0, "c", "t", UNKNOWN)
    assert kept


async def test_a_dedupe_key_answers_the_task_that_is_there(api: Caller) -> None:
    first = await api.post("/v1/tasks", {**NEW, "dedupe_key": "once"})
    again = await api.post("/v1/tasks", {**NEW, "dedupe_key": "once"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == {"id": first.json()["id"], "created": False}


async def test_a_kind_nobody_serves_is_refused_only_if_asked(api: Caller, database: Database) -> None:
    refused = await api.post("/v1/tasks", {**NEW, "check": True})
    assert code(refused) == (409, "UNKNOWN_KIND")
    async with database.tx() as tx:
        assert await hands.count(tx) == 0
    assert (await api.post("/v1/tasks", NEW)).status_code == 201


async def test_a_batch_is_enqueued_in_order_whatever_its_options(api: Caller) -> None:
    tasks = [
        {"kind": "a", "payload": {"n": 0}}, {"kind": "b", "dedupe_key": "z", "payload": {"n": 1}},
        {"kind": "a", "payload": {"n": 2}}, {"kind": "b", "dedupe_key": "y", "payload": {"n": 3}},
        {"kind": "a", "priority": 99, "payload": {"n": 4}}, {"kind": "b", "dedupe_key": "z", "payload": {"n": 5}},
    ]  # fmt: skip
    made = await api.post("/v1/tasks/batch", {"tasks": tasks})
    assert made.status_code == 201, made.text
    items = made.json()["items"]
    assert [one["created"] for one in items] == [True] * 5 + [False]
    assert items[5]["id"] == items[1]["id"]
    numbers = [(await api.get(f"/v1/tasks/{one['id']}")).json()["payload"]["n"] for one in items]
    assert numbers == [0, 1, 2, 3, 4, 1]


@pytest.mark.parametrize(
    ("tasks", "where"),
    [
        ([NEW, {**NEW, "kind": "no\ttabs"}], "tasks[1]"),
        ([NEW, {**NEW, "delay": 1, "run_at": "2040-01-01T00:00:00Z"}], "tasks[1]: give run_at or delay"),
        ([NEW] * (MOST + 1), "tasks"),
        ([], "tasks"),
    ],
)
async def test_a_batch_with_one_bad_task_enqueues_none(
    api: Caller, database: Database, tasks: list[object], where: str
) -> None:
    refused = await api.post("/v1/tasks/batch", {"tasks": tasks})
    assert refused.status_code == 400 and where in refused.json()["error"]["message"]
    async with database.tx() as tx:
        assert await hands.count(tx) == 0


async def test_an_unchanged_task_is_not_sent_again(api: Caller, database: Database) -> None:
    id = (await api.post("/v1/tasks", NEW)).json()["id"]
    first = await api.get(f"/v1/tasks/{id}")
    tag = {"if-none-match": first.headers["etag"]}
    unchanged = await api.get(f"/v1/tasks/{id}", headers=tag)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    async with database.tx() as tx:
        await hands.claim_one(tx)
    changed = await api.get(f"/v1/tasks/{id}", headers=tag)
    assert changed.status_code == 200 and changed.json()["state"] == "running"


async def test_cancelling_says_what_it_did_and_is_written_down(api: Caller, database: Database) -> None:
    id = (await api.post("/v1/tasks", NEW)).json()["id"]
    answers = [(await api.post(f"/v1/tasks/{id}/cancel", role="writer")).json()["outcome"] for _ in range(2)]
    assert answers == ["cancelled", "finished"]
    async with database.tx() as tx:
        written = await tx.rows("select actor, object_id from weft.journal where action = 'task.cancel'")
    assert written == [("key:writer", id)]
    running = (await api.post("/v1/tasks", NEW)).json()["id"]
    async with database.tx() as tx:
        await hands.claim_one(tx)
    assert (await api.post(f"/v1/tasks/{running}/cancel")).json() == {"id": running, "outcome": "cancelling"}
    assert (await api.get(f"/v1/tasks/{running}/explain")).json()["code"] == "cancelling"


async def test_a_failed_task_is_redriven_and_others_say_why_not(api: Caller, database: Database) -> None:
    id = (await api.post("/v1/tasks", {**NEW, "max_attempts": 1})).json()["id"]
    refused = await api.post(f"/v1/tasks/{id}/redrive")
    assert code(refused) == (409, "CONFLICT") and "has not ended" in refused.json()["error"]["message"]
    async with database.tx() as tx:
        await hands.end(tx, [await hands.claim_one(tx)], "failed", error='{"message": "no"}')
    assert (await api.get(f"/v1/tasks/{id}")).json()["reason"] == "dead"
    again = await api.post(f"/v1/tasks/{id}/redrive")
    assert again.status_code == 200 and again.json()["state"] == "ready" and len(again.json()["attempts"]) == 1
    async with database.tx() as tx:
        await hands.end(tx, [await hands.claim_one(tx)], "completed")
    refused = await api.post(f"/v1/tasks/{id}/redrive")
    assert code(refused) == (409, "CONFLICT") and "enqueue a new one" in refused.json()["error"]["message"]


async def test_explaining_names_the_reason_also_of_what_has_ended(api: Caller) -> None:
    id = (await api.post("/v1/tasks", NEW)).json()["id"]
    assert (await api.get(f"/v1/tasks/{id}/explain")).json()["code"] == "no_worker"
    await api.post(f"/v1/tasks/{id}/cancel")
    explained = (await api.get(f"/v1/tasks/{id}/explain")).json()
    assert explained["code"] == "finished" and "cancelled" in explained["summary"]


@pytest.mark.parametrize("path", ["", "/explain", "/result", "/logs", "/logs/stream"])
async def test_an_unknown_task_is_not_found(api: Caller, path: str) -> None:
    assert code(await api.get(f"/v1/tasks/{UNKNOWN}{path}")) == (404, "NOT_FOUND")
    assert code(await api.get(f"/v1/tasks/{uuid.UUID(int=0)}{path}")) == (404, "NOT_FOUND")
    assert code(await api.get(f"/v1/tasks/nonsense{path}")) == (404, "NOT_FOUND")
