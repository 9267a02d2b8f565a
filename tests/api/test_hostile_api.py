"""Hostile texts through the REST API: kept and given back as they were, or refused with a reason; always only data."""

import copy
from collections.abc import Iterator
from typing import Any

import httpx2
import msgspec
from calling import Caller
from holding import hold

import hostile
from weft.api import policy, routes
from weft.api.operation import Operation
from weft.db.database import Database

NOW = {"wait": 0}
NOBODY = "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f"
WHOLE = "\n".join(hostile.ALL)
"""All of it in one field."""
POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def guarded(answer: httpx2.Response) -> None:
    """No browser takes this for a page, whatever is in it."""
    said = answer.headers
    # this server has no key to seal secrets with
    assert answer.status_code < 500 or "NO_SECRET_KEY" in answer.text, answer.text
    assert answer.status_code != 429
    if answer.content:
        kind = said["content-type"].partition(";")[0]
        assert kind in ("application/json", "text/plain", "text/event-stream"), kind
    assert said["x-content-type-options"] == "nosniff" and said["content-security-policy"] == POLICY
    assert said["x-frame-options"] == "DENY" and said["referrer-policy"] == "no-referrer"
    assert not set("".join([*said.keys(), *said.values()])) & set(hostile.HIDDEN)
    if answer.status_code >= 400:
        error = answer.json()["error"]
        assert error["code"] and error["message"]


