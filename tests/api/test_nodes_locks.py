"""/v1/nodes and /v1/locks: who works, who holds what, and taking it away."""

import dataclasses
import datetime as dt
import uuid

import pytest
from calling import Caller, code

import hands
from hands import ORG
from weft.base import errors
from weft.cluster import locks, nodes
from weft.cluster.model import Vitals
from weft.db.database import Database

HOUR = dt.timedelta(hours=1)


async def join(database: Database, *, org: uuid.UUID | None = None, status: str = "active") -> str:
    node = nodes.here(version="9", roles=["worker"], queues=["mail"], handlers=["mail"], capabilities=["gpu"], concurrency=5)
    node = dataclasses.replace(node, org=None if org is None else str(org))
    async with database.tx() as tx:
        await nodes.register(tx, node=node, liveness=None)
        await tx.run("update weft.nodes set status = %(status)s where id = %(id)s", {"status": status, "id": node.id})
    return node.id


async def listed(api: Caller, query: str = "", **how: object) -> list[str]:
    answer = await api.get(f"/v1/nodes{query}", **how)
    assert answer.status_code == 200, answer.text
    return [node["id"] for node in answer.json()["items"]]


async def test_a_node_shows_what_it_is_and_runs(api: Caller, database: Database) -> None:
    id = await join(database)
    async with database.tx() as tx:
        await hands.put_many(tx, 3)
        await hands.put(tx, org=api.other_org)
        assert len(await hands.claim_plain(tx, node=id)) == 4
    node = (await api.get(f"/v1/nodes/{id}", role="reader")).json()
    told = ("status", "roles", "queues", "handlers", "capabilities", "concurrency", "running", "version", "lease")
    assert [node[name] for name in told] == ["active", ["worker"], ["mail"], ["mail"], ["gpu"], 5, 3, "9", 10.0]
    assert 0 <= node["beat_age"] < 60
    assert (await api.get(f"/v1/nodes/{id}", role="other:reader")).json()["running"] == 1


async def test_nodes_come_youngest_first_in_pages_without_the_dead(api: Caller, database: Database) -> None:
    made = [await join(database) for _ in range(3)]
    dead = await join(database, status="dead")
    assert await listed(api) == made[::-1]
    assert await listed(api, "?status=dead&status=active") == [dead, *made[::-1]]
    first = (await api.get("/v1/nodes?limit=2")).json()
    assert await listed(api, f"?limit=2&cursor={first['next_cursor']}") == made[:1]


async def test_a_worker_is_told_to_drain_once_and_stays_so(api: Caller, database: Database) -> None:
    id = await join(database, org=ORG)
    assert code(await api.post(f"/v1/nodes/{id}/drain", role="writer")) == (403, "FORBIDDEN")
    assert code(await api.post(f"/v1/nodes/{id}/drain", role="other:admin")) == (404, "NOT_FOUND")
    for _ in range(2):
        assert (await api.post(f"/v1/nodes/{id}/drain")).json()["status"] == "draining"
    async with database.tx() as tx:
        answer = await nodes.beat(tx, node_id=id, vitals=Vitals())
    assert answer.drain and (await api.get(f"/v1/nodes/{id}")).json()["status"] == "draining"
    entries = (await api.get(f"/v1/audit?object_id={id}")).json()["items"]
    assert [(one["action"], one["before"]) for one in entries] == [("node.drain", {"status": "active"})]


async def test_a_worker_that_serves_every_org_is_drained_by_operators_only(api: Caller, database: Database) -> None:
    id, server = await join(database), nodes.here(version="9", roles=["server"])
    async with database.tx() as tx:
        await nodes.register(tx, node=server, liveness=None)
    assert code(await api.post(f"/v1/nodes/{id}/drain")) == (403, "FORBIDDEN")
    assert (await api.get(f"/v1/nodes/{id}")).json()["status"] == "active"
    assert (await api.post(f"/v1/nodes/{id}/drain", role="operator")).json()["status"] == "draining"
    for other in (await join(database, status="dead"), server.id):
        assert code(await api.post(f"/v1/nodes/{other}/drain", role="operator")) == (409, "CONFLICT")


