"""Transactions and connections: what commits, what rolls back, what each connection is limited to, what errors say."""

import asyncio
import uuid

import psycopg
import pytest
from psycopg import errors as pg

from weft.base import config, errors
from weft.db import connect
from weft.db.database import Database, request
from weft.db.lean import Lean
from weft.db.tx import Tx, translate

COUNT = "select count(*) from weft.locks"
LOCK = (
    "insert into weft.locks (org_id, name, owner, token, expires_at) "
    "values (gen_random_uuid(), %(name)s, 'o', gen_random_uuid(), now())"
)


async def count(database: Database) -> int:
    async with database.once() as tx:
        return int(await tx.value(COUNT))


async def test_a_transaction_commits_at_the_end_and_rolls_back_if_it_raises(database: Database) -> None:
    async with database.tx() as tx:
        assert await tx.run(LOCK, {"name": "a"}) == 1
        assert await count(database) == 0
    with pytest.raises(LookupError):
        async with database.tx() as tx:
            await tx.run(LOCK, {"name": "b"})
            raise LookupError
    assert await count(database) == 1


async def test_a_cancelled_transaction_leaves_nothing_and_gives_its_connection_back(database_url: str) -> None:
    database = Database(config.Settings(database_url=database_url, pool_size=1))

    async def hang() -> None:
        async with database.tx() as tx:
            await tx.run(LOCK, {"name": "a"})
            await tx.run("select pg_sleep(60)")

    hanging = asyncio.create_task(hang())
    asleep = "select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()"
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as watching:
        while await (await watching.execute(asleep)).fetchone() is None:
            await asyncio.sleep(0)
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    assert await count(database) == 0
    await database.close()


async def test_the_connection_that_proves_the_server_is_the_first_to_work(database: Database, database_url: str) -> None:
    there = "select pid from pg_stat_activity where datname = current_database() and application_name = 'weft work'"
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as observer:
        [(opened,)] = await (await observer.execute(there)).fetchall()
        async with database.tx() as tx:
            assert await tx.value("select pg_backend_pid()") == opened
        await database.close()
        while await (await observer.execute(there)).fetchall():
            await asyncio.sleep(0.01)


async def test_the_connection_that_came_back_last_is_taken_next(database: Database) -> None:
    """All of them in turn would each plan every statement, and map all of the server's memory."""
    mine = "select pg_backend_pid()"
    async with database.once() as first, database.once() as second, database.once() as third:
        pids = [await one.value(mine) for one in (first, second, third)]
    assert len(set(pids)) == 3
    again = []
    for _ in range(4):
        async with database.once() as tx:
            again.append(await tx.value(mine))
    assert len(set(again)) == 1 and again[0] in pids


async def test_who_waits_for_a_connection_gets_the_one_that_comes_back(database_url: str) -> None:
    narrow = Database(config.Settings(database_url=database_url, pool_size=1))

    async def mine() -> int:
        async with narrow.once() as tx:
            return int(await tx.value("select pg_backend_pid()"))

    try:
        async with narrow.once() as tx:
            waiting = [asyncio.create_task(mine()) for _ in range(3)]
            while len(narrow._pool._waiting) < 3:  # type: ignore[union-attr]
                await asyncio.sleep(0)
            held = await tx.value("select pg_backend_pid()")
        assert await asyncio.gather(*waiting) == [held] * 3 and await mine() == held
    finally:
        await narrow.close()


async def test_a_connection_that_is_too_old_goes_back_to_the_pool_to_be_replaced(database: Database) -> None:
    async with database.once() as tx:
        first = await tx.value("select pg_backend_pid()")
        tx.connection._expire_at = 0.0  # type: ignore[attr-defined]
    async with database.once() as tx:
        assert await tx.value("select pg_backend_pid()") != first


NUMBER = Lean("number", COUNT)
ADD = Lean("add", LOCK.replace("%(name)s", "%(name)s::text") + " returning name")


async def test_statements_asked_together_see_each_other_and_what_others_commit_between_them(database: Database) -> None:
    async with database.tx(waits=False) as tx:
        one, two, three = await tx.together([(NUMBER, {}), (ADD, {"name": "a"}), (NUMBER, {})])
        assert (one, two, three) == ([(0,)], [("a",)], [(1,)])
        async with database.once() as other:
            await other.run(LOCK, {"name": "b"})
        assert await tx.together([(NUMBER, {})], ends=True) == [[(2,)]]
    assert await count(database) == 2


@pytest.mark.parametrize("waits", [True, False])
async def test_what_ends_a_transaction_is_its_end_however_it_was_asked(database: Database, waits: bool) -> None:
    async with database.tx(waits=waits) as tx:
        if waits:
            assert await tx.value(COUNT) == 0
        assert await tx.together([(ADD, {"name": "a"})]) == [[("a",)]]
        assert await count(database) == 0
        assert await tx.together([(ADD, {"name": "b"})], ends=True) == [[("b",)]]
        assert await count(database) == (0 if waits else 2)
    assert await count(database) == 2
    async with database.tx(waits=False) as tx:
        assert await tx.run(LOCK, {"name": "c"}) == 1
        assert await count(database) == 2
    async with database.tx(waits=False):
        pass
    assert await count(database) == 3


