"""Whatever changes something leaves an entry with actor and request, and so does what is refused; nobody fills the disk."""

import datetime as dt
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from calling import Caller, caller, code

from weft.access import keyring
from weft.api import routes
from weft.api.strangers import Strangers
from weft.base import config, errors, ids
from weft.cluster import locks
from weft.db.database import Database
from weft.journal import audit

Ask = Callable[[Caller, Database], Awaitable[Any]]


@pytest.fixture
async def own(database_url: str) -> AsyncIterator[Database]:
    database = Database(config.Settings(database_url=database_url, secret_key=keyring.generate()))
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def api(own: Database) -> AsyncIterator[Caller]:
    made = await caller(own)
    yield made
    await made.client.aclose()


async def task(api: Caller) -> str:
    return str((await api.post("/v1/tasks", {"kind": "mail"})).json()["id"])


async def dead_task(api: Caller) -> str:
    await api.post("/v1/tasks", {"kind": "mail", "max_attempts": 1})
    held = (await api.post("/v1/task/claim", {"worker": "w", "kinds": ["mail"]}, role="worker")).json()["tasks"][0]
    await api.post("/v1/task/fail", {"token": held["token"], "error": {"message": "planted"}}, role="worker")
    return str(held["task_id"])


async def _redrive(api: Caller, _database: Database) -> Any:
    return await api.post(f"/v1/tasks/{await dead_task(api)}/redrive")


async def _release(api: Caller, database: Database) -> Any:
    minute = dt.timedelta(minutes=1)
    async with database.tx() as tx:
        lock = await locks.acquire(tx, org_id=ids.DEFAULT_ORG, name="nightly", owner="test", duration=minute)
    assert lock is not None
    return await api.delete(f"/v1/locks/nightly?token={lock.token}")


async def _key(api: Caller, _database: Database) -> Any:
    made = (await api.post("/v1/keys", {"name": "a", "role": "reader"})).json()
    return await api.delete(f"/v1/keys/{made['id']}")


async def _keep(api: Caller, _database: Database) -> Any:
    return await api.put("/v1/secrets/TOKEN", {"value": "hello secret"})


async def _resume(api: Caller, _database: Database) -> Any:
    await api.post("/v1/queues/a/pause")
    return await api.post("/v1/queues/a/resume")


async def _forget(api: Caller, _database: Database) -> Any:
    await api.put("/v1/secrets/TOKEN", {"value": "hello secret"})
    return await api.delete("/v1/secrets/TOKEN")


async def _give(api: Caller, _database: Database) -> Any:
    await api.put("/v1/secrets/TOKEN", {"value": "hello secret", "remote": True})
    await api.post("/v1/tasks", {"kind": "mail", "payload": {"x": "${secrets.TOKEN}"}})
    held = (await api.post("/v1/task/claim", {"worker": "w", "kinds": ["mail"]}, role="worker")).json()["tasks"][0]
    return await api.post("/v1/task/secrets", {"token": held["token"]}, role="worker")


async def _cancel(api: Caller, _database: Database) -> Any:
    return await api.post(f"/v1/tasks/{await task(api)}/cancel")


async def _dead(api: Caller, verb: str) -> Any:
    return await api.post(f"/v1/dead/{verb}", {"ids": [await dead_task(api)]})


async def user(api: Caller) -> str:
    return str((await api.post("/v1/users", {"external_id": "auth0|1", "role": "writer"})).json()["id"])


async def _change_user(api: Caller, _database: Database) -> Any:
    return await api.patch(f"/v1/users/{await user(api)}", {"role": "admin"})


async def _remove_user(api: Caller, _database: Database) -> Any:
    return await api.delete(f"/v1/users/{await user(api)}")


async def _role(api: Caller, _database: Database) -> Any:
    return await api.post("/v1/roles", {"slug": "finance", "name": "Finance"})


async def _remove_role(api: Caller, database: Database) -> Any:
    await _role(api, database)
    return await api.delete("/v1/roles/finance")


async def _assign(api: Caller, database: Database) -> Any:
    await _role(api, database)
    return await api.put(f"/v1/roles/finance/members/{await user(api)}")


async def _unassign(api: Caller, database: Database) -> Any:
    await _role(api, database)
    id = await user(api)
    await api.put(f"/v1/roles/finance/members/{id}")
    return await api.delete(f"/v1/roles/finance/members/{id}")


async def _org(api: Caller, _database: Database) -> Any:
    return await api.post("/v1/orgs", {"name": "New", "slug": "new"}, role="operator")


