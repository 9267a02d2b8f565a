"""Who comes back misses nothing: what others were shown, what came while it was asked, what it was too slow for."""

import asyncio
import dataclasses
import itertools
import socket
import urllib.parse
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
import websockets
from listening import PATIENCE, Listening, listening

import hands
from weft.api import live_connection, live_subjects
from weft.api.live_watch import Live
from weft.base import ids
from weft.db.database import Database
from weft.journal import record, sequence
from weft.queue import lease
from weft.sdk.query import Queries


@pytest.fixture
async def here(database: Database) -> AsyncIterator[Listening]:
    async with listening(database) as made:
        yield made


async def test_what_others_were_shown_while_one_was_away_is_shown_to_it(here: Listening, database: Database) -> None:
    """The journal is in no feed: only a look can say whether it changed."""
    async with here.client("admin") as stays:
        await stays.subscribe("audit")
        async with here.client("admin") as leaves:
            await leaves.subscribe("audit")
            cursor, old = (await stays.next())["cursor"], (await leaves.next())["data"]
        async with database.tx() as tx:
            await record.record(
                tx, org_id=ids.DEFAULT_ORG, actor="test", action="key.create", object_type="key", object_id=str(uuid.uuid4())
            )
        new = (await stays.until(lambda one: one["data"] != old))["data"]
        async with here.client("admin") as returns:
            await returns.subscribe("audit", cursor=cursor)
            assert (await returns.next())["data"] == new


async def test_a_change_that_comes_while_it_is_asked_what_happened_is_shown(
    here: Listening, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database.tx() as tx:
        id = await hands.put(tx)
    async with database.tx() as tx:
        await sequence.once(tx)
    asked = Live._since
    async with here.client() as stays, here.client() as returns:
        await stays.subscribe("task", {"id": id})
        await stays.next()
        cursor = returns.hello["cursor"]

        async def and_then_it_changes(self: Live, one: Any, since: int) -> Any:
            answer = await asked(self, one, since)
            assert answer == "unchanged"
            async with database.tx() as tx:
                await hands.claim_plain(tx)
            await stays.until(lambda one: one["data"]["state"] == "running")
            return answer

        monkeypatch.setattr(Live, "_since", and_then_it_changes)
        await returns.subscribe("task", {"id": id}, cursor=cursor)
        shown = await returns.until(lambda one: one["type"] == "data")
        assert shown["data"]["state"] == "running"


async def test_only_what_the_feed_tells_of_wholly_can_be_unchanged() -> None:
    silent = {name for name, one in live_subjects.SUBJECTS.items() if one.can_be_unchanged}
    assert silent == {"task", "tasks", "counts", "runs", "definitions", "job", "dead"}
    assert not dataclasses.replace(live_subjects.SUBJECTS["task"], told=False).can_be_unchanged


async def test_a_query_is_shown_again_to_who_comes_back(database: Database) -> None:
    """It may hang on rights, which have changed, or on tables of which nobody is told."""
    queries = Queries()

    @queries.add(tables=["elsewhere"])
    async def some(ask: Any) -> Any:
        return 1

    async with listening(database, queries=queries) as here:
        async with here.client() as client:
            await client.subscribe("query:some")
            cursor = (await client.next())["cursor"]
        async with here.client() as client:
            await client.subscribe("query:some", cursor=cursor)
            assert (await client.next())["type"] == "data"


async def test_a_slow_reader_gets_the_newest_and_is_told_that_it_missed_some(database: Database) -> None:
    queries, looks = Queries(), iter(range(10_000))

    @queries.add(tables=["orders"])
    async def large(ask: Any) -> Any:
        return [next(looks), "x" * 250_000]

    changed = "insert into weft.change_inbox (table_name, op, ids) values ('public.orders', 'UPDATE', null)"
    async with (
        asyncio.timeout(PATIENCE),
        listening(database, queries=queries) as here,
        here.client() as reads,
        here.client(max_queue=1, sock=little(here)) as slow,
    ):
        await slow.subscribe("query:large")
        first = await slow.next()
        slow.socket.transport.pause_reading()
        await reads.subscribe("query:large")
        # until more has come than the network between us holds, and some of it was replaced
        [letters] = [one._outbox for one in _connections(here) if one._session == uuid.UUID(slow.hello["session"])]
        newest = (await reads.next())["data"][0]
        while not any(letter.gap for letter in letters._letters.values()):
            async with database.tx() as tx:
                await tx.run(changed)
            newest = (await reads.next())["data"][0]
        slow.socket.transport.resume_reading()
        shown = [first]
        while shown[-1]["data"][0] != newest:
            shown.append(await slow.next())
    # in order, none twice, and each place where some are missing says so
    numbers = [one["data"][0] for one in shown]
    assert numbers == sorted(set(numbers))
    missing = [one["gap"] for before, one in itertools.pairwise(shown) if one["data"][0] > before["data"][0] + 1]
    assert missing and all(missing)


def little(here: Listening) -> socket.socket:
    """A connection that holds little on its way."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    address = urllib.parse.urlsplit(here.url)
    made.connect((address.hostname, address.port))
    return made


def _connections(here: Listening) -> list[live_connection.Connection]:
    """Those that watch something."""
    places = [place for one in here.service.live._watched.values() for place in one.places]
    return [place.watcher._connection for place in places]  # type: ignore[attr-defined]


async def test_who_is_cut_off_in_the_middle_of_a_log_reads_every_line_once(
    here: Listening, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_connection.Connection.__init__, "__kwdefaults__", {"stall": 2.0})
    written, read = 0, list[dict[str, Any]]()
    async with database.tx() as tx:
        id = await hands.put(tx)
        [held] = await hands.claim_plain(tx)

    async def write(count: int) -> None:
        nonlocal written
        async with database.tx() as tx:
            at = await tx.value("select weft.now()")
            lines = [
                lease.Line(id, held.token, at, "info", f"{number} " + "x" * 2000, None)
                for number in range(written, written + count)
            ]
            await lease.write_logs(tx, lines)
        written += count

    async with asyncio.timeout(3 * PATIENCE):
        async with here.client(max_queue=1, sock=little(here)) as slow:
            await slow.subscribe("log", {"id": id})
            await write(20)
            while not read:
                read += (await slow.next())["data"]
            slow.socket.transport.pause_reading()
            while here.service.ledger.open_now:
                looks = here.service.live.looks
                await write(100)
                # not faster than it is looked at
                while here.service.ledger.open_now and here.service.live.looks == looks:
                    await asyncio.sleep(0.01)
            slow.socket.transport.resume_reading()
            with pytest.raises(websockets.ConnectionClosed):
                while True:
                    read += (await slow.next())["data"]
        assert len(read) < written
        async with here.client() as back:
            await back.subscribe("log", {"id": id, "after": read[-1]["id"]})
            while len(read) < written:
                read += (await back.next())["data"]
    assert [int(line["message"].split()[0]) for line in read] == list(range(written))
