"""Users' own tables made reactive: what is said of a change, to the feed and to whoever listens; and no more than that."""

import re
from pathlib import Path

import psycopg
import pytest

from weft.db.database import Database
from weft.journal import feed, sequence


@pytest.fixture
def owner(database_url: str):  # type: ignore[no-untyped-def]
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("create table orders (id uuid primary key default gen_random_uuid(), n int)")
        connection.execute("create table things (id int primary key, n int)")
        connection.execute("create table nameless (n int)")
        yield connection


def heard(connection: psycopg.Connection) -> list[str]:
    """What was notified so far: all of it has arrived once a later notification has."""
    connection.execute("notify forge_changes, 'the end'")
    found = []
    for note in connection.notifies(timeout=60):
        if note.payload == "the end":
            return found
        found.append(note.payload)
    raise AssertionError("the last notification never came")


def inbox(connection: psycopg.Connection) -> list[tuple[str, str, int | None]]:
    return connection.execute(
        "select table_name, op, cardinality(ids) from weft.change_inbox order by id"
    ).fetchall()


@pytest.mark.parametrize("prefix", ["weft.", "public.forge_", "forge_"])
def test_what_changes_in_a_reactive_table_is_said_by_statement(owner: psycopg.Connection, prefix: str) -> None:
    owner.execute("listen forge_changes")
    owner.execute(f"select {prefix}enable_reactivity('things')")
    owner.execute(f"select {prefix}enable_reactivity('things')")
    owner.execute("insert into things values (1, 0), (2, 0)")
    owner.execute("update things set n = 1 where id = 2")
    owner.execute("update things set n = 1 where id = 3")
    owner.execute("delete from things where id = 1")
    owner.execute("truncate things")
    assert heard(owner) == [
        "things:INSERT:1", "things:INSERT:2", "things:UPDATE:2", "things:DELETE:1", "things:DELETE:",
    ]  # fmt: skip
    assert [(op, ids) for _, op, ids in inbox(owner)] == [
        ("INSERT", None), ("UPDATE", None), ("DELETE", None), ("DELETE", None),
    ]  # fmt: skip
    assert {table for table, _, _ in inbox(owner)} == {"public.things"}
    owner.execute(f"select {prefix}disable_reactivity('things')")
    owner.execute("insert into things values (7, 0)")
    assert heard(owner) == [] and len(inbox(owner)) == 4


def test_uuids_are_named_in_the_feed(owner: psycopg.Connection) -> None:
    owner.execute("select weft.enable_reactivity('orders')")
    owner.execute("insert into orders (n) select 1 from generate_series(1, 100)")
    assert inbox(owner) == [("public.orders", "INSERT", 100)]


def test_a_rollback_says_nothing(owner: psycopg.Connection) -> None:
    owner.execute("listen forge_changes")
    owner.execute("select weft.enable_reactivity('things')")
    with owner.transaction(force_rollback=True):
        owner.execute("insert into things values (1, 0)")
    assert heard(owner) == [] == inbox(owner)


@pytest.mark.parametrize("how", ["one statement", "a loop", "a row trigger of one's own"])
def test_fifty_thousand_rows_are_few_notifications(owner: psycopg.Connection, how: str) -> None:
    owner.execute("listen forge_changes")
    rows = 50_000 if how == "one statement" else 5_000
    if how.startswith("a row"):
        owner.execute(
            "create trigger mine after insert on things for each row execute function public.forge_notify_change()"
        )
    else:
        owner.execute("select weft.enable_reactivity('things')")
    if how == "a loop":
        owner.execute("do $$ begin for n in 1..5000 loop insert into things values (n, 0); end loop; end $$")
    else:
        owner.execute(f"insert into things select n, 0 from generate_series(1, {rows}) as n")
    first = heard(owner)
    assert "things:INSERT:" in first and len(first) <= 101 and len(inbox(owner)) <= 101
    if not how.startswith("a row"):
        owner.execute("update things set n = 1")
        assert heard(owner) == ["things:UPDATE:"]
    # the next transaction is named again
    owner.execute("insert into things values (-1, 0)")
    assert heard(owner) == ["things:INSERT:-1"]


@pytest.mark.parametrize(
    ("table", "why"),
    [("nameless", "no column id"), ("nothing", "there is no table"), ("weft.tasks", "not one of your own"),
     ("things_pkey", "is no table"), ("forge.forge_jobs", "is no table"), ("'; drop table things; --", "there is no table")],
)  # fmt: skip
def test_a_table_that_cannot_be_reactive_is_refused_when_enabling(owner: psycopg.Connection, table: str, why: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=why):
        owner.execute("select weft.enable_reactivity(%s)", (table,))


def test_whoever_writes_to_the_table_needs_no_rights_of_ours(owner: psycopg.Connection) -> None:
    owner.execute('create table "Odd Name" (id text, n int)')
    owner.execute("select weft.enable_reactivity('Odd Name')")
    owner.execute('grant insert on "Odd Name" to weft_tenant')
    with owner.transaction():
        owner.execute("set local role weft_tenant")
        owner.execute("""insert into "Odd Name" values ('a', 1), (null, 2)""")
    assert inbox(owner) == [("public.Odd Name", "INSERT", None)]


async def test_changes_of_users_tables_are_in_the_durable_feed(owner: psycopg.Connection, database: Database) -> None:
    owner.execute("select weft.enable_reactivity('orders')")
    owner.execute("insert into orders (n) values (1)")
    owner.execute("update orders set n = 2")
    async with database.tx() as tx:
        assert await sequence.once(tx) == 2
    async with database.tx() as tx:
        page = await feed.read(tx, after=0)
    assert [(one.table_name, one.op, len(one.ids or [])) for one in page.changes] == [
        ("public.orders", "INSERT", 1), ("public.orders", "UPDATE", 1),
    ]  # fmt: skip


def test_many_rows_of_one_kind_do_not_hide_another_kind(owner: psycopg.Connection) -> None:
    owner.execute("listen forge_changes")
    owner.execute("select weft.enable_reactivity('things')")
    with owner.transaction():
        owner.execute("insert into things select g, 0 from generate_series(1, 101) as g")
        owner.execute("delete from things where id = 7")
        owner.execute("update things set n = 1 where id = 8")
        owner.execute("insert into things values (200, 0)")
    assert heard(owner) == ["things:INSERT:", "things:DELETE:7", "things:UPDATE:8"]
    assert [op for _, op, _ in inbox(owner)] == ["INSERT", "DELETE", "UPDATE"]


def test_an_owner_who_is_none_of_ours_makes_its_table_reactive_with_the_rights_the_page_names(
    owner: psycopg.Connection,
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "concepts" / "live.md").read_text()
    owner.execute("create role shop")
    owner.execute("create role clerk")
    try:
        owner.execute("create table sales (id int primary key)")
        owner.execute("alter table sales owner to shop")
        owner.execute("grant insert on sales to clerk")
        for right in re.findall(r"^    (grant .* to shop);$", page, re.MULTILINE):
            owner.execute(right)
        owner.execute("set role shop")
        owner.execute("select weft.enable_reactivity('public.sales')")
        owner.execute("set role clerk")
        owner.execute("insert into sales values (1)")
        owner.execute("reset role")
        assert inbox(owner) == [("public.sales", "INSERT", None)]
        owner.execute("set role shop")
        owner.execute("select weft.disable_reactivity('public.sales')")
    finally:
        owner.execute("reset role")
        for role in ("shop", "clerk"):
            owner.execute(f"drop owned by {role}")
            owner.execute(f"drop role {role}")
