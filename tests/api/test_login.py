"""Logging in: a session in a cookie, which may what its key or user may, and no longer than they do."""

import re
from collections.abc import AsyncIterator

import httpx2
import pytest
from calling import Caller, People, code

from weft.access import keys, logins, users
from weft.access.principal import Principal
from weft.api import credentials
from weft.base import ids
from weft.db.database import Database


@pytest.fixture
async def api(database: Database, people: People, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Caller]:
    """An application that remembers no credential."""
    monkeypatch.setattr(credentials, "REMEMBERED", 0.0)
    made = people.caller(database)
    yield made
    await made.client.aclose()


async def log_in(api: Caller, role: str = "writer", **how: object) -> tuple[httpx2.Response, dict[str, str]]:
    """The answer, and the headers of whoever is logged in."""
    answer = await api.post("/v1/login", {"credential": api.keys[role]}, role=None, **how)
    assert answer.status_code == 200, answer.text
    api.client.cookies.clear()
    pair = answer.headers["set-cookie"].partition(";")[0]
    return answer, {"cookie": pair, "x-weft-csrf": answer.json()["csrf"]}


async def test_a_key_becomes_a_cookie_that_no_script_reads(api: Caller, database: Database) -> None:
    answer, mine = await log_in(api, headers={"user-agent": "a browser\t"})
    set_cookie = answer.headers["set-cookie"]
    assert re.fullmatch(r"weft-session=[\w-]{43}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict", set_cookie)
    assert (answer.json()["actor"], answer.json()["role"]) == ("key:writer", "writer")
    me = (await api.get("/v1/me", role=None, headers=mine)).json()
    assert (me["actor"], me["role"], me["csrf"]) == ("key:writer", "writer", mine["x-weft-csrf"])
    assert (await api.get("/v1/me")).json()["csrf"] is None
    async with database.tx() as tx:
        rows = str(await tx.rows("select * from weft.logins")) + str(await tx.rows("select * from weft.journal"))
    text = mine["cookie"].partition("=")[2]
    assert text not in rows and api.keys["writer"] not in rows and "session.open" in rows


@pytest.mark.parametrize("how", ["its own", "a proxy's"])
async def test_over_https_the_cookie_is_secure(api: Caller, how: str) -> None:
    path = "https://weft/v1/login" if how == "its own" else "/v1/login"
    headers = {} if how == "its own" else {"x-forwarded-proto": "https"}
    answer = await api.post(path, {"credential": api.keys["reader"]}, role=None, headers=headers)
    said = answer.headers["set-cookie"]
    assert said.startswith("__Host-weft=") and said.endswith("; Secure")


async def test_a_change_with_a_cookie_needs_its_token_and_our_own_page(api: Caller) -> None:
    _, mine = await log_in(api)
    task = {"kind": "mail"}
    only = {"cookie": mine["cookie"]}
    assert code(await api.post("/v1/tasks", task, role=None, headers=only)) == (403, "FORBIDDEN")
    assert code(await api.post("/v1/tasks", task, role=None, headers={**only, "x-weft-csrf": "x"})) == (403, "FORBIDDEN")
    assert (await api.post("/v1/tasks", task, role=None, headers=mine)).status_code == 201
    foreign = {**mine, "origin": "https://evil.example"}
    assert code(await api.post("/v1/tasks", task, role=None, headers=foreign)) == (403, "REFUSED")
    refused = await api.post("/v1/login", {"credential": api.keys["writer"]}, role=None, headers={"origin": "https://evil.example"})
    assert code(refused) == (403, "REFUSED") and "set-cookie" not in refused.headers


async def test_a_session_may_no_more_than_its_key(api: Caller) -> None:
    _, mine = await log_in(api, "reader")
    assert code(await api.post("/v1/tasks", {"kind": "a"}, role=None, headers=mine)) == (403, "FORBIDDEN")
    assert (await api.get("/v1/tasks", role=None, headers=mine)).status_code == 200


@pytest.mark.parametrize("credential", ["weft_nonsense", "nonsense", "eyJhbGciOiJub25lIn0.e30.", " ", "\u202e"])
async def test_what_is_no_credential_opens_no_session(api: Caller, database: Database, credential: str) -> None:
    answer = await api.post("/v1/login", {"credential": credential}, role=None)
    assert code(answer) == (401, "UNAUTHENTICATED") and "set-cookie" not in answer.headers
    async with database.tx() as tx:
        assert await tx.value("select count(*) from weft.logins") == 0


async def test_workers_do_not_log_in(api: Caller) -> None:
    assert code(await api.post("/v1/login", {"credential": api.keys["worker"]}, role=None)) == (403, "FORBIDDEN")


