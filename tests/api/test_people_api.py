"""/v1/orgs, /v1/users, /v1/roles, /v1/me; and that nobody gives away more than they have."""

from typing import Any

from calling import Caller, code

from each import each
from weft.base import ids
from weft.db.database import Database


async def test_an_operator_makes_an_org_with_its_first_key_and_limits_it(api: Caller) -> None:
    made = await api.post(
        "/v1/orgs", {"name": "Shop", "slug": "shop", "tier": "free", "admin_key": "first"}, role="operator"
    )
    assert made.status_code == 201, made.text
    org, key = made.json()["id"], made.json()["key"]
    me = (await api.get("/v1/me", key=key)).json()
    assert (me["org"], me["org_slug"], me["role"], me["actor"]) == (org, "shop", "admin", "key:first")
    assert code(await api.post("/v1/orgs", {"name": "Shop", "slug": "shop"}, role="operator")) == (409, "CONFLICT")
    changed = await api.patch(f"/v1/orgs/{org}", {"max_concurrent": None, "retention": 3600, "weight": 5}, role="operator")
    assert {name: changed.json()[name] for name in ("max_concurrent", "retention", "weight")} == {
        "max_concurrent": None, "retention": 3600.0, "weight": 5,
    }  # fmt: skip
    shut = await api.patch(f"/v1/orgs/{org}", {"suspended": True}, role="operator")
    assert shut.json()["suspended_at"] is not None


async def test_an_org_sees_and_renames_itself_and_lifts_none_of_its_limits(api: Caller, database: Database) -> None:
    listed = (await api.get("/v1/orgs", role="reader")).json()["items"]
    assert [one["slug"] for one in listed] == ["default"]
    everything = (await api.get("/v1/orgs", role="operator")).json()["items"]
    assert [one["slug"] for one in everything] == ["default", "other"]
    mine = f"/v1/orgs/{ids.DEFAULT_ORG}"
    assert (await api.patch(mine, {"name": "Ours"})).json()["name"] == "Ours"
    for body in ({"max_concurrent": 10}, {"tier": "enterprise"}, {"settings": {}}, {"suspended": False}, {"weight": 100}):
        assert code(await api.patch(mine, {**body, "name": "Taken"})) == (403, "FORBIDDEN"), body
    assert code(await api.patch(mine, {"name": "x"}, role="writer")) == (403, "FORBIDDEN")
    theirs = f"/v1/orgs/{api.other_org}"
    for body in ({"name": "x"}, {"max_concurrent": 1}):
        assert code(await api.patch(theirs, body)) == (404, "NOT_FOUND")
    assert code(await api.get(theirs)) == (404, "NOT_FOUND")
    assert (await api.get(mine)).json()["name"] == "Ours"
    async with database.tx() as tx:
        denied = await tx.rows("select distinct after ->> 'action' from weft.journal where action = 'access.denied'")
    assert sorted(denied) == [("org.rename",), ("org.write",)]


async def test_users_and_roles_from_first_to_last(api: Caller) -> None:
    made = await api.post("/v1/users", {"external_id": "auth0|1", "role": "writer", "email": "ada@x.org"})
    assert made.status_code == 201
    id = made.json()["id"]
    assert code(await api.post("/v1/users", {"external_id": "auth0|1", "role": "reader"})) == (409, "CONFLICT")
    assert (await api.post("/v1/roles", {"slug": "finance", "name": "Finance"})).status_code == 201
    for _ in range(2):
        assert (await api.put(f"/v1/roles/finance/members/{id}")).status_code == 204
    assert (await api.get("/v1/roles/finance", role="reader")).json()["members"] == 1
    assert [one["id"] for one in (await api.get("/v1/users?role=finance")).json()["items"]] == [id]
    assert (await api.get("/v1/users?email=eve@x.org")).json()["items"] == []
    assert (await api.get(f"/v1/users/{id}")).json()["org_roles"] == ["finance"]
    changed = (await api.patch(f"/v1/users/{id}", {"role": "admin", "email": None})).json()
    assert (changed["role"], changed["email"]) == ("admin", None)
    assert (await api.delete(f"/v1/roles/finance/members/{id}")).status_code == 204
    assert (await api.delete("/v1/roles/finance")).status_code == 204
    assert code(await api.delete("/v1/roles/finance")) == (404, "NOT_FOUND")
    assert (await api.delete(f"/v1/users/{id}")).status_code == 204
    assert code(await api.get(f"/v1/users/{id}")) == (404, "NOT_FOUND")
    for role in ("reader", "writer"):
        assert code(await api.get("/v1/users", role=role)) == (403, "FORBIDDEN")


