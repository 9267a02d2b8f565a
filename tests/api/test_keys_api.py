"""/v1/keys, and how fast a revoked key stops working."""

import pytest
from calling import Caller, code

from weft.api import credentials
from weft.api.credentials import Credentials
from weft.base import errors
from weft.db.database import Database


async def test_an_admin_makes_lists_and_revokes_keys(api: Caller) -> None:
    made = await api.post("/v1/keys", {"name": "deploy", "role": "writer", "expires_in": 3600})
    assert made.status_code == 201
    key, id = made.json()["key"], made.json()["id"]
    assert made.json()["created_by"] == "key:admin" and made.json()["expires_at"] is not None
    assert (await api.post("/v1/tasks", {"kind": "a"}, key=key)).status_code == 201
    listed = (await api.get("/v1/keys")).json()["items"]
    assert [one["name"] for one in listed] == ["deploy", "operator", "worker", "admin", "writer", "reader"]
    assert key not in str(listed) and listed[0]["last_used_at"] is not None
    gone = await api.delete(f"/v1/keys/{id}")
    assert gone.status_code == 200 and gone.json()["revoked_at"] is not None


async def test_a_key_that_expires_makes_none_that_outlives_it(api: Caller) -> None:
    short = (await api.post("/v1/keys", {"name": "short", "role": "admin", "expires_in": 3600})).json()["key"]
    for longer in (None, 3601):
        refused = await api.post("/v1/keys", {"name": "a", "role": "reader", "expires_in": longer}, key=short)
        assert code(refused) == (403, "FORBIDDEN") and "must not last longer" in refused.text
    assert (await api.post("/v1/keys", {"name": "a", "role": "reader", "expires_in": 60}, key=short)).status_code == 201


async def test_keys_come_by_pages(api: Caller) -> None:
    first = (await api.get("/v1/keys?limit=3")).json()
    second = (await api.get(f"/v1/keys?limit=3&cursor={first['next_cursor']}")).json()
    assert [one["name"] for one in first["items"] + second["items"]] == ["operator", "worker", "admin", "writer", "reader"]
    assert second["next_cursor"] is None


async def test_a_key_with_a_secret_is_never_kept_as_an_answer(api: Caller, database: Database) -> None:
    header = {"idempotency-key": "once"}
    first = await api.post("/v1/keys", {"name": "a", "role": "reader"}, headers=header)
    second = await api.post("/v1/keys", {"name": "a", "role": "reader"}, headers=header)
    assert first.json()["key"] != second.json()["key"]
    async with database.tx() as tx:
        assert await tx.value("select count(*) from weft.idempotency_keys") == 0


@pytest.mark.parametrize("role", ["owner", "attempt", "", None])
async def test_a_role_that_is_none_is_refused(api: Caller, role: str | None) -> None:
    assert code(await api.post("/v1/keys", {"name": "a", "role": role})) == (400, "INVALID_INPUT")


async def test_a_key_is_remembered_for_a_second_and_then_looked_up_again(api: Caller, database: Database) -> None:
    now = 1000.0
    who = Credentials(database, clock=lambda: now)
    bearer = f"Bearer {api.keys['writer']}"
    assert (await who.principal(bearer)).role == "writer"
    async with database.tx() as tx:
        await tx.run("update weft.keys set revoked_at = weft.now()")
    now += credentials.REMEMBERED - 0.01
    assert (await who.principal(bearer)).role == "writer"
    now += 0.02
    with pytest.raises(errors.Unauthenticated, match="revoked"):
        await who.principal(bearer)


async def test_only_so_many_keys_are_remembered(api: Caller, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "MOST", 3)
    who = Credentials(database)
    for key in api.keys.values():
        await who.principal(f"Bearer {key}")
    assert 0 < len(who._known) <= 3
