"""The audit trail in the database: sealed after the fact, per org, and tampered with by its owner."""

import asyncio
import uuid

import psycopg
import pytest

import hands
from weft.base import ids
from weft.db import database as databases
from weft.db.database import Database
from weft.db.tx import Tx
from weft.journal import audit
from weft.journal.chain import Head
from weft.journal.record import record

ORG = ids.DEFAULT_ORG


async def write(tx: Tx, n: int, *, org: uuid.UUID = ORG) -> None:
    await record(
        tx, org_id=org, actor=f"user {n}", action="test", object_type="thing", object_id=str(n), before={"n": n - 1},
        after={"n": n, "text": "näive \"quotes\""},
    )  # fmt: skip


async def faults(database: Database, *, org: uuid.UUID = ORG, known: Head | None = None, take: int = 3) -> list[str]:
    """Everything a walk over the whole chain finds, part by part, as an org's own admin would."""
    found, after = [], 0
    while True:
        async with database.tx(org=org) as tx:
            part = await audit.verify(tx, org=org, after=after, take=take, known=known if after == 0 else None)
        found += [f"{one.number} {one.fault}" for one in part.findings]
        if part.next is None:
            return found
        after = part.next


@pytest.fixture
async def sealed(database: Database) -> Database:
    async with database.tx() as tx:
        for n in range(1, 11):
            await write(tx, n)
    async with database.tx() as tx:
        assert await audit.seal(tx) == 10
    return database


async def test_sealing_takes_batches_and_each_org_has_its_own_chain(database: Database) -> None:
    async with database.tx() as tx:
        other = await hands.new_org(tx, "other")
        for n in range(6):
            await write(tx, n)
            await write(tx, n, org=other)
    counts = []
    while not counts or counts[-1]:
        async with database.tx() as tx:
            counts.append(await audit.seal(tx, take=5))
            assert ("audit sealer" in await hands.stirs(tx)) == (sum(counts) < 12)
    assert counts == [5, 5, 2, 0]
    async with database.tx() as tx:
        found = await tx.rows("select org_id, array_agg(number order by id) from weft.journal group by 1")
    assert sorted(found) == sorted([(ORG, [1, 2, 3, 4, 5, 6]), (other, [1, 2, 3, 4, 5, 6])])
    assert await faults(database) == [] and await faults(database, org=other) == []


async def test_nothing_is_sealed_by_whoever_writes(database: Database) -> None:
    async with database.tx() as tx:
        await write(tx, 1)
        assert await tx.value("select number from weft.journal") is None
    assert await faults(database) == []


async def test_an_entry_that_commits_late_is_sealed_later_and_breaks_nothing(database: Database) -> None:
    async with database.tx() as late:
        await write(late, 1)
        async with database.tx() as tx:
            await write(tx, 2)
        async with database.tx() as tx:
            assert await audit.seal(tx) == 1
    async with database.tx() as tx:
        assert await audit.seal(tx) == 1
        assert await tx.rows("select actor, number from weft.journal order by number") == [("user 2", 1), ("user 1", 2)]
    assert await faults(database) == []


async def test_two_sealers_at_once_make_one_chain(database: Database) -> None:
    async with database.tx() as tx:
        for n in range(100):
            await write(tx, n)

    async def work() -> None:
        waiting = True
        while waiting:
            async with database.tx() as tx:
                await audit.seal(tx, take=10)
            async with database.tx() as tx:
                waiting = "audit sealer" in await hands.stirs(tx)

    async with asyncio.timeout(60):
        await asyncio.gather(*(work() for _ in range(4)))
    assert await faults(database, take=1000) == []
    async with database.tx() as tx:
        assert await tx.value("select max(number) from weft.journal") == 100


