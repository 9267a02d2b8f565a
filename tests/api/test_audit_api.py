"""Whatever changes something leaves an entry with actor and request, and so does what is refused; nobody fills the disk."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from calling import Caller, People, code
from deeds import BY_HISTORY, CHANGES_NOTHING, DEEDS

from each import each
from weft.access import keyring
from weft.api import policy, routes
from weft.api.strangers import Strangers
from weft.base import config, errors, ids
from weft.db.database import Database
from weft.journal import audit


@pytest.fixture
async def own(database_url: str) -> AsyncIterator[Database]:
    database = Database(config.Settings(database_url=database_url, secret_key=keyring.generate()))
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def api(own: Database, people: People) -> AsyncIterator[Caller]:
    made = people.caller(own)
    yield made
    await made.client.aclose()


def test_every_operation_that_changes_something_is_here() -> None:
    changing = {one.name for one in routes.operations() if one.method != "GET"}
    assert changing == set(DEEDS) | BY_HISTORY | CHANGES_NOTHING, "give it a deed here, and an entry in the journal"


@pytest.mark.parametrize("name", DEEDS)
async def test_it_leaves_an_entry_with_actor_and_request(api: Caller, own: Database, name: str) -> None:
    ask, action, actor = DEEDS[name]
    answer = await ask(api, own)
    assert 200 <= answer.status_code < 300, answer.text
    async with own.tx() as tx:
        found = await tx.rows(
            "select action, actor, org_id from weft.journal where request_id = %(id)s",
            {"id": answer.headers["x-request-id"]},
        )
    # what happens to an org is told to the org itself
    org = uuid.UUID(answer.json()["id"]) if name == "POST /v1/orgs" else ids.DEFAULT_ORG
    assert found == [(action, actor, org)]


@each("name", [name for name in DEEDS if name not in policy.EXEMPT])
async def test_what_is_refused_leaves_a_denial_and_nothing_else(people: People, own: Database, name: str) -> None:
    # one of its own for each: an application writes a denial of the same action once a minute
    api = people.caller(own)
    operation = next(one for one in routes.operations() if one.name == name)
    path = operation.template.format(id=uuid.uuid4(), name="a", slug="a", dag_id="a", step=uuid.uuid4())
    body = {} if operation.body is None else {"json": operation.example}
    role = "worker" if operation.action != "work.secrets" else "reader"
    answer = await api.ask(operation.method, path, role=role, **body)
    assert code(answer) == (403, "FORBIDDEN")
    async with own.tx() as tx:
        found = await tx.rows(
            "select action, actor, object_id, after ->> 'action' from weft.journal where request_id = %(id)s",
            {"id": answer.headers["x-request-id"]},
        )  # fmt: skip
    assert found == [("access.denied", f"key:{role}", name, operation.action)]
    await api.client.aclose()


async def strangers(database: Database) -> list[tuple[Any, ...]]:
    async with database.tx() as tx:
        return list(await tx.rows(
            "select object_id, after ->> 'code', (after ->> 'unwritten')::int from weft.journal "
            "where org_id = %(org)s order by id", {"org": ids.EVERY_ORG},
        ))  # fmt: skip


async def test_a_stranger_is_written_down_for_the_operator_without_what_they_brought(api: Caller, own: Database) -> None:
    answer = await api.get("/v1/tasks", key="weft_somebody_elses_key")
    assert answer.status_code == 401
    assert await strangers(own) == [("GET /v1/tasks", "UNAUTHENTICATED", 0)]
    async with own.tx() as tx:
        assert "somebody" not in await tx.value("select string_agg(j::text, '') from weft.journal as j")
    entries = (await api.get("/v1/audit?limit=500")).json()["items"]
    assert "access.denied" not in {one["action"] for one in entries}


async def test_a_flood_of_bad_keys_writes_a_few_entries(api: Caller, own: Database) -> None:
    for n in range(200):
        assert (await api.get("/v1/tasks", key=f"weft_{n}")).status_code == 401
    assert len(await strangers(own)) == 10


async def test_what_was_not_written_is_counted_into_the_next(own: Database) -> None:
    now = 0.0
    written = Strangers(own, clock=lambda: now)
    for _ in range(50):
        await written.record(errors.Unauthenticated(), asked="GET /", client="10.0.0.1")
    now = 61.0
    await written.record(errors.Unauthenticated(), asked="GET /", client="10.0.0.1")
    found = await strangers(own)
    assert len(found) == 11 and found[-1] == ("GET /", "UNAUTHENTICATED", 40)


async def test_admins_read_it_by_pages_and_filters_and_others_do_not(api: Caller) -> None:
    for n in range(5):
        await api.post(f"/v1/queues/q{n}/pause")
    first = (await api.get("/v1/audit?action=queue.set&limit=3")).json()
    second = (await api.get(f"/v1/audit?action=queue.set&limit=3&cursor={first['next_cursor']}")).json()
    assert [one["object_id"] for one in first["items"] + second["items"]] == ["q4", "q3", "q2", "q1", "q0"]
    one = (await api.get("/v1/audit?object_type=queue&object_id=q2&actor=key:admin")).json()["items"][0]
    assert one["before"]["paused"] is False and one["after"]["paused"] is True and one["request_id"].startswith("req-")
    for role in ("reader", "writer", "worker"):
        assert code(await api.get("/v1/audit", role=role)) == (403, "FORBIDDEN")
        assert code(await api.get("/v1/audit/verify", role=role)) == (403, "FORBIDDEN")
    theirs = (await api.get("/v1/audit", role="other:admin")).json()["items"]
    assert {one["action"] for one in theirs} <= {"key.create"} and "q2" not in str(theirs)


async def test_verify_goes_part_by_part_and_names_what_is_wrong(api: Caller, own: Database, database_url: str) -> None:
    for n in range(5):
        await api.post(f"/v1/queues/q{n}/pause")
    async with own.tx() as tx:
        count = await audit.seal(tx)
    entries, after = 0, 0
    while True:
        part = (await api.get(f"/v1/audit/verify?limit=2&after={after}")).json()
        entries += part["entries"]
        assert part["findings"] == []
        if part["next"] is None:
            break
        after = part["next"]
    mine = (await api.get("/v1/audit?limit=500")).json()["items"]
    assert entries == len(mine) < count
    head = part["head"]
    assert (await api.get(f"/v1/audit/verify?head={head}")).json()["findings"] == []
    wrong = (await api.get(f"/v1/audit/verify?head={entries}:{'0' * 64}")).json()["findings"]
    assert [one["fault"] for one in wrong] == ["another chain"]
    assert code(await api.get("/v1/audit/verify?head=nonsense")) == (400, "INVALID_INPUT")


async def test_what_is_not_sealed_yet_is_said(api: Caller, own: Database) -> None:
    before = (await api.get("/v1/audit/verify")).json()
    assert before["entries"] == 0 and before["unsealed"] > 0
    async with own.tx() as tx:
        assert await audit.seal(tx) >= before["unsealed"]
    after = (await api.get("/v1/audit/verify")).json()
    assert (after["entries"], after["unsealed"]) == (before["unsealed"], 0)