async def test_an_orgs_own_workers_are_seen_by_it_alone(api: Caller, database: Database) -> None:
    mine, theirs = await join(database, org=ORG), await join(database, org=api.other_org)
    assert await listed(api) == [mine] and await listed(api, role="other:reader") == [theirs]
    assert code(await api.get(f"/v1/nodes/{theirs}")) == (404, "NOT_FOUND")


async def test_what_nodes_do_not_know_is_refused(api: Caller) -> None:
    assert code(await api.get("/v1/nodes?status=tired")) == (400, "INVALID_INPUT")
    assert code(await api.get("/v1/nodes?cursor=x")) == (400, "INVALID_INPUT")
    assert code(await api.get(f"/v1/nodes/{uuid.uuid4()}")) == (404, "NOT_FOUND")
    assert (await api.get("/v1/nodes/x")).status_code == 404
    assert code(await api.get("/v1/nodes", role="worker")) == (403, "FORBIDDEN")


async def hold(database: Database, name: str, *, org: uuid.UUID = ORG) -> str:
    async with database.tx() as tx:
        lock = await locks.acquire(tx, org_id=org, name=name, duration=HOUR, owner="ann", metadata={"why": "x"})
    assert lock is not None
    return str(lock.token)


async def test_locks_are_listed_by_name_without_their_tokens(api: Caller, database: Database) -> None:
    for name in ("b", "a/x", "c"):
        await hold(database, name)
    await hold(database, "theirs", org=api.other_org)
    page = (await api.get("/v1/locks?limit=2", role="reader")).json()
    assert [lock["name"] for lock in page["items"]] == ["a/x", "b"]
    rest = (await api.get(f"/v1/locks?limit=2&cursor={page['next_cursor']}")).json()
    assert [lock["name"] for lock in rest["items"]] == ["c"] and rest["next_cursor"] is None
    one = (await api.get("/v1/locks/a/x")).json()
    assert (one["owner"], one["metadata"]) == ("ann", {"why": "x"}) and "token" not in one
    assert code(await api.get("/v1/locks/theirs")) == (404, "NOT_FOUND")


async def test_a_lock_is_released_with_its_token_only(api: Caller, database: Database) -> None:
    token = await hold(database, "a")
    assert code(await api.delete(f"/v1/locks/a?token={uuid.uuid4()}", role="writer")) == (409, "LOCK_LOST")
    assert (await api.delete(f"/v1/locks/a?token={token}", role="writer")).status_code == 204
    assert code(await api.get("/v1/locks/a")) == (404, "NOT_FOUND")
    assert code(await api.delete(f"/v1/locks/a?token={token}", role="writer")) == (409, "LOCK_LOST")


async def test_an_admin_takes_a_lock_away_and_its_holder_learns_of_it(api: Caller, database: Database) -> None:
    token = await hold(database, "a")
    assert code(await api.delete("/v1/locks/a?force=true", role="writer")) == (403, "FORBIDDEN")
    assert code(await api.delete("/v1/locks/a?force=true", role="other:admin")) == (404, "NOT_FOUND")
    assert (await api.delete("/v1/locks/a?force=true")).status_code == 204
    async with database.tx() as tx:
        [(denied,)] = await tx.rows("select after from weft.journal where action = 'access.denied'")
        assert denied == {"action": "lock.force", "role": "writer"}
        [(action, before)] = await tx.rows("select action, before from weft.journal where object_type = 'lock'")
        assert (action, before) == ("lock.force", {"owner": "ann"})
        with pytest.raises(errors.LockLost):
            await locks.extend(tx, org_id=ORG, name="a", token=uuid.UUID(token), duration=HOUR)
    assert code(await api.delete("/v1/locks/a?force=true")) == (404, "NOT_FOUND")


@pytest.mark.parametrize("query", ["", "?force=false", f"?force=true&token={uuid.UUID(int=1)}", "?token=x", "?now=1"])
async def test_a_release_says_how(api: Caller, database: Database, query: str) -> None:
    await hold(database, "a")
    assert code(await api.delete(f"/v1/locks/a{query}")) == (400, "INVALID_INPUT")
    assert (await api.get("/v1/locks/a")).status_code == 200


async def test_lock_names_and_cursors_are_checked(api: Caller) -> None:
    assert code(await api.get("/v1/locks/a%09b")) == (400, "INVALID_NAME")
    assert code(await api.get("/v1/locks?cursor=x")) == (400, "INVALID_INPUT")
