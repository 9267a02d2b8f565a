"""/v1/dead: list, redrive and discard, by ids or by a filter in batches."""

import uuid

import pytest
from calling import Caller, code

import hands
from hands import ORG
from weft.db.database import Database
from weft.queue import dead, search, tasks
from weft.queue.search import Filter


async def die(
    database: Database, count: int = 1, *, kind: str = "mail", error: str = "ValueError", **options: object
) -> list[str]:
    async with database.tx() as tx:
        made = [await hands.put(tx, kind, max_attempts=1, **options) for _ in range(count)]
        held = await hands.claim_plain(tx, kinds=[kind])
        await hands.end(tx, held, "failed", error=f'{{"type": "{error}", "message": "no"}}')
    return made


async def left(api: Caller, query: str = "") -> list[str]:
    answer = await api.get(f"/v1/dead{query}")
    assert answer.status_code == 200, answer.text
    return [task["id"] for task in answer.json()["items"]]


async def test_the_list_is_filtered_and_paged(api: Caller, database: Database) -> None:
    made = await die(database, 3)
    other = await die(database, kind="sms", queue="slow", error="OSError", tags=["t"], correlation_id="c")
    assert await left(api) == [*other, *made[::-1]]
    for query in ("?kind=sms", "?queue=slow", "?error_type=OSError", "?tag=t", "?correlation_id=c"):
        assert await left(api, query) == other
    assert await left(api, "?created_before=2020-01-01T00:00:00Z") == []
    page = (await api.get("/v1/dead?limit=2")).json()
    assert await left(api, f"?limit=2&cursor={page['next_cursor']}") == made[1::-1]


async def test_some_are_redriven_by_their_ids(api: Caller, database: Database) -> None:
    made = await die(database, 3)
    answer = await api.post("/v1/dead/redrive", {"ids": [*made[:2], made[0], str(uuid.uuid4())]}, role="writer")
    assert answer.json() == {"done": 2, "skipped": 1, "remaining": 0, "at_least": False, "next_cursor": None}
    assert await left(api) == made[2:]
    async with database.tx() as tx:
        assert await hands.states(tx, made) == ["ready", "ready", "failed"]


@pytest.mark.parametrize("what", ["redrive", "discard"])
async def test_a_filter_is_done_in_batches_with_what_remains(api: Caller, database: Database, what: str) -> None:
    kept = await die(database, 2, error="OSError")
    made = await die(database, 5)
    body = {"filter": {"error_type": "ValueError"}, "limit": 2}
    seen = []
    while True:
        answer = (await api.post(f"/v1/dead/{what}", body)).json()
        seen.append((answer["done"], answer["skipped"], answer["remaining"], answer["at_least"]))
        if answer["next_cursor"] is None:
            break
        body["cursor"] = answer["next_cursor"]
    assert seen == [(2, 0, 3, False), (2, 0, 1, False), (1, 0, 0, False)]
    assert await left(api) == kept[::-1]
    async with database.tx() as tx:
        assert set(await hands.states(tx, made)) == {"ready" if what == "redrive" else "cancelled"}
        assert len(await tx.rows("select from weft.journal where action = %(action)s", {"action": f"task.{what}"})) == 5


async def test_what_cannot_be_redriven_is_passed_and_the_rest_is_done(api: Caller, database: Database) -> None:
    made = [*await die(database), *await die(database, dedupe_key="k"), *await die(database)]
    async with database.tx() as tx:
        await hands.put(tx, dedupe_key="k")
    body = {"filter": {}, "limit": 1}
    done = []
    for _ in range(3):
        answer = (await api.post("/v1/dead/redrive", body)).json()
        done.append((answer["done"], answer["skipped"]))
        body["cursor"] = answer["next_cursor"]
    assert done == [(1, 0), (0, 1), (1, 0)] and answer["next_cursor"] is None
    assert await left(api) == [made[1]]


async def test_a_task_that_dies_again_meanwhile_is_not_redriven_twice(api: Caller, database: Database) -> None:
    made = await die(database, 3)
    first = (await api.post("/v1/dead/redrive", {"filter": {}, "limit": 1})).json()
    async with database.tx() as tx:
        await hands.end(tx, await hands.claim_plain(tx), "failed")
    rest = (await api.post("/v1/dead/redrive", {"filter": {}, "cursor": first["next_cursor"]})).json()
    assert (rest["done"], rest["next_cursor"], await left(api)) == (2, None, [made[2]])


async def test_remaining_is_counted_no_further_than_a_walk_goes(database: Database) -> None:
    await die(database, 4)
    async with database.tx() as tx:
        filter = Filter(states=("dead",))
        assert (await dead.remaining(tx, org=ORG, filter=filter)).count == 4
        found = await search.find(tx, org=ORG, filter=filter, limit=2)
        assert len(found.ids) == 2 and found.before == found.ids[-1]


async def test_another_orgs_dead_are_not_there(api: Caller, database: Database) -> None:
    made = await die(database, 2)
    assert (await api.get("/v1/dead", role="other:admin")).json()["items"] == []
    for body in ({"ids": made}, {"filter": {}}):
        for what in ("redrive", "discard"):
            answer = await api.post(f"/v1/dead/{what}", body, role="other:admin")
            assert answer.json()["done"] == 0
    assert len(await left(api)) == 2
    async with database.tx(org=api.other_org) as tx:
        assert await tasks.redrive(tx, org=ORG, ids=[uuid.UUID(id) for id in made], actor="x") == []
        assert await tasks.discard(tx, org=ORG, ids=[uuid.UUID(id) for id in made], actor="x") == []


async def test_a_repeat_with_the_same_key_gets_the_first_answer(api: Caller, database: Database) -> None:
    await die(database, 2)
    headers = {"idempotency-key": "once"}
    asked = [await api.post("/v1/dead/redrive", {"filter": {}, "limit": 1}, headers=headers) for _ in range(2)]
    assert asked[0].json() == asked[1].json() and asked[0].json()["done"] == 1
    assert len(await left(api)) == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "either"), ({"ids": [], "filter": {}}, "ids"), ({"ids": [str(uuid.UUID(int=1))], "filter": {}}, "either"),
        ({"ids": ["x"]}, "ids"), ({"ids": [str(uuid.UUID(int=n)) for n in range(501)]}, "ids"),
        ({"filter": {"who": 1}}, "who"), ({"filter": {}, "limit": 0}, "limit"), ({"filter": {}, "cursor": "x"}, "cursor"),
        ({"ids": [str(uuid.UUID(int=1))], "cursor": "x"}, "cursor"), ({"filter": {"kind": ""}}, "kind"),
    ],
)  # fmt: skip
async def test_what_cannot_be_asked_is_refused_and_nothing_happens(
    api: Caller, database: Database, body: dict[str, object], said: str
) -> None:
    await die(database)
    for what in ("redrive", "discard"):
        answer = await api.post(f"/v1/dead/{what}", body)
        assert code(answer) == (400, "INVALID_INPUT") and said in answer.json()["error"]["message"]
    assert len(await left(api)) == 1


async def test_readers_look_and_writers_change(api: Caller) -> None:
    assert (await api.get("/v1/dead", role="reader")).status_code == 200
    assert code(await api.post("/v1/dead/redrive", {"filter": {}}, role="reader")) == (403, "FORBIDDEN")
    assert code(await api.get("/v1/dead?cursor=x")) == (400, "INVALID_INPUT")
