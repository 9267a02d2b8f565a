"""Results that are waited for, and logs by pages and as they are written."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from calling import Caller, caller, code

import hands
from weft.api import task_output
from weft.base import json
from weft.db.database import Database
from weft.db.notify import Hub
from weft.journal import sequence
from weft.queue.model import Claimed


async def running(api: Caller, database: Database) -> tuple[str, Claimed]:
    id = (await api.post("/v1/tasks", {"kind": "mail"})).json()["id"]
    async with database.tx() as tx:
        return id, await hands.claim_one(tx)


async def finish(database: Database, task: Claimed) -> None:
    async with database.tx() as tx:
        await hands.end(tx, [task], "completed", result='{"sent": true}')
        await sequence.once(tx)


async def write(database: Database, task: Claimed, *messages: str) -> None:
    async with database.tx() as tx:
        for message in messages:
            await tx.run(
                "insert into weft.task_logs (task_id, org_id, attempt, at, level, message) "
                "values (%(id)s, %(org)s, 1, weft.now(), 'info', %(message)s)",
                {"id": task.id, "org": task.org, "message": message},
            )


async def test_a_result_that_is_not_there_yet_is_said_so_at_once(api: Caller, database: Database) -> None:
    id, task = await running(api, database)
    early = await api.get(f"/v1/tasks/{id}/result")
    assert (early.status_code, early.json()["ended"], early.json()["state"]) == (202, False, "running")
    await finish(database, task)
    late = await api.get(f"/v1/tasks/{id}/result")
    assert late.status_code == 200
    assert late.json() == {
        "id": id, "ended": True, "state": "completed", "reason": None, "result": {"sent": True}, "error": None,
    }  # fmt: skip


@contextlib.asynccontextmanager
async def listening(database: Database) -> AsyncIterator[Hub]:
    hub = Hub(database)
    heard = asyncio.Event()
    hub.add("weft_changes", lambda _: heard.set())
    task = asyncio.create_task(hub.run())
    await heard.wait()
    try:
        yield hub
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("hears", [True, False])
async def test_many_wait_for_results_with_no_connection_between_them(database: Database, hears: bool) -> None:
    async with contextlib.AsyncExitStack() as stack:
        api = await caller(database, hub=await stack.enter_async_context(listening(database)) if hears else None)
        id, task = await running(api, database)
        other, _ = await running(api, database)
        # more than the pool has connections, which are 8
        waiting = [asyncio.create_task(api.get(f"/v1/tasks/{id}/result?wait=30")) for _ in range(30)]
        patient = asyncio.create_task(api.get(f"/v1/tasks/{other}/result?wait=30"))
        await asyncio.wait(waiting, timeout=0.2)
        assert not any(one.done() for one in waiting)
        assert (await api.get(f"/v1/tasks/{id}")).status_code == 200
        await finish(database, task)
        answers = await asyncio.gather(*waiting)
        assert [(one.status_code, one.json()["result"]) for one in answers] == [(200, {"sent": True})] * 30
        assert not patient.done()
        service = api.client._transport.app.state.service  # type: ignore[attr-defined]
        service.waiting.closed.set()
        stopped = await patient
        assert (stopped.status_code, stopped.json()["ended"]) == (202, False)


async def test_waiting_ends_when_the_time_is_up(api: Caller, database: Database) -> None:
    id, _ = await running(api, database)
    answer = await api.get(f"/v1/tasks/{id}/result?wait=0.05")
    assert (answer.status_code, answer.json()["ended"]) == (202, False)


@pytest.mark.parametrize("wait", ["-1", "61", "nan", "inf", "null", "soon", ""])
async def test_a_wait_out_of_bounds_is_refused(api: Caller, database: Database, wait: str) -> None:
    id, _ = await running(api, database)
    assert code(await api.get(f"/v1/tasks/{id}/result?wait={wait}")) == (400, "INVALID_INPUT")


async def test_a_log_is_read_page_by_page(api: Caller, database: Database) -> None:
    id, task = await running(api, database)
    await write(database, task, *(f"line {n}" for n in range(5)))
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(3):
        query = {"limit": "2", **({} if cursor is None else {"cursor": cursor})}
        page = (await api.get(f"/v1/tasks/{id}/logs", params=query, role="reader")).json()
        seen += [line["message"] for line in page["items"]]
        cursor = page["next_cursor"]
    assert seen == [f"line {n}" for n in range(5)] and cursor is None


def events(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        found.append((fields["event"], json.loads(fields["data"])))
    return found


async def test_a_log_is_followed_to_the_end_of_its_task(api: Caller, database: Database) -> None:
    id, task = await running(api, database)
    await write(database, task, "one")
    following = asyncio.create_task(api.get(f"/v1/tasks/{id}/logs/stream"))
    await asyncio.wait([following], timeout=0.1)
    await write(database, task, "two")
    await finish(database, task)
    answer = await following
    assert answer.headers["content-type"] == "text/event-stream"
    found = events(answer.text)
    assert [(name, data.get("message")) for name, data in found] == [("log", "one"), ("log", "two"), ("end", None)]
    assert found[-1][1] == {"state": "completed", "reason": None}
    last = {"last-event-id": str(found[0][1]["id"])}
    resumed = events((await api.get(f"/v1/tasks/{id}/logs/stream", headers=last)).text)
    assert [name for name, _ in resumed] == ["log", "end"] and resumed[0][1]["message"] == "two"
    assert code(await api.get(f"/v1/tasks/{id}/logs/stream", headers={"last-event-id": "x"})) == (400, "INVALID_INPUT")


async def test_a_server_that_follows_enough_logs_says_so(api: Caller, database: Database) -> None:
    id, _ = await running(api, database)
    service = api.client._transport.app.state.service  # type: ignore[attr-defined]
    service.streams.most = 0
    refused = await api.get(f"/v1/tasks/{id}/logs/stream")
    assert code(refused) == (429, "RATE_LIMITED") and refused.headers["retry-after"] == "5"


async def test_head_of_a_stream_ends_at_once(api: Caller, database: Database) -> None:
    id, _ = await running(api, database)
    asked = await api.ask("HEAD", f"/v1/tasks/{id}/logs/stream")
    assert (asked.status_code, asked.content) == (200, b"")


def test_a_wait_is_shorter_than_a_proxys_patience() -> None:
    assert task_output.LONGEST_WAIT <= 60
