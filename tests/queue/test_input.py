"""Bad input: a clear error that names the fix, and nothing is stored. From Python and from SQL."""

import datetime as dt
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

import hands
from each import each
from weft.app import App
from weft.base import errors
from weft.db.database import Database
from weft.db.tx import Tx


def nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(depth - 1):
        inner = {"x": inner}
    return inner


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as opened:
        opened.task(name="mail")(lambda: None)
        yield opened


PAYLOADS: list[tuple[Any, str]] = [
    ({"x": "a\0b"}, "NUL character, which PostgreSQL cannot store; remove it"),
    ({"a\0": 1}, "NUL character"),
    ({"x": ["deep", {"y": "\0"}]}, "NUL character"),
    ({"x": "y" * 300 * 1024}, r"the limit is 262,144; store the data elsewhere and pass a reference"),
    (nested(65), "deeper than 64 levels; flatten it"),
    (nested(1000), "deeper than 64 levels; flatten it"),
    ({"x": float("nan")}, "NaN or infinity, which JSON cannot say"),
    ({"x": [None, float("-inf")]}, "NaN or infinity"),
    ({"x": object()}, "cannot be written as JSON"),
    ([1, 2], "must be a dict of arguments, not list"),
    ("text", "must be a dict of arguments, not str"),
]

OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"priority": 101}, r"priority 101 must be a whole number from 0 \(last\) to 100 \(first\)"),
    ({"priority": -1}, "priority -1 must be"),
    ({"priority": 5.5}, "priority 5.5 must be"),
    ({"priority": True}, "priority True must be"),
    ({"queue": ""}, "use 1-255 letters, digits"),
    ({"queue": "a\0b"}, "use 1-255 letters"),
    ({"queue": "a+b"}, "use 1-255 letters"),
    ({"queue": " a"}, "use 1-255 letters"),
    ({"queue": "q" * 256}, "use 1-255 letters"),
    ({"queue": 7}, "queue must be text, not int"),
    ({"delay": "soon"}, "delay 'soon' is not a duration; write 30, '30s', '1h30m' or '2d'"),
    ({"delay": float("nan")}, "is not a duration"),
    ({"delay": float("inf")}, "is not a duration"),
    ({"delay": True}, "delay must be a timedelta, seconds or text"),
    ({"timeout": 0}, "timeout must be longer than nothing"),
    ({"timeout": "-5s"}, "is not a duration"),
    ({"run_at": dt.datetime(2030, 1, 1)}, "with a timezone"),
    ({"run_at": "tomorrow"}, "with a timezone"),
    ({"run_at": dt.datetime.now(dt.UTC), "delay": 1}, "run_at or delay, not both"),
    ({"max_attempts": 0}, "whole number from 1 to 1000"),
    ({"max_attempts": 1001}, "whole number from 1 to 1000"),
    ({"retry": {"backoff": "wild"}}, "must be fixed, linear or exponential"),
    ({"retry": {"bakoff": "fixed"}}, "known: backoff, base, multiplier, cap, jitter"),
    ({"retry": "often"}, "retry must be a Retry or a dict"),
    ({"capabilities": "gpu"}, "must be given as a list"),
    ({"capabilities": ["g+u"]}, "use 1-255 letters"),
    ({"capabilities": [f"{n}" + "c" * 250 for n in range(5)]}, "shorter or fewer names"),
    ({"tags": ["\n"]}, "use 1-255 letters"),
    ({"dedupe_key": "a\0"}, "without control characters"),
    ({"dedupe_key": ""}, "1-1024 bytes"),
    ({"dedupe_key": "ä" * 513}, "1-1024 bytes"),
    ({"dedupe_key": "k", "dedupe": "now and then"}, "dedupe 'now and then' is not a duration"),
    ({"dedupe_key": "k", "dedupe": "0s"}, "positive duration"),
    ({"concurrency": 2}, "concurrency needs a concurrency_key"),
    ({"concurrency_key": "k", "concurrency": 10_001}, "must be 1 to 10000, or 'strict'"),
    ({"concurrency_key": "k", "concurrency": "loose"}, "or 'strict'"),
    ({"org": "acme"}, "org 'acme' is not a UUID"),
    ({"parent_id": 7}, "parent_id 7 is not a UUID"),
    ({"prio": 1}, "unknown option 'prio'; known: capabilities, concurrency"),
]


@each(("payload", "message"), PAYLOADS)
async def test_a_payload_that_cannot_be_stored_is_refused(app: App, payload: Any, message: str) -> None:
    with pytest.raises(errors.InvalidPayload, match=message):
        await app.enqueue("mail", payload)
    async with app.tx() as tx:
        assert await hands.count(tx) == 0


async def test_an_option_that_means_nothing_is_refused_and_nothing_is_stored(app: App) -> None:
    for options, message in OPTIONS:
        with pytest.raises(errors.InvalidInput, match=message):
            await app.enqueue("mail", {}, **options)
    async with app.tx() as tx:
        assert await hands.count(tx) == 0


async def test_a_kind_nobody_knows_is_refused_unless_you_insist(app: App) -> None:
    for enqueue in (app.enqueue("nobody", {}), app.enqueue_many("nobody", [{}])):
        with pytest.raises(errors.UnknownKind, match=r"declare it with @app.task, start its worker, or pass check=False"):
            await enqueue
    with pytest.raises(errors.UnknownKind, match=r"decorate it with @app\.task"):
        await app.enqueue(print, {})  # type: ignore[arg-type]
    assert (await app.enqueue("nobody", {}, check=False)).created


