"""What every request meets: sizes, JSON, unknown fields, NUL, gzip, request ids, and errors that keep their internals."""

import gzip
import logging
from typing import Any

import pytest
from calling import Caller, caller, code

import hands
from each import each
from weft.api import routes
from weft.api.operation import MAX_BODY, Call, Operation
from weft.base import errors, json
from weft.db.database import Database

NEW = {"kind": "mail"}
JSON = {"content-type": "application/json"}


async def stored(database: Database) -> int:
    async with database.tx() as tx:
        return await hands.count(tx)


def padded(size: int) -> bytes:
    """A valid body of exactly so many bytes."""
    empty = json.dumps({"kind": "mail"})
    return empty + b" " * (size - len(empty))


async def test_a_body_may_have_a_mebibyte_and_not_a_byte_more(api: Caller, database: Database) -> None:
    assert (await api.ask("POST", "/v1/tasks", content=padded(MAX_BODY), headers=JSON)).status_code == 201
    answer = await api.ask("POST", "/v1/tasks", content=padded(MAX_BODY + 1), headers=JSON)
    assert code(answer) == (413, "TOO_LARGE")

    async def pieces() -> Any:
        for _ in range(2):
            yield padded(MAX_BODY // 2 + 1)

    answer = await api.ask("POST", "/v1/tasks", content=pieces(), headers=JSON)
    assert code(answer) == (413, "TOO_LARGE")
    assert await stored(database) == 1


DEEP = b'{"kind": "mail", "payload": ' + b'{"a": ' * 100 + b"1" + b"}" * 100 + b"}"


@each(
    ("content", "why"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"nonsense", "not valid JSON"),
        (b'{"kind": "mail"} {}', "not valid JSON"),
        (b'{"kind": "mail\xff"}', "UTF-8"),
        (b"[]", "expected `object`"),
        (b"{}", "missing required field `kind`"),
        (b'{"kind": 1}', "expected `str`, got `int` (at kind)"),
        (b'{"kind": "mail", "knd": 1}', "unknown field `knd`"),
        (b'{"kind": "mail", "payload": []}', "expected `object`, got `array` (at payload)"),
        (b'{"kind": "mail", "payload": {"a": "\\u0000"}}', "NUL"),
        (b'{"kind": "mail", "payload": {"\\u0000": 1}}', "NUL"),
        (b'{"kind": "ma\\u0000il"}', "(at kind)"),
        (b'{"kind": "mail", "payload": {"a": NaN}}', "not valid JSON"),
        (b'{"kind": "mail", "payload": {"a": 1e999}}', "not valid"),
        (DEEP, "deep"),
        (b'{"kind": "mail", "payload": ' + b'{"a": ' * 100_000, "deep"),
        (b'{"kind": "' + b"x" * 256 + b'"}', "length <= 255"),
        (b'{"kind": ""}', "length >= 1"),
        (b'{"kind": " mail"}', "use letters, digits, spaces inside, and any of _ . : / - (at kind)"),
        (b'{"kind": "mail", "queue": "a+b"}', "use letters, digits, spaces inside, and any of _ . : / - (at queue)"),
        (b'{"kind": "mail", "payload": ' + b'{"a": ' * 1000 + b"1" + b"}" * 1001, "deep"),
        (b'{"kind": "mail", "priority": 101}', "<= 100"),
        (b'{"kind": "mail", "priority": true}', "(at priority)"),
        (b'{"kind": "mail", "delay": -1}', ">= 0"),
        (b'{"kind": "mail", "delay": 1e12}', "(at delay)"),
        (b'{"kind": "mail", "run_at": "2030-01-01T00:00:00"}', "(at run_at)"),
        (b'{"kind": "mail", "run_at": "9999-12-31T23:59:59-12:00"}', "between 1970 and 2999"),
        (b'{"kind": "mail", "org": "00000000-0000-7000-8000-000000000001"}', "unknown field `org`"),
        (b'{"kind": "mail", "concurrency": 2}', "needs a concurrency_key"),
        (b'{"kind": "mail", "dedupe_key": "a\\nb"}', "(at dedupe_key)"),
        (b'{"kind": "mail", "tags": "a"}', "(at tags)"),
        (b'{"kind": "mail", "retry": {"backoff": "never"}}', "(at retry.backoff)"),
        (b'{"kind": "mail", "payload": {"a": "' + b"x" * 262_144 + b'"}}', "262,144"),
    ],
)  # fmt: skip
async def test_a_body_that_is_not_valid_is_refused_with_the_reason(
    api: Caller, database: Database, content: bytes, why: str
) -> None:
    answer = await api.ask("POST", "/v1/tasks", content=content, headers=JSON)
    assert answer.status_code == 400 and why in code_message(answer), answer.text
    assert await stored(database) == 0


def code_message(answer: Any) -> str:
    assert code(answer)
    return str(answer.json()["error"]["message"])


async def test_a_payload_64_deep_is_taken(api: Caller) -> None:
    payload: dict[str, Any] = {}
    for _ in range(63):
        payload = {"a": payload}
    assert (await api.post("/v1/tasks", {**NEW, "payload": payload})).status_code == 201
    assert (await api.post("/v1/tasks", {**NEW, "payload": {"a": payload}})).status_code == 400


