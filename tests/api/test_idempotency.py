"""A POST that is repeated with its Idempotency-Key happens once."""

import asyncio

from calling import Caller, code

import hands
from weft.access import idempotency
from weft.db.database import Database
from weft.upkeep import table

NEW = {"kind": "mail", "payload": {"n": 1}}
KEY = {"idempotency-key": "8e03978e-40d5-43e8-bc93-6894a57f9324"}


async def test_a_repeat_gets_the_first_answer_and_does_nothing(api: Caller, database: Database) -> None:
    first = await api.post("/v1/tasks", NEW, headers=KEY)
    again = await api.post("/v1/tasks", NEW, headers=KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json() and again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    async with database.tx() as tx:
        assert await hands.count(tx) == 1


async def test_many_at_once_are_one(api: Caller, database: Database) -> None:
    answers = await asyncio.gather(*(api.post("/v1/tasks/batch", {"tasks": [NEW, NEW]}, headers=KEY) for _ in range(20)))
    assert {one.status_code for one in answers} == {201}
    assert len({one.text for one in answers}) == 1
    async with database.tx() as tx:
        assert await hands.count(tx) == 2


async def test_the_same_key_with_another_request_is_refused(api: Caller, database: Database) -> None:
    await api.post("/v1/tasks", NEW, headers=KEY)
    for path, body in (("/v1/tasks", {**NEW, "priority": 1}), ("/v1/tasks/batch", {"tasks": [NEW]})):
        refused = await api.post(path, body, headers=KEY)
        assert code(refused) == (409, "IDEMPOTENCY_KEY_REUSED")
        assert "use a new key" in refused.json()["error"]["message"]
    async with database.tx() as tx:
        assert await hands.count(tx) == 1


async def test_a_refused_request_leaves_its_key_free(api: Caller, database: Database) -> None:
    assert code(await api.post("/v1/tasks", {**NEW, "check": True}, headers=KEY)) == (409, "UNKNOWN_KIND")
    assert (await api.post("/v1/tasks", NEW, headers=KEY)).status_code == 201
    async with database.tx() as tx:
        assert await hands.count(tx) == 1 and await hands.count(tx, "idempotency_keys") == 1


async def test_orgs_do_not_meet_in_a_key(api: Caller, database: Database) -> None:
    mine = await api.post("/v1/tasks", NEW, headers=KEY)
    theirs = await api.post("/v1/tasks", NEW, headers=KEY, role="other:writer")
    assert mine.status_code == theirs.status_code == 201
    assert mine.json()["id"] != theirs.json()["id"]
    async with database.tx() as tx:
        assert await hands.count(tx) == 2


async def test_a_key_that_is_none_is_refused(api: Caller, database: Database) -> None:
    for key in ("", "x" * 2000, "a\x7fb"):
        assert code(await api.post("/v1/tasks", NEW, headers={"idempotency-key": key})) == (400, "INVALID_INPUT")
    async with database.tx() as tx:
        assert await hands.count(tx) == 0


async def test_after_a_day_a_chore_forgets_the_key(api: Caller, database: Database) -> None:
    first = await api.post("/v1/tasks", NEW, headers=KEY)
    async with database.tx() as tx:
        assert await idempotency.prune(tx) == 0
        await tx.run("update weft.idempotency_keys set created_at = weft.now() - interval '25 hours'")
        await hands.put(tx)
    [chore] = [one for one in table.chores(node_id=hands.NODE, retention=None) if "idempotency" in one.name]
    async with database.tx() as tx:
        assert await chore.once(tx) == 1
    again = await api.post("/v1/tasks", NEW, headers=KEY)
    assert again.status_code == 201 and again.json() != first.json()
