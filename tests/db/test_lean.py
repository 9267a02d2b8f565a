"""The quick way says the same as the driver's, and leaves nothing half-read behind."""

import asyncio
import contextlib
import datetime as dt
import socket
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft.base import config, errors
from weft.db import lean, wire
from weft.db.database import Database
from weft.db.lean import Lean

TYPES = {
    "text": st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40),
    "integer": st.integers(-(2**31), 2**31 - 1),
    "uuid": st.uuids(),
    "timestamptz": st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 1, 1)).map(lambda at: at.replace(tzinfo=dt.UTC)),
    "interval": st.timedeltas(dt.timedelta(days=-3000), dt.timedelta(days=3000)),
    "integer[]": st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), max_size=4),
    "timestamptz[]": st.lists(st.datetimes(dt.datetime(1, 1, 2)).map(lambda at: at.replace(tzinfo=dt.UTC)), max_size=4),
    "text[]": st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9), max_size=4),
}

values = st.fixed_dictionaries({name: st.none() | strategy for name, strategy in TYPES.items()})


@pytest.fixture(scope="module")
def connected(server_url: str) -> Iterator[tuple[asyncio.Runner, "psycopg.AsyncConnection[Any]"]]:
    with asyncio.Runner() as runner:
        connection = runner.run(psycopg.AsyncConnection.connect(server_url, autocommit=True, connect_timeout=10))
        runner.run(connection.execute("set timezone to utc"))
        yield runner, connection
        runner.run(connection.close())


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(values)
def test_values_arrive_as_the_driver_would_send_them(
    connected: tuple[asyncio.Runner, "psycopg.AsyncConnection[Any]"], values: dict[str, Any]
) -> None:
    runner, connection = connected
    arguments = {f"v{number}": values[name] for number, name in enumerate(TYPES)}
    text = "select " + ", ".join(f"(%(v{number})s::{name})::text" for number, name in enumerate(TYPES))

    async def both() -> tuple[list[Any], list[Any]]:
        row = await (await connection.execute(text.encode(), arguments)).fetchone()
        return list(row or ()), await lean.row(connection, Lean("values", text), arguments)

    usual, quick = runner.run(both())
    assert quick == usual


def test_a_parameter_used_twice_is_sent_once() -> None:
    twice = Lean("twice", "select %(b)s::text, %(a)s::text, %(b)s::text, '100%%'")
    assert twice.parameters == ("b", "a") and twice.text == b"select $1::text, $2::text, $1::text, '100%'"


async def test_a_large_value_is_sent_whole(database: Database) -> None:
    text = "x" * 3_000_000
    async with database.once() as tx:
        assert await tx.lean(Lean("length", "select length(%(t)s::text)"), {"t": text}) == ["3000000"]


async def test_it_is_prepared_once_per_connection(database: Database) -> None:
    one = Lean("one", "select %(n)s::integer")
    async with database.once() as tx:
        assert [await tx.lean(one, {"n": n}) for n in (1, 2)] == [["1"], ["2"]]
        assert await tx.value("select count(*) from pg_prepared_statements where name = 'weft_one'") == 1


async def test_what_the_server_refuses_is_raised_and_the_connection_goes_on(database: Database) -> None:
    async with database.once() as tx:
        with pytest.raises(errors.InvalidInput, match="division by zero"):
            await tx.lean(Lean("divide", "select 1 / %(n)s::integer"), {"n": 0})
        assert await tx.lean(Lean("divide", "select 1 / %(n)s::integer"), {"n": 1}) == ["1"]


async def test_it_is_prepared_anew_where_a_rollback_made_the_driver_forget_everything(database: Database) -> None:
    one = Lean("one", "select %(n)s::integer")
    async with database.once() as tx:
        assert await tx.lean(one, {"n": 1}) == ["1"]
        connection = tx.connection
        with pytest.raises(ZeroDivisionError):
            async with connection.transaction():
                await connection.execute("select 1")
                raise ZeroDivisionError
        await connection.execute("deallocate all")
        assert [await tx.lean(one, {"n": n}) for n in (2, 3)] == [["2"], ["3"]]


async def test_it_takes_part_in_a_transaction(database: Database) -> None:
    org = uuid.uuid4()
    async with database.tx(org=org) as tx:
        assert await tx.lean(Lean("whose", "select weft.current_org(), %(n)s::integer"), {"n": 1}) == [str(org), "1"]


async def test_whoever_is_cancelled_leaves_no_answer_for_the_next(database: Database, database_url: str) -> None:
    slow = Lean("slow", "select %(n)s::integer, pg_sleep(%(s)s::double precision)")

    async def ask() -> None:
        async with database.once() as tx:
            await tx.lean(slow, {"n": 1, "s": "10"})

    asking = asyncio.create_task(ask())
    asked = "select from pg_stat_activity where query like 'select $1::integer, pg_sleep%%' and datname = current_database()"
    async with asyncio.timeout(30), await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        while (await owner.execute(asked)).rowcount == 0:
            await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    for n in range(20):
        async with database.once() as tx:
            assert (await tx.lean(slow, {"n": n, "s": "0"}))[0] == str(n)