async def _rename(api: Caller, _database: Database) -> Any:
    return await api.patch(f"/v1/orgs/{ids.DEFAULT_ORG}", {"name": "Another"})


_HOURLY = {"name": "hourly", "job_type": "CRON", "cron_expression": "@hourly", "payload": {"task": "mail"}}
_PAST = {"start": "2024-01-01T00:00:00Z", "end": "2024-01-02T00:00:00Z"}


async def job(api: Caller) -> str:
    return str((await api.post("/v1/jobs", _HOURLY)).json()["job_id"])


async def _steer_job(api: Caller, verb: str) -> Any:
    return await api.post(f"/v1/jobs/{await job(api)}/{verb}")


async def _resume_job(api: Caller, _database: Database) -> Any:
    id = await job(api)
    await api.post(f"/v1/jobs/{id}/pause")
    return await api.post(f"/v1/jobs/{id}/resume")


async def _change_job(api: Caller, _database: Database) -> Any:
    return await api.put(f"/v1/jobs/{await job(api)}", {"version": 1, "cron_expression": "@daily"})


async def _delete_job(api: Caller, _database: Database) -> Any:
    return await api.delete(f"/v1/jobs/{await job(api)}")


async def _backfill(api: Caller, _database: Database) -> Any:
    return await api.post(f"/v1/jobs/{await job(api)}/backfills", _PAST)


async def _end_backfill(api: Caller, database: Database) -> Any:
    made = (await _backfill(api, database)).json()
    return await api.post(f"/v1/backfills/{made['backfill_id']}/cancel")


async def _cancel_execution(api: Caller, _database: Database) -> Any:
    made = (await _steer_job(api, "trigger")).json()
    return await api.post(f"/v1/executions/{made['execution_id']}/cancel")


_DAG = {"name": "etl", "tasks": [{"name": "only", "payload": {"task": "mail"}}]}


async def _steer_dag(api: Caller, verb: str) -> Any:
    await api.post("/v1/dags", _DAG)
    return await api.post(f"/v1/dags/etl/{verb}", {} if verb == "trigger" else None)


async def _delete_dag(api: Caller, _database: Database) -> Any:
    await api.post("/v1/dags", _DAG)
    return await api.delete("/v1/dags/etl")


def _steer_run(verb: str, *before: str, body: Any = None) -> Ask:
    async def ask(api: Caller, _database: Database) -> Any:
        run = (await _steer_dag(api, "trigger")).json()["dag_run_id"]
        for one in before:
            assert (await api.post(f"/v1/dag-runs/{run}/{one}")).status_code == 200
        return await api.post(f"/v1/dag-runs/{run}/{verb}", body)

    return ask


