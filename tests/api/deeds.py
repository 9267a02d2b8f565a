"""Deeds: how to make every operation that changes something do so, and the entry it leaves."""

import dataclasses
import datetime as dt
from collections.abc import Awaitable, Callable
from typing import Any

from calling import Caller, client

from weft import App
from weft.base import ids
from weft.cluster import locks, nodes
from weft.db.database import Database
from weft.testing.inline import run_pending

Ask = Callable[[Caller, Database], Awaitable[Any]]


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


async def _repair(api: Caller, own: Database) -> Any:
    """A run that stands still: its task is nowhere."""
    run = (await _steer_dag(api, "trigger")).json()["dag_run_id"]
    async with own.tx() as tx:
        await tx.run("delete from weft.tasks where run_id = %(run)s::uuid", {"run": run})
    return await api.post(f"/v1/runs/{run}/repair", {})


def _declared(url: str) -> App:
    app = App(database_url=url)

    @app.step
    async def charge(cents: int) -> int:
        if cents < 0:
            raise ValueError("less than nothing")
        return cents

    @app.workflow
    async def checkout(cents: int) -> list[Any]:
        return [await charge(cents), await app.wait_for("approval")]

    return app


def _workflow(verb: str, body: Any = None, *, cents: int = 5, before: str | None = None) -> Ask:
    """A run of a workflow that waits for a signal, or has failed; and what is then done to it."""

    async def ask(api: Caller, own: Database) -> Any:
        assert own.settings.database_url is not None
        async with _declared(own.settings.database_url) as app:
            await run_pending(app)
            started = await api.post("/v1/workflows/checkout/start", {"arguments": {"cents": cents}})
            if verb == "start":
                return started
            await run_pending(app)
            at = f"/v1/runs/{started.json()['run_id']}"
            if before is not None:
                assert (await api.post(f"{at}/{before}")).status_code == 200
            return await api.post(f"{at}/{verb}", body)

    return ask


_FLOW = {
    "name": "hello",
    "sources": [{"name": "hello.afl", "text": """
namespace hello {
    event facet Greet(name: String) => (greeting: String)
    workflow SayHello(name: String = "world") => (message: String) andThen {
        g = Greet(name = $.name)
        yield SayHello(message = g.greeting)
    }
}
"""}],
}


async def _delete_flow(api: Caller, _database: Database) -> Any:
    made = (await api.post("/v1/flows", _FLOW)).json()
    return await api.delete(f"/v1/flows/{made['id']}")


def _runner(verb: str = "", *before: str, node: str | None = None, body: Any = None) -> Ask:
    """A run of an AFL program whose only task waits for an agent; and what is then done to it, or to a step of it."""

    async def ask(api: Caller, _database: Database) -> Any:
        await api.post("/v1/flows", _FLOW)
        started = await api.post("/v1/runners", {"flow": "hello"})
        if not verb:
            return started
        at = f"/v1/runners/{started.json()['id']}"
        for one in before:
            assert (await api.post(f"{at}/{one}")).status_code == 200
        if node is not None:
            steps = (await api.get(f"{at}/steps")).json()["items"]
            at = f"{at}/steps/{next(one['id'] for one in steps if one['node'] == node)}"
        return await api.post(f"{at}/{verb}", body)

    return ask


async def _drain(api: Caller, own: Database) -> Any:
    node = dataclasses.replace(nodes.here(version="test", roles=["worker"], concurrency=1), org=str(ids.DEFAULT_ORG))
    async with own.tx() as tx:
        await nodes.register(tx, node=node, liveness=None)
    return await api.post(f"/v1/nodes/{node.id}/drain")


class _Worker:
    """Somebody to be killed."""

    def crash(self) -> int | None:
        return 4711


async def _crash(api: Caller, own: Database) -> Any:
    async with client(own, demo=_Worker()) as asking:
        return await asking.post("/v1/demo/crash", headers={"authorization": f"Bearer {api.keys['admin']}"})


