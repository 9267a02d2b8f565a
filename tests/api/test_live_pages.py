"""What whole pages watch: a run with its steps, lists, the overview."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from listening import PATIENCE, Client, Listening, listening

import hands
from weft.api import live_subjects
from weft.db.database import Database
from weft.jobs import manage

_DAG = {"name": "etl", "tasks": [
    {"name": "a", "payload": {"task": "mail"}}, {"name": "b", "payload": {"task": "mail"}, "dependencies": ["a"]},
]}  # fmt: skip


@pytest.fixture
async def here(database: Database) -> AsyncIterator[Listening]:
    async with database.tx() as tx:
        await hands.lead(tx)
    async with listening(database) as made:
        yield made


async def ask(here: Listening, method: str, path: str, body: Any = None, *, role: str = "admin") -> Any:
    head = {"authorization": f"Bearer {here.keys[role]}"}
    async with httpx2.AsyncClient(base_url=here.url, headers=head, timeout=PATIENCE) as client:
        answer = await client.request(method, path, **({} if body is None else {"json": body}))
    assert answer.is_success, answer.text
    return answer.json()


async def started(here: Listening, role: str = "admin") -> str:
    await ask(here, "POST", "/v1/dags", _DAG, role=role)
    id: str = (await ask(here, "POST", "/v1/dags/etl/trigger", {}, role=role))["dag_run_id"]
    return id


async def test_a_run_is_shown_with_its_steps_until_it_is_over(here: Listening, database: Database) -> None:
    run = await started(here)
    async with here.client() as client:
        await client.subscribe("run", {"id": run})
        first = (await client.next())["data"]
        assert (first["run"]["id"], first["run"]["state"]) == (run, "running")
        assert first["counts"] == {"pending": 1, "running": 1}
        seen = first["changed"]
        for number in range(2):
            async with database.tx() as tx:
                [held] = await hands.claim_plain(tx)
            # taken, which only the queue knows
            seen = (await client.until(lambda one, seen=seen: one["data"]["changed"] != seen))["data"]["changed"]
            async with database.tx() as tx:
                await hands.end(tx, [held], result="{}")
            found = await client.until(
                lambda one, number=number: one["data"]["counts"].get("completed", 0) == number + 1
            )
            seen = found["data"]["changed"]
        last = found if found["data"]["run"]["state"] == "completed" else await client.until(
            lambda one: one["data"]["run"]["state"] == "completed"
        )
        assert last["data"]["counts"] == {"completed": 2}


async def changed(client: Client, id: str, *, than: int) -> int:
    return int((await client.shows(id, lambda data: data["changed"] != than))["changed"])


async def test_lists_say_that_they_changed(here: Listening, database: Database) -> None:
    async with here.client("admin") as client:
        seen: dict[str, int] = {}
        for name in ("runs", "jobs", "definitions", "queues", "dead", "nodes", "audit"):
            await client.subscribe(name, id=name)
            seen[name] = (await client.shows(name, lambda _: True))["changed"]
        run = await started(here)
        seen["definitions"] = await changed(client, "definitions", than=seen["definitions"])
        seen["runs"] = await changed(client, "runs", than=seen["runs"])
        await ask(here, "POST", f"/v1/dag-runs/{run}/pause")
        await changed(client, "runs", than=seen["runs"])
        cron = {"name": "hourly", "job_type": "CRON", "cron_expression": "@hourly", "payload": {"task": "mail"}}
        job = await ask(here, "POST", "/v1/jobs", cron)
        seen["jobs"] = await changed(client, "jobs", than=seen["jobs"])
        await client.subscribe("job", {"id": job["job_id"]}, id="job")
        await client.shows("job", lambda data: data["status"] == "ACTIVE")
        await ask(here, "POST", f"/v1/jobs/{job['job_id']}/pause")
        await client.shows("job", lambda data: data["status"] == "PAUSED")
        await ask(here, "POST", "/v1/queues/slow/pause")
        await changed(client, "queues", than=seen["queues"])
        await ask(here, "POST", "/v1/queues/slow/resume")
        await changed(client, "audit", than=seen["audit"])
        async with database.tx() as tx:
            await hands.put(tx, "doomed", max_attempts=1)
            [held] = await hands.claim_plain(tx, kinds=["doomed"])
            await hands.end(tx, [held], "failed")
        await changed(client, "dead", than=seen["dead"])


async def test_a_queue_that_is_paused_is_shown_as_such_by_the_feed_alone(
    here: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        live_subjects.SUBJECTS, "queue", dataclasses.replace(live_subjects.SUBJECTS["queue"], poll=None)
    )  # fmt: skip
    async with here.client() as client:
        await client.subscribe("queue", {"name": "slow"})
        assert (await client.next())["data"]["paused"] is False
        await ask(here, "POST", "/v1/queues/slow/pause")
        assert (await client.next())["data"]["paused"] is True


async def test_others_at_work_are_not_heard(here: Listening) -> None:
    async with here.client() as client:
        seen: dict[str, int] = {}
        for name in ("runs", "jobs", "definitions", "dead"):
            await client.subscribe(name, id=name)
            seen[name] = (await client.shows(name, lambda _: True))["changed"]
        looks = here.service.live.looks
        await started(here, role="other:admin")
        # it was looked at, and is the same
        async with here.client("other:reader") as theirs:
            await theirs.subscribe("runs")
            await theirs.next()
        await client.subscribe("counts")
        await client.until(lambda one: one["id"] == "s")
        async with asyncio.timeout(PATIENCE):
            while here.service.live.looks < looks + 4:
                await asyncio.sleep(0.1)
        assert all(one["data"]["changed"] == seen[one["id"]] for one in await client.quiet() if one["id"] in seen)


async def test_the_overview_is_pushed(here: Listening, database: Database) -> None:
    async with here.client() as client:
        await client.subscribe("overview", {"minutes": 5, "points": 5})
        first = (await client.next())["data"]
        assert first["queues"]["ready"] == 0 and len(first["completed"]) in (5, 6)
        async with database.tx() as tx:
            await hands.put(tx)
        await client.until(lambda one: one["data"]["queues"]["ready"] == 1)


async def test_every_change_of_a_job_is_in_the_feed_once(database: Database) -> None:
    async with database.tx() as tx:
        await hands.lead(tx)
        made = await manage.create(
            tx, {"name": "a", "cron_expression": "@daily", "payload": {"task": "mail"}}, org=hands.ORG, actor="test"
        )
        await manage.pause(tx, id=made.id, org=hands.ORG, actor="test")
        rows = await tx.rows("select op, ids from weft.change_inbox where table_name = 'jobs' order by id")
    assert rows == [("INSERT", [made.id]), ("UPDATE", [made.id])]