@each(
    "headers",
    [
        {"content-type": "text/plain"}, {"content-type": "application/x-www-form-urlencoded"}, {"content-type": ""},
        {"content-type": "application/json; charset=latin-1"}, {**JSON, "content-encoding": "gzip"},
    ],
)  # fmt: skip
async def test_what_is_not_plain_json_is_refused(api: Caller, database: Database, headers: dict[str, str]) -> None:
    answer = await api.ask("POST", "/v1/tasks", content=b'{"kind": "mail"}', headers=headers)
    assert code(answer) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert await stored(database) == 0


async def test_json_may_say_its_charset(api: Caller) -> None:
    headers = {"content-type": "Application/JSON; charset=UTF-8"}
    assert (await api.ask("POST", "/v1/tasks", content=b'{"kind": "mail"}', headers=headers)).status_code == 201


@each(
    ("query", "why"),
    [
        ("limit=0", ">= 1"), ("limit=501", "<= 500"), ("limit=ten", "must be a number"), ("limit=5&limit=6", "twice"),
        ("limit=null", "must be a number"),
        ("limit=", "must be a number"), ("lmit=5", "unknown field `lmit`"), ("cursor=", "(at cursor)"),
        ("cursor=nonsense", "not one of this list"), ("cursor=%00", "NUL"), ("cursor=%ff", "UTF-8"),
        ("cursor=MQ", "not one of this list"), ("cursor=MVsxLDJd", "not one of this list"),
        ("cursor=MVsiYSJd", "not one of this list"), ("cursor=" + "A" * 3000, "(at cursor)"),
    ],
)  # fmt: skip
async def test_a_query_that_is_not_valid_is_refused_with_the_reason(api: Caller, query: str, why: str) -> None:
    answer = await api.get(f"/v1/keys?{query}")
    assert answer.status_code == 400 and why in code_message(answer), answer.text


async def test_what_takes_no_query_or_body_refuses_them(api: Caller) -> None:
    assert code(await api.get("/v1/openapi.json?x=1")) == (400, "INVALID_INPUT")
    id = (await api.post("/v1/tasks", NEW)).json()["id"]
    assert code(await api.post(f"/v1/tasks/{id}/cancel", {})) == (400, "INVALID_INPUT")
    assert (await api.get(f"/v1/tasks/{id}")).json()["state"] == "ready"


async def test_an_unknown_path_and_an_unknown_verb_are_said_in_the_envelope(api: Caller) -> None:
    for path in ("/", "/v1", "/v1/nothing", "/v1/tasks/", "/v1/tasks/not-an-id", "/v1//tasks", "/health/"):
        assert code(await api.get(path)) == (404, "NOT_FOUND"), path
    refused = await api.ask("DELETE", "/v1/tasks")
    assert code(refused) == (405, "METHOD_NOT_ALLOWED") and "POST" in refused.headers["allow"]
    assert code(await api.ask("TRACE", "/health")) == (405, "METHOD_NOT_ALLOWED")


async def test_a_large_answer_is_compressed_for_whoever_can_read_it(api: Caller) -> None:
    id = (await api.post("/v1/tasks", {**NEW, "payload": {"text": "weft " * 1000}})).json()["id"]
    async with api.client.stream(
        "GET", f"/v1/tasks/{id}", headers={"authorization": f"Bearer {api.keys['reader']}", "accept-encoding": "gzip"}
    ) as answer:
        raw = b"".join([piece async for piece in answer.aiter_raw()])
    assert (answer.headers["content-encoding"], answer.headers["vary"]) == ("gzip", "accept-encoding")
    assert json.loads(gzip.decompress(raw))["id"] == id and len(raw) < 1000
    for refuses in ("identity", "gzip;q=0", ""):
        plain = await api.get(f"/v1/tasks/{id}", headers={"accept-encoding": refuses})
        assert "content-encoding" not in plain.headers and len(plain.content) > 5000


async def test_a_request_id_is_kept_if_it_is_harmless_and_made_otherwise(api: Caller) -> None:
    assert (await api.get("/health", headers={"x-request-id": "abc-1.2_3"})).headers["x-request-id"] == "abc-1.2_3"
    made = [
        (await api.get("/health", headers={"x-request-id": given})).headers["x-request-id"]
        for given in ("", "x" * 65, "a b", "<script>")
    ]
    assert all(one.startswith("req-") for one in made) and len(set(made)) == 4


async def _breaks(_call: Call[None, None]) -> None:
    raise ValueError("the password is hunter2")


async def _refuses(_call: Call[None, None]) -> None:
    raise errors.DatabaseError("permission denied for table secrets")


@pytest.mark.parametrize("handler", [_breaks, _refuses])
async def test_what_breaks_is_logged_and_told_without_internals(
    database: Database, caplog: pytest.LogCaptureFixture, handler: Any
) -> None:
    broken = Operation("GET", "/v1/broken", action="task.read", handler=handler, summary="Breaks")
    api = await caller(database, operations=[*routes.operations(), broken])
    with caplog.at_level(logging.INFO, logger="weft.api"):
        answer = await api.get("/v1/broken")
    assert code(answer) == (500, "INTERNAL")
    assert "hunter2" not in answer.text and "secrets" not in answer.text
    assert "hunter2" in caplog.text or "secrets" in caplog.text
    assert "GET /v1/broken 500" in caplog.text


async def test_head_answers_as_get_does_without_a_body(api: Caller) -> None:
    got, asked = await api.get("/v1/openapi.json"), await api.ask("HEAD", "/v1/openapi.json")
    assert (asked.status_code, asked.content) == (200, b"") and asked.headers["etag"] == got.headers["etag"]
