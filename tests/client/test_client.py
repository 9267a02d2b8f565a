"""The client: what it sends, what it repeats, and which error an answer becomes."""

import asyncio
import datetime as dt
from typing import Any

import pytest
import talker
from hypothesis import given
from hypothesis import strategies as st
from talker import Talker

from weft.base import errors
from weft.client import client as clients
from weft.client import refusal
from weft.client.client import Client
from weft.net.guard import Unreachable

BUSY = {"error": {"code": "UNAVAILABLE", "message": "away", "request_id": "r1"}}


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_FIRST_PAUSE", 0.0)


@pytest.fixture
def server() -> Talker:
    return Talker()


def client(server: Talker, **options: Any) -> Client:
    return Client("http://weft.test", key="weft_secret", transport=server, **options)


async def test_it_sends_json_with_the_key_and_decodes_the_answer(server: Talker) -> None:
    server.says(201, {"id": "x"})
    async with client(server) as weft:
        assert await weft.post("/v1/tasks", {"kind": "a"}) == {"id": "x"}
    [asked] = server.asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/v1/tasks", b'{"kind":"a"}')
    assert asked.headers["authorization"] == "Bearer weft_secret"
    assert asked.headers["content-type"] == "application/json"
    assert "idempotency-key" not in asked.headers


async def test_a_query_leaves_none_out_and_repeats_lists(server: Talker) -> None:
    server.says(200, {})
    at = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    async with client(server) as weft:
        await weft.get("/v1/tasks", query={"state": ["failed", "ready"], "kind": None, "dead": True, "since": at})
    assert server.asked[0].query == "state=failed&state=ready&dead=true&since=2026-01-02T00%3A00%3A00%2B00%3A00"


