"""What the UI's first page, its search box and its lists ask for."""

import datetime as dt
import uuid
from typing import Any

import pytest
from calling import Caller, code

import hands
from weft.api import overview, search
from weft.base import ids
from weft.db.database import Database
from weft.flows import search as runs
from weft.flows.search import Filter
from weft.queue import minutes

_MINUTE = dt.timedelta(minutes=1)
_NINE = dt.datetime(2026, 1, 5, 9, 0, tzinfo=dt.UTC)


async def _ended(database: Database, *, ago: int, how: Any = "completed", queue: str = "default") -> None:
    """A task that ended so many minutes ago."""
    async with database.tx() as tx:
        await hands.put(tx, queue=queue, max_attempts=1)
        await hands.end(tx, [await hands.claim_one(tx)], how)
        await tx.run(
            "update weft.task_history set finished_at = weft.now() - %(ago)s where finished_at > weft.now() - %(new)s",
            {"ago": _MINUTE * ago, "new": _MINUTE / 2},
        )


async def test_what_ended_is_the_same_before_and_after_it_was_counted(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await tx.run("update weft.task_minutes_until set until = until - interval '1 hour'")
    for ago, how, queue in ((3, "completed", "a"), (3, "failed", "b"), (20, "completed", "a"), (0, "completed", "a")):
        await _ended(database, ago=ago, how=how, queue=queue)
    before = (await api.get("/v1/overview")).json()
    assert (sum(before["completed"]), sum(before["failed"]), before["step"]) == (3, 1, 60)
    assert len(before["completed"]) in (60, 61) and before["dead"] == 1
    async with database.tx() as tx:
        assert "minute counter" in await hands.stirs(tx)
        while "minute counter" in await hands.stirs(tx):
            await minutes.once(tx)
        rows = await tx.rows("select queue, sum(completed), sum(failed) from weft.task_minutes group by 1 order by 1")
    # one that ended just now may belong to a minute that is not over
    assert [row[0] for row in rows] == ["", "a", "b"] and rows[2][1:] == (0, 1) and rows[0][2] == 1
    same = {"from": before["from"], "to": before["to"], "points": len(before["completed"])}
    after = (await api.get("/v1/overview", params=same)).json()
    assert (after["completed"], after["failed"]) == (before["completed"], before["failed"])
    of_a = (await api.get("/v1/overview", params={"queue": "a"})).json()
    assert (sum(of_a["completed"]), sum(of_a["failed"])) == (3, 0)
    theirs = (await api.get("/v1/overview", role="other:reader")).json()
    assert sum(theirs["completed"]) == 0 and theirs["dead"] == 0


async def test_what_waits_is_seen_now_and_later(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await hands.put(tx, queue="a")
        await hands.claim_one(tx)
        for queue in ("a", "b"):
            await hands.put_many(tx, 2, queue=queue)
        await tx.run("update weft.tasks set run_at = run_at - interval '5 minutes' where queue = 'b'")
        await tx.run("update weft.task_minutes_until set until = until - interval '2 minutes'")
    now = (await api.get("/v1/overview")).json()
    assert (now["waiting"][-1], now["running"][-1]) == (4, 1) and 300 <= now["oldest"][-1] < 900
    async with database.tx() as tx:
        await minutes.once(tx)
        # what was seen stays, whatever became of it
        await tx.run("delete from weft.tasks")
    later = (await api.get("/v1/overview")).json()
    assert (max(later["waiting"]), max(later["running"]), later["queues"]["ready"]) == (4, 1, 0)
    of_b = (await api.get("/v1/overview", params={"queue": "b"})).json()
    assert max(of_b["waiting"]) == 2 and max(of_b["oldest"]) >= 300
    theirs = (await api.get("/v1/overview", role="other:reader")).json()
    assert max(theirs["waiting"]) == 0


async def test_old_minutes_are_forgotten_those_of_queues_first(database: Database) -> None:
    async with database.tx() as tx:
        await tx.run(
            "insert into weft.task_minutes (org_id, queue, minute) "
            "select %(org)s, q, weft.now() - make_interval(days => d) from unnest(array['', 'a']) as q, "
            "unnest(array[1, 10, 100]) as d",
            {"org": ids.DEFAULT_ORG},
        )
        assert await minutes.prune(tx) == 3
        left = await tx.rows("select queue from weft.task_minutes order by 1")
    assert [row[0] for row in left] == ["", "", "a"]


@pytest.mark.parametrize(
    ("late", "long", "points", "step", "made"),
    [
        (0, 60, 60, 1, 60), (0, 60, 500, 1, 60), (0, 61, 60, 2, 31), (0, 1440, 60, 24, 60), (0, 0.5, 60, 1, 1),
        (30, 60, 60, 1, 61),
    ],
)
def test_a_range_is_cut_into_whole_minutes_that_hold_all_of_it(
    late: int, long: float, points: int, step: int, made: int
) -> None:
    begins = _NINE + dt.timedelta(seconds=late)
    until = begins + _MINUTE * long
    since, found, number = overview.steps(begins, until, points=points)
    assert (since, found, number) == (_NINE, _MINUTE * step, made) and since + found * number >= until


async def test_a_range_that_is_none_is_refused(api: Caller) -> None:
    for since, until in (("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"), ("2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z")):
        answer = await api.get("/v1/overview", params={"from": since, "to": until})
        assert code(answer) == (400, "INVALID_INPUT")


async def test_anything_is_found_by_id_or_name_but_nothing_of_others(api: Caller) -> None:
    job = (await api.post("/v1/jobs", {
        "name": "Nightly Etl", "job_type": "CRON", "cron_expression": "@daily", "payload": {"task": "mail"},
    })).json()  # fmt: skip
    dag = (await api.post("/v1/dags", {"name": "etl", "tasks": [{"name": "a", "payload": {"task": "mail"}}]})).json()
    run = (await api.post("/v1/dags/etl/trigger", {})).json()
    task = (await api.post("/v1/tasks", {"kind": "mail", "queue": "etl queue"})).json()

    async def found(text: str, **how: Any) -> list[tuple[str, str]]:
        answer = await api.get("/v1/search", params={"q": text}, **how)
        assert answer.status_code == 200, answer.text
        return [(one["type"], one["id"]) for one in answer.json()["items"]]

    # the exact name first
    assert await found("ETL") == [("dag", dag["dag_id"]), ("queue", "etl queue"), ("job", job["job_id"])]
    assert await found(run["dag_run_id"]) == [("run", run["dag_run_id"])]
    assert ("task", task["id"]) in await found(task["id"].replace("-", "")[:30])
    assert await found("0190") == [] and await found("'; drop table %_\\") == []
    assert await found("etl", role="other:reader") == [] and await found(task["id"], role="other:reader") == []
    assert code(await api.get("/v1/search"))[0] == 400


@pytest.mark.parametrize("text", ["etl", "0190c5f", "g" * 10, "0" * 33])
def test_what_is_no_beginning_of_an_id_is_an_empty_range(text: str) -> None:
    low, high = search.bounds(text)
    assert low > high


async def test_runs_are_found_by_name_state_tag_and_time_in_pages(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await tx.run(
            "insert into weft.runs (org_id, kind, name, state, tags) "
            "select %(org)s, 'workflow', 'w' || n %% 3, case when n %% 2 = 0 then 'completed' else 'failed' end, "
            "case when n = 7 then array['rare'] end from generate_series(1, 30) as n",
            {"org": ids.DEFAULT_ORG},
        )

    async def pages(**query: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            page = (await api.get("/v1/runs", params={"limit": 4, **query})).json()
            found += page["items"]
            if page["next_cursor"] is None:
                return found
            query["cursor"] = page["next_cursor"]

    everything = await pages()
    assert [one["id"] for one in everything] == sorted((one["id"] for one in everything), reverse=True)
    assert len(everything) == 30
    assert [one["id"] for one in await pages(name="w1")] == [one["id"] for one in everything if one["name"] == "w1"]
    assert len(await pages(state="failed")) == 15 and len(await pages(state=["failed", "completed"])) == 30
    assert len(await pages(name="w1", state="failed")) == 5 and len(await pages(name_prefix="w")) == 30
    assert len(await pages(tag="rare")) == 1 and await pages(kind="dag") == []
    long_ago = "2020-01-01T00:00:00Z"
    assert await pages(created_before=long_ago) == [] and len(await pages(created_after=long_ago)) == 30
    for filter in (Filter(tag="rare"), Filter(name="w1", tag="rare"), Filter(states=("failed", "completed"), tag="rare")):
        async with database.tx(org=ids.DEFAULT_ORG) as tx:
            seen, before, looks = [], None, 0
            while True:
                page = await runs.page(tx, org=ids.DEFAULT_ORG, filter=filter, before=before, limit=4, walk=5)
                seen += [run.id for run in page.runs]
                before, looks = page.before, looks + 1
                assert (page.scanned_until is None) == (before is None)
                if before is None:
                    break
        assert [str(id) for id in seen] == [one["id"] for one in everything if one["tags"] == ["rare"]] and looks > 2


async def test_how_jobs_went_and_when_they_fire(api: Caller) -> None:
    made = (await api.post("/v1/jobs", {
        "name": "hourly", "job_type": "CRON", "cron_expression": "@hourly", "payload": {"task": "mail"},
    })).json()["job_id"]  # fmt: skip
    await api.post(f"/v1/jobs/{made}/trigger")
    assert (await api.get("/v1/jobs/results")).json() == {"items": {made: ["QUEUED"]}}
    assert (await api.get("/v1/jobs/results", params={"id": str(uuid.uuid4())})).json() == {"items": {}}
    assert (await api.get("/v1/jobs/results", role="other:reader", params={"id": made})).json() == {"items": {}}
    day = (await api.get("/v1/jobs/upcoming", params={"hours": 24})).json()
    assert len(day["items"]) in (24, 25) and not day["truncated"]
    assert {one["job_id"] for one in day["items"]} == {made}
    assert [one["at"] for one in day["items"]] == sorted(one["at"] for one in day["items"])
    assert (await api.get("/v1/jobs/upcoming", params={"limit": 3})).json()["truncated"] is True


async def test_a_run_says_why_it_waits_and_what_was_done_to_it(api: Caller) -> None:
    await api.post("/v1/dags", {"name": "etl", "tasks": [{"name": "a", "payload": {"task": "mail"}}]})
    run = (await api.post("/v1/dags/etl/trigger", {})).json()["dag_run_id"]
    assert (await api.post(f"/v1/dag-runs/{run}/pause")).status_code == 200
    assert (await api.get(f"/v1/runs/{run}/explain")).json()["code"] == "paused"
    [event] = (await api.get(f"/v1/runs/{run}/events")).json()["items"]
    assert (event["action"], event["actor"]) == ("run.pause", "key:admin")
    assert code(await api.get(f"/v1/runs/{run}/events", role="other:admin")) == (404, "NOT_FOUND")
