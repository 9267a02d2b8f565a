"""Who may: open on this machine until there is a key, then by role; and nothing of one org reaches another."""

import dataclasses
from typing import Any

import lab as labs
import pytest
from lab import PROBLEM, Lab, refused

import aiopslab_page
from weft.api import openapi, policy, server
from weft.base import errors
from weft.contrib.aiopslab.application import APPLICATION, OPERATIONS
from weft.contrib.aiopslab.speech import AIOPSLAB
from weft.db.database import Database

GUARDED = [one for one in OPERATIONS if one.action != policy.PUBLIC]


def filled(path: str, *, task: str = labs.NOWHERE, worker: str = "worker-009-kind") -> str:
    return path.format(id=task, task=task, worker=worker)


async def ask(lab: Lab, operation: Any, **how: Any) -> Any:
    body = operation.example if operation.body is not None else None
    return await lab.ask(operation.method, filled(operation.template), body, **how)


async def test_without_a_key_the_door_is_open_on_this_machine(lab: Lab) -> None:
    for operation in GUARDED:
        assert (await ask(lab, operation)).status_code not in (401, 403), operation.name


async def test_an_issuer_of_tokens_locks_it_too(database: Database) -> None:
    database.settings = dataclasses.replace(database.settings, oidc_issuer="https://issuer.example", oidc_audience="weft")
    async with labs.client(database) as client:
        assert refused(await Lab(database, client).get("/tasks")) == (401, "UNAUTHENTICATED")


async def test_with_a_key_nobody_comes_in_without_one(locked: Lab) -> None:
    for operation in GUARDED:
        assert refused(await ask(locked, operation)) == (401, "UNAUTHENTICATED"), operation.name
        wrong = {"authorization": "Bearer weft_nonsense"}
        assert refused(await ask(locked, operation, headers=wrong)) == (401, "UNAUTHENTICATED"), operation.name
    assert (await locked.get("/health")).json()["status"] == "healthy"


async def test_every_role_may_what_the_one_table_says_and_no_more(locked: Lab) -> None:
    for operation in GUARDED:
        for role in labs.ROLES:
            answer = await ask(locked, operation, role=role)
            if role in policy.ACTIONS[operation.action]:
                assert answer.status_code not in (401, 403), (operation.name, role, answer.text)
            else:
                assert refused(answer) == (403, "FORBIDDEN"), (operation.name, role)


async def test_nothing_of_one_org_is_seen_or_touched_by_another(locked: Lab) -> None:
    canary = "canary-of-mine"
    made = await locked.post("/tasks", {"problem_id": canary, "metadata": {"x": canary}}, role="writer")
    id = made.json()["id"]
    worker = {"id": "worker-001-kind", "backend_type": canary, "capabilities": {"max_parallel_tasks": 1}}
    assert (await locked.post("/workers/register", worker, role="worker")).status_code == 201
    assert (await locked.post("/workers/worker-001-kind/claim", role="worker")).json()["id"] == id
    await locked.post(f"/workers/worker-001-kind/tasks/{id}/logs", {"logs": [{"message": canary}]}, role="worker")
    before = await locked.get(f"/tasks/{id}?include_logs=true", role="reader")
    # the same name in another org is another worker
    assert refused(await locked.post("/workers/worker-001-kind/claim", role="other:worker")) == (404, "NOT_FOUND")
    theirs = {**worker, "backend_type": "theirs"}
    assert (await locked.post("/workers/register", theirs, role="other:worker")).status_code == 201
    for operation in GUARDED:
        for role in ("other:admin", "other:worker"):
            if role.removeprefix("other:") not in policy.ACTIONS[operation.action]:
                continue
            path = filled(operation.template, task=id, worker="worker-001-kind")
            body = operation.example if operation.body is not None else None
            answer = await locked.ask(operation.method, path, body, role=role)
            assert canary not in answer.text, operation.name
            if "{id}" in operation.template or "{task}" in operation.template:
                assert refused(answer)[0] in (400, 404), (operation.name, answer.text)
    after = await locked.get(f"/tasks/{id}?include_logs=true", role="reader")
    assert after.json() == before.json() and canary in after.text
    assert (await locked.get("/tasks", role="other:reader")).json()["total"] == 1, "its own example"


async def test_it_is_served_beside_weft_s_own_in_its_own_words(database: Database) -> None:
    async with labs.client(database, mounted=True) as client:
        lab = Lab(database, client)
        id = await lab.submit(PROBLEM)
        assert (await lab.task(id))["id"] == id
        assert refused(await lab.get("/nowhere")) == (404, "NOT_FOUND")
        other = await client.get("http://weft/v1/nowhere")
        assert (other.status_code, set(other.json()["error"])) == (404, {"code", "message", "request_id"})
        assert (await client.get("http://weft/v1/tasks")).status_code == 401, "Weft's own door is never open"
        document = (await lab.get("/openapi.json")).json()
        assert "/aiopslab/tasks" in document["paths"] and "/v1/tasks" not in document["paths"]
        counted = (await lab.get("/metrics")).text
        assert 'path="/aiopslab/tasks/{id}"' in counted and id not in counted


def test_the_document_has_every_operation_with_its_refusals() -> None:
    document = openapi.document(OPERATIONS, AIOPSLAB)
    assert {f"{method.upper()} {path}" for path, one in document["paths"].items() for method in one} == {
        one.name for one in OPERATIONS
    }
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            assert "422" not in one["responses"] and "400" in one["responses"], (method, path)
    assert set(document["components"]["schemas"]["Problem"]["properties"]) == {"error", "code", "details"}


async def test_an_application_with_a_door_that_nobody_named_stops_the_server(database: Database) -> None:
    [health] = [one for one in OPERATIONS if one.name == "GET /health"]
    open_door = dataclasses.replace(health, path="/open")
    with pytest.raises(errors.ConfigError, match="list of exemptions"):
        server.build(database, applications=[dataclasses.replace(APPLICATION, operations=[open_door])])


def test_its_page_is_what_the_operations_say() -> None:
    assert aiopslab_page.PAGE.read_text() == aiopslab_page.page(), "run: .venv/bin/python tests/aiopslab_page.py"