@pytest.mark.parametrize("how", ["logged out", "ended", "expired", "key revoked", "key expired", "org suspended"])
async def test_a_session_ends(api: Caller, database: Database, how: str) -> None:
    answer, mine = await log_in(api)
    if how == "logged out":
        left = await api.post("/v1/logout", role=None, headers=mine)
        assert left.status_code == 204 and "Max-Age=0" in left.headers["set-cookie"]
    elif how == "ended":
        ended = await api.delete(f"/v1/sessions/{answer.json()['id']}", role=None, headers=mine)
        assert ended.status_code == 200
    else:
        change = {
            "expired": "update weft.logins set expires_at = weft.now()",
            "key revoked": "update weft.keys set revoked_at = weft.now() where role = 'writer'",
            "key expired": "update weft.keys set expires_at = weft.now() where role = 'writer'",
            "org suspended": "update weft.orgs set suspended_at = weft.now() where id = %(org)s",
        }[how]  # fmt: skip
        async with database.tx() as tx:
            await tx.run(change, {"org": ids.DEFAULT_ORG})
    assert code(await api.get("/v1/me", role=None, headers=mine)) == (401, "UNAUTHENTICATED")


async def test_sessions_are_listed_and_ended_by_their_own_and_by_admins(api: Caller) -> None:
    (first, mine), (second, _), (theirs, _) = [await log_in(api, role) for role in ("writer", "admin", "other:admin")]
    listed = (await api.get("/v1/sessions", role=None, headers=mine)).json()["items"]
    assert [(one["id"], one["current"]) for one in listed] == [(first.json()["id"], True)]
    assert code(await api.get("/v1/sessions?everybodys=true", role=None, headers=mine)) == (403, "FORBIDDEN")
    everybody = (await api.get("/v1/sessions?everybodys=true")).json()["items"]
    assert not any(one["current"] for one in everybody)
    assert {one["id"] for one in everybody} == {first.json()["id"], second.json()["id"]}
    for hidden in (second, theirs):
        gone = await api.delete(f"/v1/sessions/{hidden.json()['id']}", role=None, headers=mine)
        assert code(gone) == (404, "NOT_FOUND")
    assert code(await api.delete(f"/v1/sessions/{theirs.json()['id']}")) == (404, "NOT_FOUND")
    assert (await api.delete(f"/v1/sessions/{first.json()['id']}")).status_code == 200
    assert code(await api.get("/v1/me", role=None, headers=mine)) == (401, "UNAUTHENTICATED")


async def test_a_users_session_ends_with_the_user(database: Database) -> None:
    async with database.tx() as tx:
        ada = await users.create(
            tx, org=ids.DEFAULT_ORG, external_id="sub", role="writer", actor="test", email="ada@x.example"
        )
        who = Principal(org=ids.DEFAULT_ORG, actor="user:ada@x.example", role="writer", user=ada.id)
        _, text = await logins.open(tx, who)
        assert await logins.find(tx, text) == who
        await users.change(tx, id=ada.id, org=ids.DEFAULT_ORG, actor="test", role="reader")
        assert (await logins.find(tx, text)).role == "reader"
        await users.remove(tx, id=ada.id, org=ids.DEFAULT_ORG, actor="test")
        assert await tx.value("select count(*) from weft.logins") == 0


async def test_old_sessions_are_forgotten(database: Database) -> None:
    async with database.tx() as tx:
        key, _ = await keys.create(tx, org=ids.DEFAULT_ORG, name="k", role="reader", actor="test")
        who = Principal(org=ids.DEFAULT_ORG, actor="key:k", role="reader", key=key.id)
        for _ in range(2):
            await logins.open(tx, who)
        await tx.run(
            "update weft.logins set expires_at = weft.now() - interval '31 days' "
            "where id = (select min(id::text)::uuid from weft.logins)"
        )
        assert await logins.prune(tx) == 1
        assert await tx.value("select count(*) from weft.logins") == 1


async def test_the_page_learns_how_to_log_in_and_whether_it_is(api: Caller) -> None:
    async def options(**headers: str) -> object:
        answer = await api.get("/v1/login/options", role=None, headers=headers)
        assert answer.status_code == 200
        return answer.json()

    assert await options() == {"oidc": None, "logged_in": False}
    _, mine = await log_in(api)
    assert await options(cookie=mine["cookie"]) == {"oidc": None, "logged_in": True}
    await api.post("/v1/logout", role=None, headers=mine)
    assert await options(cookie=mine["cookie"]) == {"oidc": None, "logged_in": False}
    assert await options(cookie="weft-session=nonsense") == {"oidc": None, "logged_in": False}


async def test_one_learns_what_one_may_do(api: Caller) -> None:
    may = {role: set((await api.get("/v1/me", role=role)).json()["actions"]) for role in ("reader", "writer", "admin")}
    assert may["reader"] < may["writer"] < may["admin"]
    assert {"task.read", "me.read"} <= may["reader"] and "task.create" not in may["reader"] and "key.write" in may["admin"]
    made = (await api.post("/v1/keys", {"name": "narrow", "role": "admin", "scopes": ["task.*"]})).json()
    narrow = (await api.get("/v1/me", key=made["key"])).json()["actions"]
    assert "task.create" in narrow and "key.write" not in narrow and "session.own" in narrow