async def test_a_transaction_that_was_not_waited_for_leaves_nothing_if_it_raises(database: Database) -> None:
    bad = Lean("bad", "select %(name)s::text::uuid")
    for last, expected in ((bad, errors.InvalidInput), (NUMBER, LookupError)):
        with pytest.raises(expected):
            async with database.tx(waits=False) as tx:
                await tx.together([(ADD, {"name": "x"})])
                pid = await tx.value("select pg_backend_pid()")
                await tx.together([(NUMBER, {}), (last, {"name": "x"}), (NUMBER, {})])
                raise LookupError
        async with database.once() as tx:
            assert (await tx.value("select pg_backend_pid()"), await tx.value(COUNT)) == (pid, 0)


async def test_what_the_driver_has_forgotten_meanwhile_is_prepared_again(database: Database) -> None:
    for name in ("a", "b"):
        async with database.tx(waits=False) as tx:
            assert await tx.together([(ADD, {"name": name}), (NUMBER, {})], ends=True) == [[(name,)], [(ord(name) - 96,)]]
        async with database.once() as tx:
            await tx.run("deallocate all")
            assert "weft_lean" in tx.connection.__dict__


async def test_a_connection_that_breaks_while_several_statements_are_asked_is_said_to_be_away(
    database: Database, database_url: str
) -> None:
    with pytest.raises(errors.Unavailable):
        async with database.tx(waits=False) as tx:
            [[(pid,)]] = await tx.together([(Lean("pid", "select pg_backend_pid()"), {})])
            async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as other:
                await other.execute("select pg_terminate_backend(%s, 10000)", [pid])
            await tx.together([(NUMBER, {}), (NUMBER, {})])
    assert await count(database) == 0


async def test_work_connections_carry_their_limits(tx: Tx) -> None:
    expected = {
        "role": "weft_engine", "statement_timeout": "30s", "lock_timeout": "10s", "TimeZone": "UTC", "jit": "off",
        "idle_in_transaction_session_timeout": "10s", "plan_cache_mode": "force_generic_plan", "enable_seqscan": "off",
    }  # fmt: skip
    found = {name: await tx.value(f"select current_setting('{name}')") for name in expected}
    assert found == expected


async def test_a_connection_through_a_pooler_carries_no_session_but_each_transaction_does(database_url: str) -> None:
    assert "options" not in connect.parameters("host=x", purpose="work", pooled=True)
    database = Database(config.Settings(database_url=database_url, pooled=True))
    async with database.once() as tx:
        assert await tx.value("select current_user") == "weft_engine"
        assert await tx.value("select current_setting('statement_timeout')") == "30s"
        assert await tx.value("select count(*) from pg_prepared_statements") == 0
        assert await tx.value("select current_setting('idle_in_transaction_session_timeout')") == "5s"
    async with database.once(org=uuid.uuid4()) as tx:
        assert await tx.value("select current_user") == "weft_tenant"
    await database.close()


async def test_a_transaction_through_a_pooler_has_its_limits_from_its_first_message(database_url: str) -> None:
    """Whoever stops after it has none to send."""
    database = Database(config.Settings(database_url=database_url, pooled=True))
    async with database.tx() as tx, await psycopg.AsyncConnection.connect(database_url, autocommit=True) as other:
        said = "select state, query from pg_stat_activity where pid = %s"
        found = await (await other.execute(said, (tx.connection.info.backend_pid,))).fetchone()
        assert found is not None
        assert found[0] == "idle in transaction" and found[1].startswith("begin; select set_config(")
    await database.close()


async def test_what_a_request_is_called_is_no_part_of_the_statement(database: Database) -> None:
    name = "it's \\'; drop schema weft; %s --"
    token = request.set(name)
    try:
        async with database.tx(org=uuid.uuid4()) as tx:
            assert await tx.value("select current_setting('weft.request_id')") == name
    finally:
        request.reset(token)


async def test_a_transaction_with_settings_that_raises_leaves_nothing_and_its_connection_is_good(database: Database) -> None:
    org = uuid.uuid4()
    with pytest.raises(errors.WeftError):
        async with database.tx(org=org, engine=True) as tx:
            await tx.run("create temporary table gone (id integer)")
            await tx.run("select 1 / 0")
    async with database.once() as tx:
        assert await tx.value("select to_regclass('gone') is null and coalesce(current_setting('weft.org', true), '') = ''")


@pytest.mark.parametrize("refused", ["by the server", "by whoever uses it"])
async def test_what_is_prepared_outlives_a_refusal(database: Database, refused: str) -> None:
    count = "select count(*) from pg_prepared_statements where statement like 'select 41%%'"
    async with database.tx(org=uuid.uuid4()) as tx:
        await tx.value("select 41 + %(n)s::integer", {"n": 1})
    with pytest.raises(errors.WeftError):
        async with database.tx(org=uuid.uuid4()) as tx:
            await tx.value("select 1 / %(n)s::integer", {"n": 0 if refused == "by the server" else 1})
            raise errors.NotFound("it is not there")
    async with database.tx(org=uuid.uuid4()) as tx:
        assert await tx.value(count) == 1
        assert await tx.value("select 41 + %(n)s::integer", {"n": 2}) == 43
        assert await tx.value(count) == 1