@given(st.text(min_size=1))
def test_a_part_of_a_path_is_one_segment_whatever_it_holds(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        return
    assert clients.path("/v1/queues/{}/pause", name).count("/") == 4


async def test_an_error_of_the_envelope_becomes_its_class(server: Talker) -> None:
    server.says(404, {"error": {"code": "NOT_FOUND", "message": "no task x", "request_id": "r7", "details": {"id": "x"}}})
    async with client(server) as weft:
        with pytest.raises(errors.NotFound, match="no task x") as raised:
            await weft.get("/v1/tasks/x")
    assert raised.value.details == {"id": "x", "request_id": "r7", "status": 404}


async def test_a_code_this_version_does_not_know_is_kept(server: Talker) -> None:
    server.says(418, {"error": {"code": "TEAPOT", "message": "no coffee", "request_id": "r"}})
    async with client(server) as weft:
        with pytest.raises(errors.WeftError, match="no coffee") as raised:
            await weft.get("/v1/x")
    assert raised.value.code == "TEAPOT"
    assert errors.WeftError.code == "WEFT_ERROR"


@pytest.mark.parametrize("body", [b"<html>Bad Gateway</html>", b"", b'{"error": 1}', b'{"error": {}}', b"\xff", b"[1]"])
async def test_an_answer_that_is_not_ours_says_so(server: Talker, body: bytes) -> None:
    server.says(500, body)
    async with client(server) as weft:
        with pytest.raises(errors.WeftError, match=r"answered 500.*is it a Weft server"):
            await weft.get("/v1/tasks")


async def test_a_success_that_is_not_json_says_so(server: Talker) -> None:
    server.says(200, b"<html>")
    async with client(server) as weft:
        with pytest.raises(errors.WeftError, match="is it a Weft server"):
            await weft.get("/v1/tasks")


def test_every_error_of_ours_is_known_by_its_code() -> None:
    assert {"NOT_FOUND", "CONFLICT", "LEASE_LOST", "INVALID_INPUT", "UNAVAILABLE"} <= set(refusal.classes())
    assert all(kind.code == code for code, kind in refusal.classes().items())


async def test_a_read_is_repeated_until_it_is_answered(server: Talker) -> None:
    for _ in range(3):
        server.says(503, BUSY)
    server.says(200, {"ok": True})
    async with client(server) as weft:
        assert await weft.get("/v1/tasks") == {"ok": True}
    assert len(server.asked) == 4


async def test_it_gives_up_after_its_tries_with_what_was_said_last(server: Talker) -> None:
    server.says(503, BUSY)
    async with client(server, tries=3) as weft:
        with pytest.raises(errors.Unavailable, match="away"):
            await weft.get("/v1/tasks")
    assert len(server.asked) == 3


async def test_a_post_is_not_repeated_unless_it_carries_a_key(server: Talker) -> None:
    server.says(503, BUSY)
    async with client(server) as weft:
        with pytest.raises(errors.Unavailable):
            await weft.post("/v1/tasks", {})
        assert len(server.asked) == 1
        with pytest.raises(errors.Unavailable):
            await weft.post("/v1/tasks", {}, repeat=True)
    keys = {asked.headers["idempotency-key"] for asked in server.asked[1:]}
    assert (len(server.asked), len(keys)) == (5, 1)


async def test_429_is_repeated_whatever_was_asked(server: Talker) -> None:
    server.says(429, BUSY, retry_after="0")
    server.says(200, {})
    async with client(server) as weft:
        await weft.post("/v1/tasks", {})
    assert len(server.asked) == 2


async def test_a_refusal_is_not_repeated(server: Talker) -> None:
    server.says(400, {"error": {"code": "INVALID_INPUT", "message": "no", "request_id": "r"}})
    async with client(server) as weft:
        with pytest.raises(errors.InvalidInput):
            await weft.get("/v1/tasks")
    assert len(server.asked) == 1


async def test_pages_follow_the_cursor_to_the_end(server: Talker) -> None:
    server.says(200, {"items": [1, 2], "next_cursor": "c1"})
    server.says(200, {"items": [3], "next_cursor": None})
    async with client(server) as weft:
        assert [one async for one in weft.pages("/v1/tasks", query={"kind": "a"})] == [1, 2, 3]
    assert [asked.query for asked in server.asked] == ["kind=a", "kind=a&cursor=c1"]


async def test_pages_stop_at_the_most_that_is_wanted(server: Talker) -> None:
    server.says(200, {"items": [1, 2], "next_cursor": "c1"})
    async with client(server) as weft:
        assert [one async for one in weft.pages("/v1/tasks", most=3)] == [1, 2, 1]
    assert server.asked[0].query == "limit=3"


async def test_a_stream_of_lines_is_read_as_it_comes(server: Talker) -> None:
    server.says(200, [b'{"n":1}\n{"n"', b":2}\n\n"], content_type="application/x-ndjson")
    async with client(server) as weft:
        assert [event.data async for event in weft.stream("/v1/x")] == [{"n": 1}, {"n": 2}]


async def test_server_sent_events_have_names_and_ids(server: Talker) -> None:
    text = b': hello\n\nid: 7\nevent: line\ndata: {"n":\ndata: 1}\n\ndata: 2\n\ndata: "cut off"'
    server.says(200, [text], content_type="text/event-stream; charset=utf-8")
    async with client(server) as weft:
        seen = [(event.name, event.id, event.data) async for event in weft.stream("/v1/x")]
    assert seen == [("line", "7", {"n": 1}), ("message", "7", 2)]


async def test_a_stream_that_is_refused_raises_the_error(server: Talker) -> None:
    server.says(404, {"error": {"code": "NOT_FOUND", "message": "none", "request_id": "r"}})
    async with client(server) as weft:
        with pytest.raises(errors.NotFound):
            async for _ in weft.stream("/v1/x"):
                pass


async def test_a_stream_in_process_speaks_before_it_ends_and_stops_when_nobody_listens() -> None:
    ended = asyncio.Event()

    async def endless(_scope: Any, _receive: Any, send: Any) -> None:
        head = [(b"content-type", b"application/x-ndjson")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        try:
            while True:
                await send({"type": "http.response.body", "body": b"1\n", "more_body": True})
        finally:
            ended.set()

    async with Client("http://weft.test", transport=endless) as weft:
        reading = weft.stream("/v1/x")
        assert (await anext(reading)).data == 1
        assert not ended.is_set()
        await reading.aclose()  # type: ignore[attr-defined]
    assert ended.is_set()


async def test_over_a_network_it_keeps_its_connection(server: Talker) -> None:
    server.says(200, {}, content_length="2")
    async with talker.listening(server) as url, Client(url) as weft:
        for _ in range(5):
            assert await weft.get("/v1/x") == {}
    assert len(server.connections) == 1


async def test_a_server_that_is_not_there_is_said_with_the_fix() -> None:
    async with Client("http://127.0.0.1:1", tries=2) as weft:
        with pytest.raises(Unreachable, match=r"cannot be reached.*weft server"):
            await weft.post("/v1/tasks", {})


@pytest.mark.parametrize("url", ["weft.example.com", "ftp://x", "", "postgresql://db"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(errors.ConfigError, match="https://"):
        Client(url)


def test_a_key_that_cannot_be_sent_is_refused() -> None:
    with pytest.raises(errors.ConfigError, match="authorization"):
        Client("http://x", key="weft_\n")