async def test_a_connection_that_breaks_is_said_and_replaced(database: Database, database_url: str) -> None:
    one = Lean("one", "select %(n)s::integer")
    with pytest.raises(errors.Unavailable):
        async with database.once() as tx:
            pid = await tx.value("select pg_backend_pid()")
            async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
                await owner.execute("select pg_terminate_backend(%s)", (pid,))
            await tx.lean(one, {"n": 1})
    async with database.once() as tx:
        assert await tx.lean(one, {"n": 5}) == ["5"]


class Held:
    """A relay in a thread of its own, which keeps the end of every answer back until the asker's loop has turned."""

    READY = b"Z\x00\x00\x00\x05"
    PATIENCE = 10.0

    def __init__(self, host: str, port: str) -> None:
        self._server = host, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._loop = asyncio.get_running_loop()
        self.stuck = False
        self.held = 0
        self._thread = threading.Thread(target=self._relay, daemon=True)
        self._thread.start()

    def _relay(self) -> None:
        client, _ = self._listener.accept()
        with client, self._connected() as server:
            threading.Thread(target=self._forward, args=(client, server), daemon=True).start()
            with contextlib.suppress(OSError):
                while said := server.recv(65536):
                    end = said.rfind(self.READY)
                    if end <= 0:
                        client.sendall(said)
                        continue
                    client.sendall(said[:end])
                    self._hold()
                    client.sendall(said[end:])

    def _connected(self) -> socket.socket:
        host, port = self._server
        if not host.startswith("/"):
            return socket.create_connection((host, int(port)))
        made = socket.socket(socket.AF_UNIX)
        made.connect(f"{host}/.s.PGSQL.{port}")
        return made

    def _hold(self) -> None:
        turned = threading.Event()
        # a little later than what was sent: the loop has then read it, if it turns at all
        self._loop.call_soon_threadsafe(self._loop.call_later, 0.05, turned.set)
        self.held += 1
        self.stuck = not turned.wait(self.PATIENCE) or self.stuck

    @staticmethod
    def _forward(client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while said := client.recv(65536):
                server.sendall(said)


async def test_the_end_of_an_answer_that_comes_late_holds_nobody_up(server_url: str) -> None:
    parts = psycopg.conninfo.conninfo_to_dict(server_url)
    relay = Held(str(parts["host"]), str(parts["port"]))
    url = psycopg.conninfo.make_conninfo(server_url, host="127.0.0.1", port=relay.port, sslmode="disable")
    async with asyncio.timeout(60), await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        for _ in range(2):
            assert await lean.row(connection, Lean("late", "select %(n)s::text"), {"n": "1"}) == ["1"]
    assert relay.held >= 3 and not relay.stuck


async def test_the_driver_and_we_take_turns_on_a_connection(database: Database) -> None:
    number = Lean("number", "select %(n)s::integer")
    async with database.once() as tx:
        for n in range(5):
            assert await lean.row(tx.connection, number, {"n": n}) == [str(n)]
            assert await tx.value("select %(n)s::integer", {"n": n}) == n
        assert await asyncio.wait_for(lean.row(tx.connection, number, {"n": 5}), 30) == ["5"]


async def test_a_connection_that_the_server_ends_while_it_rests_is_watched_no_more(
    database: Database, database_url: str
) -> None:
    async with database.once() as tx:
        [pid] = await lean.row(tx.connection, Lean("pid", "select pg_backend_pid()"), {})
        connection = tx.connection
    watch: wire.Watch = connection.__dict__["weft_watch"]
    assert not watch.stopped
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as other:
        await other.execute("select pg_terminate_backend(%s, 10000)", [int(pid or 0)])
    while not watch.stopped:
        await asyncio.sleep(0)
    with pytest.raises(errors.Unavailable):
        async with database.once() as tx:
            assert tx.connection is connection
            await tx.lean(Lean("pid", "select pg_backend_pid()"), {})
    assert "weft_watch" not in connection.__dict__
    async with database.once() as tx:
        assert await tx.lean(Lean("pid", "select pg_backend_pid()"), {}) != [pid]


async def test_a_connection_that_is_closed_is_watched_no_more(database_url: str) -> None:
    database = Database(config.Settings(database_url=database_url))
    async with database.once() as tx:
        await tx.lean(Lean("one", "select 1"), {})
        watch: wire.Watch = tx.connection.__dict__["weft_watch"]
    assert not watch.stopped
    await database.close()
    assert watch.stopped


async def test_a_connection_that_knows_the_statement_is_taken_if_it_is_free(database: Database) -> None:
    slow = Lean("slow", "select 1")
    async with database.once(), database.once() as second, database.once():
        await lean.row(second.connection, slow, {})
        knows = second.connection
    async with database.tx(knowing=slow) as tx:
        assert tx.connection is knows
        async with database.tx(knowing=slow) as other:
            assert other.connection is not knows
