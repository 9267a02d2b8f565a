"""/v1/queues: what is in them, pausing and limiting them, at once."""

import asyncio

from calling import Caller, code

import hands
from each import each
from hands import ORG
from weft.base import ids
from weft.db.database import Database
from weft.queue import tasks
from weft.queue.tasks import QueueSettings

UNSAID = {"paused": False, "max_running": None, "rate": None}


async def fill(database: Database) -> None:
    async with database.tx() as tx:
        await hands.put_many(tx, 3)
        await hands.put(tx, delay=3600)
        for _ in range(2):
            await hands.put(tx, queue="keyed", concurrency_key="k")
        await hands.put(tx, "bad", queue="gone", max_attempts=1)
        await hands.end(tx, await hands.claim_plain(tx, kinds=["bad"]), "failed")
        await hands.claim_plain(tx, 1)


async def test_queues_are_listed_by_name_with_what_is_in_them(api: Caller, database: Database) -> None:
    await fill(database)
    page = (await api.get("/v1/queues", role="reader")).json()
    assert page["next_cursor"] is None
    names = ("ready", "scheduled", "blocked", "running", "finished_last_minute", "failed_last_hour")
    counted = {one["name"]: [one[name]["count"] for name in names] for one in page["items"]}
    assert counted == {"default": [2, 1, 0, 1, 0, 0], "gone": [0, 0, 0, 0, 1, 1], "keyed": [1, 0, 1, 0, 0, 0]}
    assert list(counted) == sorted(counted)
    assert not any(one[name]["at_least"] for one in page["items"] for name in names)


async def test_queues_come_in_pages(api: Caller, database: Database) -> None:
    await fill(database)
    first = (await api.get("/v1/queues?limit=2")).json()
    second = (await api.get(f"/v1/queues?limit=2&cursor={first['next_cursor']}")).json()
    assert [[one["name"] for one in page["items"]] for page in (first, second)] == [["default", "gone"], ["keyed"]]
    assert second["next_cursor"] is None