def test_options_of_the_url_are_kept_and_what_it_says_wins() -> None:
    found = connect.parameters("host=h options='-c search_path=x' application_name=mine connect_timeout=3", purpose="work")
    assert found["options"].startswith("-c search_path=x -c tcp_keepalives_idle")
    assert (found["application_name"], found["connect_timeout"], found["tcp_user_timeout"]) == ("mine", "3", "10000")


def test_a_url_that_is_none_is_refused() -> None:
    with pytest.raises(errors.ConfigError, match="the database URL is not valid"):
        connect.parameters("nonsense", purpose="work")


async def test_a_database_that_is_not_there_is_unavailable_with_the_reason() -> None:
    database = Database(config.Settings(database_url="host=127.0.0.1 port=1 connect_timeout=2"))
    with pytest.raises(errors.Unavailable, match="refused"):
        await database.open()


async def test_a_reserved_connection_is_its_own(database: Database) -> None:
    async with await database.reserve() as one, await database.reserve() as two:
        pids = {connection.info.backend_pid for connection in (one, two)}
    assert len(pids) == 2


async def test_a_connection_the_server_dropped_is_replaced_and_told_of_once(
    database: Database, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with database.once() as tx:
        pid = await tx.value("select pg_backend_pid()")
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("select pg_terminate_backend(%s)", (pid,))
    with pytest.raises(errors.Unavailable):
        async with database.once() as tx:
            await tx.value("select 1")
    async with database.once() as tx:
        assert await tx.value("select 1") == 1
    # the error was the news; the pool's own line would stand between what a command prints
    assert caplog.text == ""


async def test_a_commit_that_cannot_be_confirmed_is_said_to_be_unknown(database: Database, database_url: str) -> None:
    with pytest.raises(errors.OutcomeUnknown):
        async with database.tx() as tx:
            pid = await tx.value("select pg_backend_pid()")
            await tx.run(LOCK, {"name": "a"})
            with psycopg.connect(database_url, autocommit=True) as owner:
                owner.execute("select pg_terminate_backend(%s)", (pid,))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (pg.CheckViolation("x"), errors.InvalidInput), (pg.RaiseException("x"), errors.InvalidInput),
        (pg.InvalidTextRepresentation("x"), errors.InvalidInput), (pg.UndefinedTable("x"), errors.MigrationError),
        (pg.UndefinedColumn("x"), errors.MigrationError), (pg.AdminShutdown("x"), errors.Unavailable),
        (pg.QueryCanceled("x"), errors.Unavailable), (psycopg.OperationalError("x"), errors.Unavailable),
        (pg.UniqueViolation("x"), errors.DatabaseError), (pg.InsufficientPrivilege("x"), errors.DatabaseError),
    ],
)  # fmt: skip
def test_the_drivers_errors_become_ours(error: psycopg.Error, expected: type[errors.WeftError]) -> None:
    assert type(translate(error)) is expected


async def test_an_error_of_a_statement_is_ours_and_names_the_cause(database: Database) -> None:
    with pytest.raises(errors.MigrationError, match="run `weft migrate up`"):
        async with database.once() as tx:
            await tx.rows("select from weft.nothing")
    with pytest.raises(errors.InvalidInput):
        async with database.once() as tx:
            await tx.rows("select 'x'::uuid")


async def test_a_cancellation_that_comes_with_the_connection_is_not_lost(database_url: str) -> None:
    narrow = Database(config.Settings(database_url=database_url, pool_size=1))
    await narrow.open()
    try:
        waits = asyncio.Event()

        async def use() -> None:
            waits.set()
            async with narrow.once() as tx:
                await tx.value("select 1")
                used.append(True)

        used: list[bool] = []
        for _ in range(20):
            async with narrow.once():
                waiting = asyncio.create_task(use())
                await waits.wait()
                waits.clear()
                await asyncio.sleep(0)
            # the connection has just been handed over: this is the moment that wait_for loses
            waiting.cancel()
            await asyncio.wait({waiting}, timeout=10)
            assert waiting.cancelled() and not used
    finally:
        await narrow.close()


async def test_what_is_cancelled_after_its_database_was_closed_ends_and_gives_its_connection_back(database_url: str) -> None:
    closed = Database(config.Settings(database_url=database_url))
    await closed.open()
    inside = asyncio.Event()
    held: list[Tx] = []

    async def use() -> None:
        async with closed.once() as tx:
            held.append(tx)
            inside.set()
            await asyncio.Event().wait()

    using = asyncio.create_task(use())
    await inside.wait()
    await closed.close()
    using.cancel()
    await asyncio.wait({using}, timeout=10)
    assert using.cancelled(), using
    assert held[0].connection.closed