@each("kind", ["", " mail", "a\nb", "a\0b", "x" * 256, "a+b", "a;b"])
async def test_a_kind_that_is_no_name_is_refused(app: App, kind: str) -> None:
    with pytest.raises(errors.InvalidName, match="use 1-255 letters, digits"):
        await app.enqueue(kind, {}, check=False)


@pytest.mark.parametrize("kind", ["a", "x" * 255, "Grüße an alle", "a.b:c/d-e_f", "日本語", "1"])
async def test_what_the_seeds_call_a_name_is_one(app: App, kind: str) -> None:
    assert (await app.get((await app.enqueue(kind, {}, check=False)).id)).kind == kind


async def test_what_is_just_allowed_is_stored(app: App) -> None:
    allowed = [
        ({"x": "y" * (256 * 1024 - 9)}, {}),
        (nested(64), {}),
        ({}, {"dedupe_key": "ä" * 512, "concurrency_key": "k" * 1024, "queue": "q" * 255, "priority": 100}),
    ]
    for payload, options in allowed:
        made = await app.enqueue("mail", payload, **options)  # type: ignore[arg-type]
        assert (await app.get(made.id)).payload == payload


async def test_an_id_that_is_none_is_refused(app: App) -> None:
    with pytest.raises(errors.InvalidInput, match="is not a task id"):
        await app.get("seven")
    with pytest.raises(errors.NotFound):
        await app.get(uuid.uuid4())


SQL = [
    ("select weft.enqueue('')", "the name '' is not valid: use 1-255 letters"),
    ("select weft.enqueue(null)", "the name NULL is not valid"),
    ("select weft.enqueue('mail', queue => 'a+b')", "the name 'a\\+b' is not valid"),
    ("select weft.enqueue('mail', queue => E'a\\nb')", "is not valid"),
    ("select weft.enqueue('mail', queue => repeat('q', 256))", "is not valid"),
    ("select weft.enqueue('mail', priority => 101)", r"priority 101 is out of range: use 0 \(last\) to 100 \(first\)"),
    ("select weft.enqueue('mail', priority => null)", "priority null is out of range"),
    ("select weft.enqueue('mail', max_attempts => 0)", "max_attempts 0 is out of range: use 1 to 1000"),
    ("select weft.enqueue('mail', max_attempts => 100000)", "max_attempts 100000 is out of range"),
    ("select weft.enqueue('mail', '[]')", "must be a JSON object, not array"),
    ("select weft.enqueue('mail', null)", "must be a JSON object, not null"),
    ("select weft.enqueue('mail', '{\"x\": \"\\u0000\"}')", "Unicode escape|cannot be converted"),
    ("select weft.enqueue('mail', jsonb_build_object('x', repeat('y', 300000)))", "the limit is 262144; store"),
    ("select weft.enqueue('mail', (repeat('{\"x\":', 100) || '1' || repeat('}', 100))::jsonb)", "deeper than 64 levels"),
    ("select weft.enqueue('mail', (repeat('{\"x\":', 1000) || '1' || repeat('}', 1000))::jsonb)", "deeper than 64 levels"),
    ("select weft.enqueue('mail', concurrency_key => 'k', concurrency => -1)", "use 1 to 10000, or 0 for strict order"),
    ("select weft.enqueue('mail', dedupe_key => '')", "dedupe_key must be 1-1024 bytes"),
    ("select weft.enqueue('mail', concurrency_key => repeat('x', 1025))", "concurrency_key must be 1-1024 bytes"),
    ("select weft.enqueue('mail', dedupe_key => 'k', dedupe => 'sometimes')", "invalid input syntax for type interval"),
    ("select weft.enqueue('mail', capabilities => array(select n || repeat('c', 250) from generate_series(1, 5) as n))",
     "longer than 1024 bytes together; use shorter or fewer names"),
    ("select weft.enqueue_many('mail', '{}')", "must be a JSON array of objects"),
    ("select weft.enqueue_many('mail', '[{}, 1]')", "every payload must be a JSON object"),
    ("select weft.enqueue_many('mail', '[{}, {}]', dedupe_keys => '{a}')", "one dedupe key per payload"),
    ("select weft.enqueue_many('mail', '[{}]', priority => -1)", "priority -1 is out of range"),
    ("select weft.enqueue_many('mail', '[{}]', max_attempts => 0)", "max_attempts 0 is out of range"),
    ("select weft.enqueue_many('mail', jsonb_build_array('{}'::jsonb, jsonb_build_object('x', repeat('y', 300000))))",
     "the limit is 262144"),
    ("select weft.enqueue_many('mail', jsonb_build_array((repeat('{\"x\":', 100) || '1' || repeat('}', 100))::jsonb))",
     "deeper than 64 levels"),
]  # fmt: skip


async def test_sql_refuses_the_same_and_stores_nothing(database: Database) -> None:
    for statement, message in SQL:
        async with database.once() as tx:
            with pytest.raises(errors.InvalidInput, match=message):
                await tx.rows(statement)
    async with database.once() as tx:
        assert await hands.count(tx) == 0


async def test_sql_takes_what_is_just_allowed(tx: Tx) -> None:
    deep = "(repeat('{\"x\":', 63) || '{}' || repeat('}', 63))::jsonb"
    await tx.rows(f"select weft.enqueue('Grüße an alle', {deep}, dedupe_key => repeat('k', 1024))")
    await tx.rows("select weft.enqueue('mail', capabilities => (select array_agg(n || repeat('c', 248)) "
                  "from generate_series(1, 3) as n))")  # fmt: skip
    assert await hands.count(tx) == 2
