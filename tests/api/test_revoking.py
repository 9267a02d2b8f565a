"""A revoked key ends everything that hangs on it: requests, streams, waits, and the tokens of tasks it claimed."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest
from calling import Caller, code
from holding import WORDS, hold

import hands
from weft.access import keys, orgs
from weft.api import credentials, standing
from weft.base import errors, ids
from weft.db.database import Database


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the server starts: it remembers no credential."""
    monkeypatch.setattr(credentials, "REMEMBERED", 0.0)


async def _revoke(database: Database, name: str) -> None:
    async with database.tx() as tx:
        [key] = [one for one in await keys.page(tx, org=ids.DEFAULT_ORG) if one.name == name]
        await keys.revoke(tx, id=key.id, org=ids.DEFAULT_ORG, actor="test")


@pytest.mark.parametrize("how", ["revoked", "expired", "suspended"])
async def test_the_tokens_of_tasks_end_with_the_key_that_claimed_them(
    api: Caller, database: Database, how: str
) -> None:
    hand = await hold(api, database)
    assert (await hand.say("heartbeat")).status_code == 200
    async with database.tx() as tx:
        if how == "revoked":
            await tx.run("update weft.keys set revoked_at = weft.now() where role = 'worker'")
        elif how == "expired":
            await tx.run("update weft.keys set expires_at = weft.now() where role = 'worker'")
        else:
            await orgs.change(tx, id=ids.DEFAULT_ORG, actor="test", suspended=True)
    for verb, body in WORDS.items():
        assert code(await hand.say(verb, **body)) == (401, "UNAUTHENTICATED"), verb
    assert code(await hand.fetch()) == (401, "UNAUTHENTICATED")
    async with database.tx() as tx:
        assert (await hands.look(tx, hand.id)).state == "running"


async def test_a_token_says_which_key_claimed_it_whichever_way_it_was_made(api: Caller, database: Database) -> None:
    hand = await hold(api, database)
    fetched = await api.get("/v1/task/fetch", role="worker", params=hand.which)
    async with database.tx() as tx:
        mine = await tx.value(
            "select id from weft.keys where role = 'worker' and org_id = %(org)s", {"org": ids.DEFAULT_ORG}
        )
    tokens = api.client._transport.app.state.service.desk.tokens  # type: ignore[attr-defined]
    for token in (hand.task["token"], fetched.json()["token"]):
        assert (await tokens.verify(token)).by == str(mine)


async def test_another_key_of_the_org_speaks_for_an_attempt_only_by_its_lease(api: Caller, database: Database) -> None:
    hand = await hold(api, database)
    async with database.tx() as tx:
        await tx.run("update weft.keys set revoked_at = weft.now() where role = 'worker'")
        _, fresh = await keys.create(tx, org=ids.DEFAULT_ORG, name="new", role="worker", actor="test")
    refused = await api.post("/v1/task/complete", {"result": 1, "token": hand.task["token"]}, key=fresh)
    assert code(refused) == (401, "UNAUTHENTICATED")
    taken = await api.post("/v1/task/complete", {"result": 1, **hand.which}, key=fresh)
    assert taken.status_code == 200, taken.text


async def test_a_stream_ends_when_its_reader_may_no_longer_read() -> None:
    allowed = True
    looked = 0

    async def still() -> None:
        nonlocal looked
        looked += 1
        if not allowed:
            raise errors.Unauthenticated

    closed = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            yield b"first"
            await asyncio.Event().wait()
        finally:
            closed.set()

    stream = standing.pieces(endless(), still, every=0.001)
    assert await anext(stream) == b"first"
    coming = asyncio.ensure_future(anext(stream, b"the end"))
    async with asyncio.timeout(20):
        while looked < 3:
            await asyncio.sleep(0)
            await asyncio.wait({coming}, timeout=0.001)
        allowed = False
        assert await coming == b"the end"
        await closed.wait()


async def test_a_stream_that_flows_is_looked_at_too_and_ends_by_itself() -> None:
    async def three() -> AsyncIterator[bytes]:
        for piece in (b"a", b"b", b"c"):
            yield piece

    async def never() -> None:
        raise errors.Unauthenticated

    assert [piece async for piece in standing.pieces(three(), standing.always, every=60)] == [b"a", b"b", b"c"]
    assert [piece async for piece in standing.pieces(three(), never, every=0.0)] == []


async def test_whoever_leaves_a_stream_ends_it() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"more"
        finally:
            closed.set()

    stream = standing.pieces(endless(), standing.always, every=60)
    assert await anext(stream) == b"more"
    await stream.aclose()  # type: ignore[attr-defined]
    assert closed.is_set()


async def test_an_open_log_stream_ends_after_its_key_is_revoked(
    api: Caller, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing.pieces, "__kwdefaults__", {"every": 0.01})
    id = (await api.post("/v1/tasks", {"kind": "a"})).json()["id"]
    asking = asyncio.create_task(api.get(f"/v1/tasks/{id}/logs/stream", role="reader"))
    service = api.client._transport.app.state.service  # type: ignore[attr-defined]
    async with asyncio.timeout(20):
        while service.streams.open == 0:
            await asyncio.sleep(0)
        assert not asking.done()
        await _revoke(database, "reader")
        assert (await asking).status_code == 200
        while service.streams.open:
            await asyncio.sleep(0)


async def test_what_was_waited_for_with_a_key_that_is_revoked_meanwhile_is_not_handed_out(
    api: Caller, database: Database
) -> None:
    service = api.client._transport.app.state.service  # type: ignore[attr-defined]
    body = {"worker": "ada", "kinds": ["mail"], "limit": 5, "wait": 30}
    claiming = asyncio.create_task(api.post("/v1/task/claim", body, role="worker", timeout=60))
    reading = asyncio.create_task(_wait_for_result(api))
    async with asyncio.timeout(30):
        while not service.desk.claims._waiting or not service.waiting._waited:
            await asyncio.sleep(0.01)
        await _revoke(database, "worker")
        await _revoke(database, "reader")
        async with database.tx() as tx:
            id = await hands.put(tx)
        service.desk.claims.nudge()
        assert code(await claiming) == (401, "UNAUTHENTICATED")
        async with database.tx() as tx:
            assert (await hands.look(tx, id)).state == "ready"
        service.waiting.closed.set()
        assert code(await reading) == (401, "UNAUTHENTICATED")


async def _wait_for_result(api: Caller) -> httpx2.Response:
    id = (await api.post("/v1/tasks", {"kind": "other"})).json()["id"]
    return await api.get(f"/v1/tasks/{id}/result?wait=30", role="reader", timeout=60)