DEEDS: dict[str, tuple[Ask, str, str]] = {
    "POST /v1/tasks": (lambda api, _: api.post("/v1/tasks", {"kind": "mail"}), "task.create", "key:admin"),
    "POST /v1/tasks/batch": (
        lambda api, _: api.post("/v1/tasks/batch", {"tasks": [{"kind": "a"}, {"kind": "b"}]}), "task.create", "key:admin"),
    "POST /v1/tasks/{id}/cancel": (_cancel, "task.cancel", "key:admin"),
    "POST /v1/tasks/{id}/redrive": (_redrive, "task.redrive", "key:admin"),
    "POST /v1/jobs": (lambda api, _: api.post("/v1/jobs", _HOURLY), "job.create", "key:admin"),
    "PUT /v1/jobs/{id}": (_change_job, "job.change", "key:admin"),
    "DELETE /v1/jobs/{id}": (_delete_job, "job.delete", "key:admin"),
    "POST /v1/jobs/{id}/pause": (lambda api, _: _steer_job(api, "pause"), "job.pause", "key:admin"),
    "POST /v1/jobs/{id}/resume": (_resume_job, "job.resume", "key:admin"),
    "POST /v1/jobs/{id}/trigger": (lambda api, _: _steer_job(api, "trigger"), "job.trigger", "key:admin"),
    "POST /v1/jobs/{id}/backfills": (_backfill, "job.backfill", "key:admin"),
    "POST /v1/backfills/{id}/cancel": (_end_backfill, "job.backfill_cancel", "key:admin"),
    "POST /v1/executions/{id}/cancel": (_cancel_execution, "execution.cancel", "key:admin"),
    "POST /v1/dags": (lambda api, _: api.post("/v1/dags", _DAG), "dag.create", "key:admin"),
    "POST /v1/dags/{dag_id}/trigger": (lambda api, _: _steer_dag(api, "trigger"), "dag.trigger", "key:admin"),
    "POST /v1/dags/{dag_id}/pause": (lambda api, _: _steer_dag(api, "pause"), "dag.set", "key:admin"),
    "POST /v1/dags/{dag_id}/resume": (lambda api, _: _steer_dag(api, "resume"), "dag.set", "key:admin"),
    "DELETE /v1/dags/{dag_id}": (_delete_dag, "dag.set", "key:admin"),
    "POST /v1/dag-runs/{id}/cancel": (_steer_run("cancel"), "run.cancel", "key:admin"),
    "POST /v1/dag-runs/{id}/pause": (_steer_run("pause"), "run.pause", "key:admin"),
    "POST /v1/dag-runs/{id}/resume": (_steer_run("resume", "pause"), "run.resume", "key:admin"),
    "POST /v1/dag-runs/{id}/rerun": (_steer_run("rerun", "cancel"), "run.rerun", "key:admin"),
    "POST /v1/dag-runs/{id}/clear": (_steer_run("clear", "cancel", body={"tasks": ["only"]}), "run.clear", "key:admin"),
    "POST /v1/dag-runs/{id}/mark": (
        _steer_run("mark", body={"task": "only", "status": "COMPLETED"}), "run.mark", "key:admin"),
    "PATCH /v1/queues/{name}": (lambda api, _: api.patch("/v1/queues/a", {"max_running": 3}), "queue.set", "key:admin"),
    "POST /v1/queues/{name}/pause": (lambda api, _: api.post("/v1/queues/a/pause"), "queue.set", "key:admin"),
    "POST /v1/queues/{name}/resume": (_resume, "queue.set", "key:admin"),
    "POST /v1/dead/redrive": (lambda api, _: _dead(api, "redrive"), "task.redrive", "key:admin"),
    "POST /v1/dead/discard": (lambda api, _: _dead(api, "discard"), "task.discard", "key:admin"),
    "DELETE /v1/locks/{name}": (_release, "lock.release", "key:admin"),
    "POST /v1/keys": (lambda api, _: api.post("/v1/keys", {"name": "a", "role": "reader"}), "key.create", "key:admin"),
    "DELETE /v1/keys/{id}": (_key, "key.revoke", "key:admin"),
    "POST /v1/orgs": (_org, "org.create", "key:operator"),
    "PATCH /v1/orgs/{id}": (_rename, "org.change", "key:admin"),
    "POST /v1/users": (
        lambda api, _: api.post("/v1/users", {"external_id": "auth0|1", "role": "writer"}), "user.create", "key:admin"),
    "PATCH /v1/users/{id}": (_change_user, "user.change", "key:admin"),
    "DELETE /v1/users/{id}": (_remove_user, "user.remove", "key:admin"),
    "POST /v1/roles": (_role, "role.create", "key:admin"),
    "DELETE /v1/roles/{slug}": (_remove_role, "role.remove", "key:admin"),
    "PUT /v1/roles/{slug}/members/{id}": (_assign, "role.assign", "key:admin"),
    "DELETE /v1/roles/{slug}/members/{id}": (_unassign, "role.unassign", "key:admin"),
    "PUT /v1/secrets/{name}": (_keep, "secret.put", "key:admin"),
    "DELETE /v1/secrets/{name}": (_forget, "secret.delete", "key:admin"),
    "POST /v1/task/secrets": (_give, "secret.give", "key:worker"),
}  # fmt: skip
"""Every operation that changes something: how to make it do so, and the entry it leaves."""

BY_HISTORY = {f"POST /v1/task/{verb}" for verb in ("claim", "heartbeat", "complete", "fail", "log")}
"""What a worker says of an attempt is kept with the task: its row and its history name worker, times, outcome and error."""


def test_every_operation_that_changes_something_is_here() -> None:
    changing = {one.name for one in routes.operations() if one.method != "GET"}
    assert changing == set(DEEDS) | BY_HISTORY, "give the operation a deed here, and an entry in the journal"


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


@pytest.mark.parametrize("name", DEEDS)
async def test_what_is_refused_leaves_a_denial_and_nothing_else(api: Caller, own: Database, name: str) -> None:
    operation = next(one for one in routes.operations() if one.name == name)
    path = operation.template.format(id=uuid.uuid4(), name="a", slug="a", dag_id="a")
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