async def _login(api: Caller, _database: Database) -> Any:
    return await api.post("/v1/login", {"credential": api.keys["admin"]}, role=None)


async def _leave(api: Caller, database: Database) -> Any:
    opened = await _login(api, database)
    cookie = {"cookie": opened.headers["set-cookie"].split(";")[0], "x-weft-csrf": opened.json()["csrf"]}
    return await api.post("/v1/logout", role=None, headers=cookie)


async def _end_session(api: Caller, database: Database) -> Any:
    return await api.delete(f"/v1/sessions/{(await _login(api, database)).json()['id']}")


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
    "POST /v1/workflows/{name}/start": (_workflow("start"), "workflow.start", "key:admin"),
    "POST /v1/runs/{id}/signal": (_workflow("signal", {"name": "approval"}), "run.signal", "key:admin"),
    "POST /v1/runs/{id}/cancel": (_workflow("cancel", {}), "run.cancel", "key:admin"),
    "POST /v1/runs/{id}/pause": (_workflow("pause"), "run.pause", "key:admin"),
    "POST /v1/runs/{id}/resume": (_workflow("resume", before="pause"), "run.resume", "key:admin"),
    "POST /v1/runs/{id}/repair": (_repair, "run.repair", "key:admin"),
    "POST /v1/runs/{id}/retry": (_workflow("retry", cents=-1), "run.retry", "key:admin"),
    "POST /v1/runs/{id}/skip": (_workflow("skip", {"step": "charge#1"}, cents=-1), "run.skip", "key:admin"),
    "POST /v1/runs/{id}/fork": (_workflow("fork", {"arguments": {"cents": 6}}), "run.fork", "key:admin"),
    "POST /v1/runs/{id}/update": (_workflow("update", {"name": "approval", "wait": 0}), "run.update", "key:admin"),
    "POST /v1/flows": (lambda api, _: api.post("/v1/flows", _FLOW), "flow.create", "key:admin"),
    "DELETE /v1/flows/{id}": (_delete_flow, "flow.delete", "key:admin"),
    "POST /v1/runners": (_runner(), "runner.start", "key:admin"),
    "POST /v1/runners/{id}/pause": (_runner("pause"), "run.pause", "key:admin"),
    "POST /v1/runners/{id}/resume": (_runner("resume", "pause"), "run.resume", "key:admin"),
    "POST /v1/runners/{id}/cancel": (_runner("cancel"), "run.cancel", "key:admin"),
    "POST /v1/runners/{id}/repair": (_runner("repair", "cancel", body={"dry_run": False}), "run.repair", "key:admin"),
    "POST /v1/runners/{id}/steps/{step}/retry": (_runner("retry", "cancel", node="g"), "run.retry", "key:admin"),
    "POST /v1/runners/{id}/steps/{step}/rerun": (_runner("rerun", "cancel", node="g"), "run.rerun_from", "key:admin"),
    "POST /v1/runners/{id}/steps/{step}/reset": (_runner("reset", "cancel", node="andThen#1"), "run.reset", "key:admin"),
    "POST /v1/runners/{id}/steps/{step}/mark": (
        _runner("mark", node="g", body={"state": "failed"}), "run.mark", "key:admin"),
    "POST /v1/login": (_login, "session.open", "key:admin"),
    "POST /v1/logout": (_leave, "session.end", "key:admin"),
    "DELETE /v1/sessions/{id}": (_end_session, "session.end", "key:admin"),
    "POST /v1/nodes/{id}/drain": (_drain, "node.drain", "key:admin"),
    "POST /v1/demo/crash": (_crash, "demo.crash", "key:admin"),
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

CHANGES_NOTHING = {"POST /v1/flows/check"}

BY_HISTORY = {f"POST /v1/task/{verb}" for verb in ("claim", "heartbeat", "complete", "fail", "log")}
"""What a worker says of an attempt is kept with the task: its row and its history name worker, times, outcome and error."""
