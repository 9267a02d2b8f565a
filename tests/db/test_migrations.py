"""Migrations: once, in order, all or nothing, and never against a database that does not fit."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

import fresh_database
from weft.app import App
from weft.base import errors
from weft.db import connect, migrate
from weft.db.migrate import Migration

Connection = psycopg.AsyncConnection[tuple[object, ...]]

SHOP = Migration("shop/0001_orders", "create table public.orders (id int)", "drop table public.orders")


@pytest.fixture
def empty_url(server_url: str) -> Iterator[str]:
    with fresh_database.made(server_url) as url:
        yield url


@pytest.fixture
async def owner(empty_url: str) -> AsyncIterator[Connection]:
    connection = await connect.connect(empty_url, purpose="owner")
    yield connection  # type: ignore[misc]
    await connection.close()


@pytest.fixture
async def migrated(database_url: str) -> AsyncIterator[Connection]:
    connection = await connect.connect(database_url, purpose="owner")
    yield connection  # type: ignore[misc]
    await connection.close()


async def value(connection: Connection, query: str) -> object:
    found = await (await connection.execute(query.encode())).fetchone()
    assert found is not None
    return found[0]


async def exists(connection: Connection, table: str) -> bool:
    return bool(await value(connection, f"select to_regclass('{table}') is not null"))


async def test_migrating_twice_does_nothing_the_second_time(owner: Connection) -> None:
    assert await migrate.up(owner, migrate.ours()) == [one.name for one in migrate.ours()]
    assert await migrate.up(owner, migrate.ours()) == []
    assert {one.state for one in await migrate.status(owner, migrate.ours())} == {"applied"}


async def test_what_was_taken_back_can_be_applied_again(owner: Connection) -> None:
    await migrate.up(owner, migrate.ours())
    assert await migrate.down(owner, steps=99) == [one.name for one in reversed(migrate.ours())]
    left = "select count(*) from pg_class as c join pg_namespace as n on n.oid = c.relnamespace where n.nspname "
    ours = "in ('weft', 'afl', 'forge', 'orchestration', 'scheduler')"
    assert await value(owner, left + ours) == 0
    assert await migrate.up(owner, migrate.ours()) == [one.name for one in migrate.ours()]


async def test_nothing_to_take_back_is_not_an_error(owner: Connection) -> None:
    assert await migrate.down(owner) == []
    assert [one.state for one in await migrate.status(owner, migrate.ours())] == ["pending"] * len(migrate.ours())


async def test_a_migration_without_a_way_back_stays(migrated: Connection) -> None:
    await migrate.up(migrated, [*migrate.ours(), Migration("0099_forth", "create table weft.forth (id int)", None)])
    with pytest.raises(errors.MigrationError, match="no way back"):
        await migrate.down(migrated)
    assert await exists(migrated, "weft.forth")


async def test_a_migration_changed_after_it_was_applied_is_refused(migrated: Connection) -> None:
    first, *rest = migrate.ours()
    changed = [Migration(first.name, first.up + "\n-- a word more", first.down), *rest]
    with pytest.raises(errors.MigrationError, match=rf"{first.name} was changed .* write a new migration"):
        await migrate.up(migrated, changed)


async def test_a_database_newer_than_the_code_is_refused(migrated: Connection, database_url: str) -> None:
    await migrate.up(migrated, [*migrate.ours(), Migration("0099_newer", "create table weft.newer (id int)", None)])
    with pytest.raises(errors.MigrationError, match="0099_newer, which this version of Weft does not know"):
        await migrate.up(migrated, migrate.ours())
    with pytest.raises(errors.MigrationError, match="upgrade Weft"):
        await App(database_url=database_url).open()


async def test_a_database_that_was_never_migrated_is_refused_with_the_command(empty_url: str) -> None:
    with pytest.raises(errors.MigrationError, match="run `weft migrate up`"):
        await App(database_url=empty_url).open()


async def test_two_processes_at_once_apply_it_once(empty_url: str) -> None:
    async def one() -> list[str]:
        async with await connect.connect(empty_url, purpose="owner") as connection:
            return await migrate.up(connection, migrate.ours())

    done = await asyncio.gather(one(), one(), one())
    assert sorted(name for names in done for name in names) == [one.name for one in migrate.ours()]


async def test_a_migration_that_fails_leaves_nothing(migrated: Connection) -> None:
    broken = Migration("0099_broken", "create table weft.half (id int); select 1 / 0", None)
    with pytest.raises(errors.MigrationError, match="rolled back"):
        await migrate.up(migrated, [*migrate.ours(), broken])
    assert not await exists(migrated, "weft.half")
    assert await migrate.up(migrated, migrate.ours()) == []


async def test_a_migration_killed_half_way_leaves_nothing_and_frees_its_lock(empty_url: str, owner: Connection) -> None:
    slow = Migration("0099_slow", "create table weft.half (id int); select pg_sleep(60)", None)
    victim = await connect.connect(empty_url, purpose="owner")
    await migrate.up(victim, migrate.ours())
    found = await (await victim.execute("select pg_backend_pid()")).fetchone()
    assert found is not None
    migrating = asyncio.create_task(migrate.up(victim, [*migrate.ours(), slow]))
    asleep = f"select count(*) from pg_stat_activity where pid = {found[0]} and wait_event = 'PgSleep'"
    while await value(owner, asleep) == 0:
        await asyncio.sleep(0)
    await owner.execute("select pg_terminate_backend(%s)", (found[0],))
    with pytest.raises(errors.MigrationError):
        await migrating
    assert not await exists(owner, "weft.half")
    assert await migrate.up(owner, migrate.ours()) == []


async def test_your_own_migrations_live_in_the_same_runner(migrated: Connection, tmp_path: Path) -> None:
    both = "-- @up\ncreate table public.orders (id int);\n-- @down\ndrop table public.orders;"
    (tmp_path / "0001_orders.sql").write_text(both)
    folder = tmp_path / "0002_lines"
    folder.mkdir()
    (folder / "1_table.sql").write_text("create table public.lines (id int);")
    (folder / "2_index.sql").write_text("create index on public.lines (id);")
    (tmp_path / "notes.txt").write_text("not a migration")
    yours = migrate.read(tmp_path, owner="shop")
    assert [one.name for one in yours] == ["shop/0001_orders", "shop/0002_lines"]
    assert await migrate.up(migrated, [*migrate.ours(), *yours]) == ["shop/0001_orders", "shop/0002_lines"]
    assert await exists(migrated, "public.orders") and await exists(migrated, "public.lines")


async def test_your_own_migrations_do_not_make_a_database_too_new(migrated: Connection, database_url: str) -> None:
    assert await migrate.up(migrated, [SHOP]) == ["shop/0001_orders"]
    assert await migrate.up(migrated, migrate.ours()) == []
    async with App(database_url=database_url):
        pass
    assert await migrate.down(migrated) == ["shop/0001_orders"]
    assert not await exists(migrated, "public.orders")


async def test_a_file_with_both_ways_is_read_as_such() -> None:
    both = migrate.parse("0001_x", "-- @up\ncreate table a ();\n-- @down\ndrop table a;\n")
    assert (both.up, both.down) == ("create table a ();", "drop table a;")
    assert migrate.parse("0001_x", "create table a ();").down is None