async def test_the_oldest_ready_task_gives_the_age(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await hands.put_many(tx, 2)
        await tx.run("update weft.tasks set run_at = run_at - interval '90 seconds'")
    queue = (await api.get("/v1/queues/default")).json()
    assert 90 <= queue["oldest_ready"] < 150


async def test_a_count_stops_and_says_so(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await hands.put_many(tx, 10_001)
    queue = (await api.get("/v1/queues/default")).json()
    assert queue["ready"] == {"count": 10_000, "at_least": True}
    assert (await api.get("/v1/tasks/counts")).json()["ready"] == {"count": 10_000, "at_least": True}


async def test_a_paused_queue_is_not_claimed_until_it_is_resumed(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await hands.put(tx, queue="a/b")
    paused = (await api.post("/v1/queues/a/b/pause")).json()
    assert (paused["name"], paused["paused"], paused["settings"]) == ("a/b", True, {**UNSAID, "paused": True})
    async with database.tx() as tx:
        assert await hands.claim_plain(tx) == await hands.claim_special(tx) == []
    resumed = (await api.post("/v1/queues/a/b/resume")).json()
    assert resumed["paused"] is False
    async with database.tx() as tx:
        assert len(await hands.claim_plain(tx)) == 1


async def test_a_change_leaves_what_it_does_not_name_and_null_lifts_a_limit(api: Caller, database: Database) -> None:
    limited = await api.patch("/v1/queues/mail", {"max_running": 2, "rate": {"limit": 10, "period": 60}})
    rate = {"limit": 10, "period": 60, "burst": 10}
    assert limited.json()["settings"] == {"paused": False, "max_running": 2, "rate": rate}
    await api.patch("/v1/queues/mail", {"paused": True})
    lifted = (await api.patch("/v1/queues/mail", {"max_running": None, "paused": False})).json()
    assert lifted["settings"] == {"paused": False, "max_running": None, "rate": rate}
    assert (await api.patch("/v1/queues/mail", {"rate": None})).json()["settings"] == UNSAID
    async with database.tx() as tx:
        assert len(await tx.rows("select from weft.journal where action = 'queue.set' and object_id = 'mail'")) == 4


async def test_a_limit_binds_what_runs_already(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await hands.put_many(tx, 4)
        await hands.claim_plain(tx, 2)
    await api.patch("/v1/queues/default", {"max_running": 3})
    async with database.tx() as tx:
        assert len(await hands.claim_special(tx)) == 1


async def test_of_many_who_change_a_queue_at_once_none_undoes_another(api: Caller) -> None:
    changes = [{"max_running": 7}, {"rate": {"limit": 5}}, {"paused": True}]
    for answer in await asyncio.gather(*(api.patch("/v1/queues/new", change) for change in changes)):
        assert answer.status_code == 200, answer.text
    assert (await api.get("/v1/queues/new")).json()["settings"] == {
        "paused": True, "max_running": 7, "rate": {"limit": 5, "period": 1.0, "burst": 5}}  # fmt: skip


async def test_what_the_operator_said_for_every_org_is_shown(api: Caller, database: Database) -> None:
    async with database.tx() as tx:
        await tasks.set_queue(tx, org=ids.EVERY_ORG, queue="mail", settings=QueueSettings(paused=True), actor="operator")
    for role in ("reader", "other:reader"):
        queue = (await api.get("/v1/queues/mail", role=role)).json()
        assert (queue["paused"], queue["settings"], queue["operator"]["paused"]) == (True, UNSAID, True)


async def test_an_org_steers_and_sees_its_own_queues_only(api: Caller, database: Database) -> None:
    await fill(database)
    await api.post("/v1/queues/default/pause", role="other:admin")
    assert (await api.get("/v1/queues/default")).json()["paused"] is False
    theirs = (await api.get("/v1/queues", role="other:reader")).json()["items"]
    assert [(one["name"], one["ready"]["count"], one["running"]["count"]) for one in theirs] == [("default", 0, 0)]
    async with database.tx() as tx:
        assert len(await hands.claim_plain(tx)) == 2
        assert (await tasks.queue_settings(tx, org=ORG, queue="default")).paused is False


@each(
    ("body", "said"),
    [
        ({"max_running": -1}, "max_running"), ({"max_running": 1_000_001}, "max_running"), ({"rate": {"limit": 0}}, "rate"),
        ({"rate": {"limit": 1, "period": 0}}, "rate"), ({"rate": {}}, "rate"), ({"rate": {"limit": 1, "burst": 0}}, "rate"),
        ({"paused": 1}, "paused"), ({"speed": 1}, "speed"), ({"max_running": 1.5}, "max_running"),
    ],
)  # fmt: skip
async def test_a_limit_that_makes_no_sense_is_refused_and_nothing_stored(
    api: Caller, database: Database, body: dict[str, object], said: str
) -> None:
    answer = await api.patch("/v1/queues/mail", body)
    assert code(answer) == (400, "INVALID_INPUT") and said in answer.json()["error"]["message"]
    async with database.tx() as tx:
        assert await tx.rows("select from weft.queues") == []


async def test_names_cursors_and_roles_are_checked(api: Caller) -> None:
    assert code(await api.post("/v1/queues/a%3Cb/pause")) == (400, "INVALID_NAME")
    assert code(await api.get("/v1/queues/%20x")) == (400, "INVALID_NAME")
    assert code(await api.get("/v1/queues/nobody")) == (404, "NOT_FOUND")
    assert code(await api.get("/v1/queues?cursor=x")) == (400, "INVALID_INPUT")
    assert code(await api.post("/v1/queues/mail/pause", role="writer")) == (403, "FORBIDDEN")
    assert code(await api.get("/v1/queues", role="worker")) == (403, "FORBIDDEN")