def leaves(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where texts are."""
    if isinstance(value, str):
        yield at
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from leaves(one, (*at, key))


def planted(value: Any, at: tuple[Any, ...], text: str) -> Any:
    whole = here = copy.deepcopy(value)
    for step in at[:-1]:
        here = here[step]
    here[at[-1]] = text
    return whole


def places(operation: Operation) -> list[tuple[Any, ...]]:
    """Every text of the example, and every field of the body that may be one."""
    found = list(leaves(operation.example))
    if isinstance(operation.body, type) and issubclass(operation.body, msgspec.Struct):
        found += [(field.encode_name,) for field in msgspec.structs.fields(operation.body)]
    return list(dict.fromkeys(found))


def who(operation: Operation) -> str:
    """Somebody who may."""
    return "operator" if operation.action == policy.PUBLIC or "operator" in policy.ACTIONS[operation.action] else "worker"


def path(operation: Operation, text: str = "x") -> str:
    kinds = {"uuid": NOBODY, "path": text, "str": text}
    return operation.template.format(**{name: kinds[kind] for name, kind in operation.parameters.items()})


async def test_every_field_of_every_body_takes_it_as_text_or_refuses_it(api: Caller) -> None:
    walked = turn = 0
    for operation in routes.operations():
        if operation.body is None or not isinstance(operation.example, dict):
            continue
        for at in places(operation):
            turn += 1
            for text in (WHOLE, hostile.ALL[turn % len(hostile.ALL)]):
                body = planted({**operation.example, **NOW} if "wait" in operation.example else operation.example, at, text)
                answer = await api.ask(operation.method, path(operation), role=who(operation), json=body)
                guarded(answer)
                walked += 1
                if answer.is_success and len(at) == 1 and answer.content and isinstance(answer.json(), dict):
                    given = answer.json().get(at[0], text)
                    # a credential, a slug: what comes back under the same name need not be what was sent
                    assert given == text or not isinstance(given, str) or text not in given, (operation.name, at)
    assert walked > 300


async def test_every_path_and_filter_takes_it_as_text_or_refuses_it(api: Caller) -> None:
    walked = 0
    for operation in routes.operations():
        if operation.stream:
            continue
        names = [name for name, kind in operation.parameters.items() if kind != "uuid"]
        query = [field.encode_name for field in msgspec.structs.fields(operation.query)] if operation.query else []
        if operation.method != "GET" and not names:
            continue
        body = {} if operation.body is None else {"json": operation.example}
        for number in range(3):
            text = hostile.ALL[(walked + 29 * number) % len(hostile.ALL)]
            walked += 1
            if names:
                quoted = "".join(f"%{byte:02X}" for byte in text.encode())
                guarded(await api.ask(operation.method, path(operation, quoted), role=who(operation), **body))
            for name in query:
                params = {name: text}
                guarded(await api.ask(operation.method, path(operation), role=who(operation), params=params, **body))
    assert walked > 100


async def test_what_a_task_is_told_and_says_is_given_back_the_same(api: Caller, database: Database) -> None:
    texts = list(hostile.ALL)
    held = await hold(api, database, payload={"all": texts, **{one: one for one in texts}})
    assert held.task["payload"]["all"] == texts
    lines = [{"message": one, "fields": {one: one}} for one in texts]
    assert (await held.say("log", lines=lines)).is_success
    error = {"type": "Bad\x1b]0;x\x07", "message": WHOLE, "traceback": WHOLE}
    answer = await held.say("fail", error=error, retryable=False)
    assert answer.is_success, answer.text
    shown = await api.get(f"/v1/tasks/{held.id}")
    guarded(shown)
    assert shown.json()["payload"] == {"all": texts, **{one: one for one in texts}}
    assert {**shown.json()["error"], **error} == shown.json()["error"]
    logged = await api.get(f"/v1/tasks/{held.id}/logs?limit=500")
    guarded(logged)
    assert [(one["message"], one["fields"]) for one in logged.json()["items"]] == [(one, {one: one}) for one in texts]
    # what is pushed is JSON in one line each, so that no text can end an event and begin another
    async with api.client.stream(
        "GET", f"/v1/tasks/{held.id}/logs/stream", headers={"authorization": f"Bearer {api.keys['reader']}"}
    ) as stream:
        body = b"".join([piece async for piece in stream.aiter_bytes()])
    guarded(httpx2.Response(stream.status_code, headers=stream.headers, content=b"x"))
    events = [event.split(b"\n") for event in body.split(b"\n\n") if event.startswith(b"event: log")]
    assert [msgspec.json.decode(event[-1].removeprefix(b"data: "))["message"] for event in events] == texts
    assert all(len(event) == 3 for event in events)


async def test_free_texts_of_jobs_dags_and_keys_are_given_back_the_same(api: Caller) -> None:
    plain = [one for one in hostile.ALL if "${" not in one]
    job = {"name": "a", "job_type": "CRON", "cron_expression": "@daily", "payload": {"task": "a", "args": {"all": plain}}}
    made = await api.post("/v1/jobs", job)
    assert made.is_success, made.text
    found = (await api.get(f"/v1/jobs/{made.json()['job_id']}")).json()
    assert found["payload"]["args"]["all"] == plain
    dag = {
        "name": "d", "description": "\n".join(plain), "params": {"all": {"type": "[string]", "default": plain}},
        "tasks": [{"name": "t", "payload": {"task": "a", "args": {"all": plain}}}],
    }  # fmt: skip
    made = await api.post("/v1/dags", dag)
    assert made.is_success, made.text
    found = (await api.get(f"/v1/dags/{made.json()['dag_id']}")).json()
    assert found["description"] == dag["description"]
    run = await api.post("/v1/dags/d/trigger", {"params": {"all": list(hostile.ALL)}})
    assert run.is_success, run.text
    shown = (await api.get(f"/v1/runs/{run.json()['dag_run_id']}")).json()
    assert shown["params"]["all"] == list(hostile.ALL)


async def test_names_with_marks_that_turn_or_hide_are_refused(api: Caller) -> None:
    for text in (*hostile.SEQUENCES, *hostile.MARKS):
        for body in ({"kind": text}, {"kind": "a", "queue": text}, {"kind": "a", "tags": [text]}):
            answer = await api.post("/v1/tasks", body)
            assert answer.status_code == 400, (body, answer.text)
            assert "is not valid" in answer.json()["error"]["message"] or "valid" in answer.text