TAMPERING = {
    "changed": ("update weft.journal set actor = 'somebody else' where number = 5", ["5 changed"]),
    "its change": ("update weft.journal set after = '{\"n\": 7}' where number = 5", ["5 changed"]),
    "its time": ("update weft.journal set at = at + interval '1 microsecond' where number = 5", ["5 changed"]),
    "its request": ("update weft.journal set request_id = 'req-x' where number = 5", ["5 changed"]),
    "deleted": ("delete from weft.journal where number = 5", ["5 missing"]),
    "the newest deleted": ("delete from weft.journal where number > 8", ["9 cut off"]),
    "the newest, and the end": (
        "delete from weft.journal where number > 8; update weft.journal_heads set number = 8", ["8 changed"]),
    "all deleted": ("delete from weft.journal", ["1 cut off"]),
    "inserted": (
        "insert into weft.journal (org_id, actor, action, object_type, object_id, number, hash) "
        "select org_id, 'x', 'x', 'x', 'x', 11, hash from weft.journal where number = 10",
        ["11 changed", "11 beyond the end"]),
    "inserted in between": (
        "update weft.journal set number = number + 100 where number > 5; "
        "update weft.journal set number = number - 99 where number > 100; "
        "insert into weft.journal (org_id, actor, action, object_type, object_id, number, hash) "
        "select org_id, 'x', 'x', 'x', 'x', 6, sha256('x') from weft.journal where number = 5; "
        "update weft.journal_heads set number = 11",
        [f"{n} changed" for n in range(6, 12)]),
    "reordered": (
        "update weft.journal set number = 99 where number = 5; update weft.journal set number = 5 where number = 6; "
        "update weft.journal set number = 6 where number = 99", ["5 changed", "6 changed", "7 changed"]),
    "backdated": (
        "insert into weft.journal (org_id, at, actor, action, object_type, object_id) "
        "values ('00000000-0000-7000-8000-000000000001', now() - interval '1 day', 'x', 'x', 'x', 'x')", ["11 backdated"]),
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPERING)
async def test_what_the_owner_of_the_database_does_shows(sealed: Database, database_url: str, what: str) -> None:
    assert await faults(sealed) == []
    statement, expected = TAMPERING[what]
    with psycopg.connect(database_url) as owner:
        owner.execute(statement.encode())
    async with sealed.tx() as tx:
        await audit.seal(tx)
    assert await faults(sealed, take=1000) == expected
    assert await faults(sealed, take=2) == expected


async def test_whoever_seals_everything_anew_is_found_by_a_head_that_was_kept(sealed: Database, database_url: str) -> None:
    async with sealed.tx() as tx:
        kept = (await audit.verify(tx, org=ORG)).last
    assert kept.number == 10 and await faults(sealed, known=kept) == []
    with psycopg.connect(database_url) as owner:
        owner.execute("delete from weft.journal where number = 5")
        owner.execute("update weft.journal set number = null, hash = null")
        owner.execute("delete from weft.journal_heads")
    async with sealed.tx() as tx:
        assert await audit.seal(tx) == 9
    assert await faults(sealed) == []
    assert await faults(sealed, known=kept) == ["10 another chain"]


async def test_not_even_the_engine_changes_or_deletes_an_entry(sealed: Database) -> None:
    for statement in ("update weft.journal set actor = 'x'", "delete from weft.journal", "truncate weft.journal"):
        with pytest.raises(databases.errors.DatabaseError, match="permission denied"):
            async with sealed.tx() as tx:
                await tx.run(statement)


async def test_a_tenant_neither_seals_nor_numbers(sealed: Database) -> None:
    for statement in (
        "update weft.journal set number = null",
        "update weft.journal_heads set number = 1",
        f"insert into weft.journal (org_id, actor, action, object_type, object_id, number, hash) "
        f"values ('{ORG}', 'x', 'x', 'x', 'x', 11, sha256('x'))",
    ):
        with pytest.raises(databases.errors.DatabaseError, match="permission denied"):
            async with sealed.tx(org=ORG) as tx:
                await tx.run(statement)


async def test_pages_go_back_in_time_and_filters_hold(sealed: Database) -> None:
    async with sealed.tx(org=ORG) as tx:
        first = await audit.page(tx, org=ORG, filter=audit.Filter(), take=4)
        second = await audit.page(tx, org=ORG, filter=audit.Filter(), before=first[-1].id, take=4)
        one = await audit.page(tx, org=ORG, filter=audit.Filter(actor="user 3", object_id="3", object_type="thing"))
        none = await audit.page(tx, org=ORG, filter=audit.Filter(action="other"))
        later = await audit.page(tx, org=ORG, filter=audit.Filter(since=ids.made_at(first[0].id)), take=50)
    assert [entry.number for entry in first + second] == [10, 9, 8, 7, 6, 5, 4, 3]
    assert [entry.after["n"] for entry in one] == [3] and none == []
    assert first[0] in later and all(ids.made_at(entry.id) >= ids.made_at(first[0].id) for entry in later)


async def test_the_request_is_kept_with_what_it_did(database: Database) -> None:
    token = databases.request.set("req-1")
    try:
        async with database.tx(org=ORG) as tx:
            await write(tx, 1)
        async with database.tx(labelled=True) as tx:
            await write(tx, 2)
        async with database.tx() as tx:
            await write(tx, 3)
    finally:
        databases.request.reset(token)
    async with database.tx(org=ORG) as tx:
        await write(tx, 4)
        found = await tx.rows("select object_id, request_id from weft.journal order by id")
    assert found == [("1", "req-1"), ("2", "req-1"), ("3", None), ("4", None)]
