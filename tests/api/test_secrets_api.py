"""/v1/secrets: values go in and never come out."""

from collections.abc import AsyncIterator

import pytest
from calling import Caller, People, caller, code

from weft.access import keyring
from weft.base import config
from weft.db.database import Database

VALUE = "correct horse battery staple"
KEY = keyring.generate()


@pytest.fixture
async def api(database_url: str, people: People) -> AsyncIterator[Caller]:
    database = Database(config.Settings(database_url=database_url, secret_key=KEY))
    await database.open()
    made = people.caller(database)
    yield made
    await made.client.aclose()
    await database.close()


async def test_put_list_replace_delete(api: Caller) -> None:
    first = await api.put("/v1/secrets/TOKEN", {"value": VALUE})
    assert (first.status_code, first.json()["version"], first.json()["remote"]) == (200, 1, False)
    again = await api.put("/v1/secrets/TOKEN", {"value": VALUE + "!", "remote": True})
    assert (again.json()["version"], again.json()["remote"], again.json()["updated_by"]) == (2, True, "key:admin")
    listed = await api.get("/v1/secrets")
    assert [one["name"] for one in listed.json()["items"]] == ["TOKEN"]
    assert VALUE not in first.text + again.text + listed.text
    assert (await api.delete("/v1/secrets/TOKEN")).status_code == 204
    assert code(await api.delete("/v1/secrets/TOKEN")) == (404, "NOT_FOUND")


async def test_nothing_gives_a_value_back(api: Caller) -> None:
    await api.put("/v1/secrets/TOKEN", {"value": VALUE})
    for method in ("GET", "POST", "PATCH"):
        assert (await api.ask(method, "/v1/secrets/TOKEN")).status_code == 405


async def test_pages(api: Caller) -> None:
    for name in ("C", "A", "B"):
        await api.put(f"/v1/secrets/{name}", {"value": VALUE})
    first = (await api.get("/v1/secrets?limit=2")).json()
    second = (await api.get(f"/v1/secrets?limit=2&cursor={first['next_cursor']}")).json()
    assert [one["name"] for one in first["items"] + second["items"]] == ["A", "B", "C"]
    assert second["next_cursor"] is None


async def test_another_org_has_its_own(api: Caller) -> None:
    await api.put("/v1/secrets/TOKEN", {"value": VALUE})
    assert (await api.get("/v1/secrets", role="other:admin")).json()["items"] == []
    assert code(await api.delete("/v1/secrets/TOKEN", role="other:admin")) == (404, "NOT_FOUND")
    assert (await api.put("/v1/secrets/TOKEN", {"value": VALUE}, role="other:admin")).json()["version"] == 1


@pytest.mark.parametrize("body", [{"value": "short"}, {"value": "x" * 65537}, {"value": 1}, {}, {"value": "x" * 8, "a": 1}])
async def test_what_is_no_value_is_refused_and_not_repeated(api: Caller, body: dict[str, object]) -> None:
    answer = await api.put("/v1/secrets/TOKEN", body)
    assert code(answer) == (400, "INVALID_INPUT") and "xxxxxxxx" not in answer.text


@pytest.mark.parametrize("name", ["1a", "a%20b", "a%0a", "%C3%A4", "a" * 129])
async def test_a_bad_name_is_refused(api: Caller, name: str) -> None:
    assert code(await api.put(f"/v1/secrets/{name}", {"value": VALUE})) == (400, "INVALID_NAME")


async def test_a_server_without_a_key_says_how_to_get_one(database: Database) -> None:
    api = await caller(database)
    answer = await api.put("/v1/secrets/TOKEN", {"value": VALUE})
    assert code(answer) == (503, "NO_SECRET_KEY") and "weft secret keygen" in answer.text
    assert (await api.get("/v1/secrets")).json()["items"] == []


async def test_a_task_token_alone_gets_no_secrets_and_a_worker_key_needs_a_token(api: Caller) -> None:
    await api.put("/v1/secrets/TOKEN", {"value": VALUE, "remote": True})
    await api.post("/v1/tasks", {"kind": "mail", "payload": {"t": "${secrets.TOKEN}"}})
    claimed = (await api.post("/v1/task/claim", {"worker": "w", "kinds": ["mail"]}, role="worker")).json()["tasks"][0]
    assert claimed["payload"] == {"t": "${secrets.TOKEN}"}
    body = {"token": claimed["token"]}
    assert code(await api.post("/v1/task/secrets", body, key=claimed["token"])) == (403, "FORBIDDEN")
    assert code(await api.post("/v1/task/secrets", {}, role="worker"))[0] in (400, 401)
    assert code(await api.post("/v1/task/secrets", body, role="other:worker"))[0] in (401, 403, 404, 409)
    given = await api.post("/v1/task/secrets", body, role="worker")
    assert given.json() == {"secrets": {"TOKEN": VALUE}} and given.headers["cache-control"] == "no-store"
    await api.post("/v1/task/complete", {**body, "result": None}, role="worker")
    assert code(await api.post("/v1/task/secrets", body, role="worker")) == (409, "LEASE_LOST")
