"""GET /v1/tasks and /v1/tasks/counts: pages, filters, and what is refused."""

import uuid

import pytest
from calling import Caller, code

import hands
from each import each
from weft.api import pages
from weft.api.task_pages import TaskPlace
from weft.db.database import Database
from weft.db.tx import Tx
from weft.queue import search


async def some(tx: Tx) -> dict[str, str]:
    """A task in each of many states."""
    made = {"dead": await hands.put(tx, "bad", max_attempts=1, queue="slow", tags=["t"], correlation_id="c")}
    error = '{"type": "ValueError", "message": "no"}'
    await hands.end(tx, await hands.claim_plain(tx, kinds=["bad"]), "failed", error=error)
    made["completed"] = await hands.put(tx)
    await hands.end(tx, await hands.claim_plain(tx))
    made["running"] = await hands.put(tx)
    await hands.claim_plain(tx)
    made["scheduled"] = await hands.put(tx, delay=3600)
    made["ready"] = await hands.put(tx, queue="slow")
    return made


async def listed(api: Caller, query: str = "", **how: object) -> list[str]:
    answer = await api.get(f"/v1/tasks{query}", **how)
    assert answer.status_code == 200, answer.text
    return [task["id"] for task in answer.json()["items"]]


async def test_everything_is_one_list_newest_first_in_pages(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        made = await some(tx)
    newest = list(made.values())[::-1]
    assert await listed(api, role="reader") == newest
    seen, cursor = [], ""
    while True:
        page = (await api.get(f"/v1/tasks?limit=2{cursor}")).json()
        seen += [task["id"] for task in page["items"]]
        assert page["scanned_until"] is None and len(page["items"]) <= 2
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == newest


async def test_a_task_of_a_list_says_what_matters(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        made = await some(tx)
    [task] = (await api.get("/v1/tasks?state=dead")).json()["items"]
    told = ("id", "kind", "queue", "state", "reason", "tags", "correlation_id", "attempt")
    assert {name: task[name] for name in told} == {
        "id": made["dead"], "kind": "bad", "queue": "slow", "state": "failed", "reason": "dead", "tags": ["t"],
        "correlation_id": "c", "attempt": 1,
    }  # fmt: skip
    assert (task["error_type"], task["error_message"], "payload" in task) == ("ValueError", "no", False)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?state=queued", ["ready", "scheduled"]), ("?state=running", ["running"]), ("?state=failed", ["dead"]),
        ("?state=completed&state=running", ["running", "completed"]), ("?state=dead&error_type=ValueError", ["dead"]),
        ("?state=dead&error_type=OSError", []), ("?kind=bad", ["dead"]), ("?queue=slow", ["ready", "dead"]),
        ("?tag=t", ["dead"]), ("?correlation_id=c", ["dead"]), ("?correlation_id=other", []),
        (f"?run_id={uuid.UUID(int=1)}", []), ("?created_before=2020-01-01T00:00:00Z", []),
        ("?created_after=2020-01-01T00:00:00Z&state=scheduled", ["scheduled"]),
    ],
)  # fmt: skip
async def test_filters(api: Caller, database: Database, query: str, found: list[str]) -> None:
    async with database.tx() as tx:
        made = await some(tx)
    assert await listed(api, query) == [made[name] for name in found]


async def test_counts_are_per_state(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await some(tx)
    counts = (await api.get("/v1/tasks/counts", role="reader")).json()
    assert all(one["at_least"] is False for one in counts.values())
    assert {state: one["count"] for state, one in counts.items()} == {
        "scheduled": 1, "blocked": 0, "ready": 1, "running": 1, "completed": 1, "failed": 1, "timed_out": 0, "cancelled": 0,
        "dead": 1,
    }  # fmt: skip


async def test_another_org_sees_and_counts_its_own(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        made = await some(tx)
    assert await listed(api, role="other:admin") == []
    cursor = pages.encode(TaskPlace(uuid.UUID(made["ready"])))
    assert await listed(api, f"?cursor={cursor}", role="other:admin") == []
    counts = (await api.get("/v1/tasks/counts", role="other:reader")).json()
    assert {one["count"] for one in counts.values()} == {0}


@each(
    ("query", "said"),
    [
        ("?cursor=nonsense", "cursor"), ("?cursor=MVsieCJd", "cursor"), ("?limit=0", "limit"), ("?limit=501", "limit"),
        ("?state=sleeping", "state"), ("?state=dead&state=failed", "alone"), ("?error_type=X", "state=dead"),
        ("?kind=", "kind"), ("?queue=a%0Ab", "queue"), ("?run_id=1", "run_id"), ("?colour=red", "colour"),
        ("?created_after=yesterday", "created_after"), ("?created_after=2026-01-01T00:00:00", "created_after"),
        ("?created_after=2026-01-02T00:00:00Z&created_before=2026-01-01T00:00:00Z", "earlier"),
    ],
)  # fmt: skip
async def test_what_cannot_be_asked_is_refused_with_the_fix(api: Caller, query: str, said: str) -> None:
    answer = await api.get(f"/v1/tasks{query}")
    assert code(answer) == (400, "INVALID_INPUT")
    assert said in answer.json()["error"]["message"]


async def test_only_readers_writers_and_admins_may_look(api: Caller) -> None:
    assert code(await api.get("/v1/tasks", role=None)) == (401, "UNAUTHENTICATED")
    assert code(await api.get("/v1/tasks/counts", role="worker")) == (403, "FORBIDDEN")


async def test_a_cursor_of_a_walk_that_was_cut_goes_on(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        rare = await hands.put(tx, "rare")
        await hands.put_many(tx, 30)
        before = (await search.page(tx, org=hands.ORG, filter=search.Filter(kind="rare"), limit=5, walk=10)).before
    assert before is not None
    page = (await api.get(f"/v1/tasks?kind=rare&cursor={pages.encode(TaskPlace(before))}")).json()
    assert [task["id"] for task in page["items"]] == [rare] and page["next_cursor"] is None