async def test_users_come_by_pages(api: Caller) -> None:
    for n in range(5):
        await api.post("/v1/users", {"external_id": f"u{n}", "role": "reader"})
        await api.post("/v1/roles", {"slug": f"r{n}", "name": "R"})
    for path, field in (("users", "external_id"), ("roles", "slug")):
        seen, cursor = [], ""
        while True:
            page = (await api.get(f"/v1/{path}?limit=2{cursor}")).json()
            seen += [one[field] for one in page["items"]]
            if page["next_cursor"] is None:
                break
            cursor = f"&cursor={page['next_cursor']}"
        assert len(seen) == len(set(seen)) == 5


async def test_me_is_whoever_asks_however_narrow_their_key(api: Caller) -> None:
    made = await api.post("/v1/keys", {"name": "narrow", "role": "reader", "scopes": ["task.read"]})
    me = (await api.get("/v1/me", key=made.json()["key"])).json()
    assert (me["role"], me["scopes"], me["actor"]) == ("reader", ["task.read"], "key:narrow")
    assert (await api.get("/v1/tasks", key=made.json()["key"])).status_code == 200
    refused = await api.get("/v1/queues", key=made.json()["key"])
    assert code(refused) == (403, "FORBIDDEN") and "held to task.read" in refused.text


GIVING: list[tuple[dict[str, Any], str, dict[str, Any], int]] = [
    ({"role": "admin"}, "/v1/keys", {"name": "k", "role": "operator"}, 403),
    ({"role": "admin"}, "/v1/keys", {"name": "k", "role": "admin"}, 201),
    ({"role": "admin"}, "/v1/keys", {"name": "k", "role": "worker"}, 201),
    ({"role": "operator"}, "/v1/keys", {"name": "k", "role": "operator"}, 201),
    ({"role": "admin", "scopes": ["key.write"]}, "/v1/keys", {"name": "k", "role": "reader"}, 403),
    ({"role": "admin", "scopes": ["key.write"]}, "/v1/keys", {"name": "k", "role": "reader", "scopes": ["task.read"]}, 403),
    ({"role": "admin", "scopes": ["key.write"]}, "/v1/keys", {"name": "k", "role": "admin", "scopes": ["key.*"]}, 403),
    (
        {"role": "admin", "scopes": ["key.*", "task.*"]},
        "/v1/keys",
        {"name": "k", "role": "admin", "scopes": ["task.read"]},
        201,
    ),
    ({"role": "admin", "scopes": ["key.*", "task.*"]}, "/v1/keys", {"name": "k", "role": "admin", "scopes": ["key.*"]}, 201),
    ({"role": "admin", "scopes": ["key.*"]}, "/v1/keys", {"name": "k", "role": "worker", "scopes": ["work.claim"]}, 403),
    ({"role": "admin", "scopes": ["user.*"]}, "/v1/users", {"external_id": "a", "role": "admin"}, 403),
    ({"role": "admin", "scopes": ["user.*"]}, "/v1/users", {"external_id": "a", "role": "reader"}, 403),
    ({"role": "operator", "scopes": ["org.*"]}, "/v1/orgs", {"name": "a", "slug": "a", "admin_key": "k"}, 403),
    ({"role": "operator", "scopes": ["org.*"]}, "/v1/orgs", {"name": "a", "slug": "a"}, 201),
]


async def test_nobody_gives_away_more_than_they_have(api: Caller) -> None:
    for number, (giver, path, body, status) in enumerate(GIVING):
        made = await api.post("/v1/keys", {"name": f"giver {number}", **giver}, role="operator")
        assert made.status_code == 201, made.text
        answer = await api.post(path, body, key=made.json()["key"])
        assert answer.status_code == status, (giver, body, answer.text)
    assert [one["slug"] for one in (await api.get("/v1/orgs", role="operator")).json()["items"]] == ["a", "default", "other"]


@each(
    "scope", ["task", "task.", ".read", "task.destroy", "nothing.*", "*", "*.*", "Task.read", "task.read "]
)
async def test_a_scope_that_holds_nothing_is_refused(api: Caller, scope: str) -> None:
    answer = await api.post("/v1/keys", {"name": "a", "role": "reader", "scopes": [scope]})
    assert code(answer) == (400, "INVALID_INPUT")


async def test_a_keys_own_rate_is_kept_and_shown(api: Caller) -> None:
    made = await api.post("/v1/keys", {"name": "a", "role": "reader", "request_rate": 5, "request_burst": 10})
    assert (made.json()["request_rate"], made.json()["request_burst"]) == (5, 10)
