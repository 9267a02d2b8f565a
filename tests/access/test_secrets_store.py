"""Secrets in the database: sealed, versioned, an org's own, and sealed anew."""

import uuid

import pytest

import hands
from weft.access import keyring, secrets
from weft.base import errors, ids
from weft.base.config import Settings
from weft.db.database import Database
from weft.db.tx import Tx

OLD, NEW = keyring.generate(), keyring.generate()
ORG = ids.DEFAULT_ORG


def ring(*texts: str) -> keyring.Keyring:
    return keyring.load(Settings(database_url="x", secret_key=",".join(texts)))


async def put(tx: Tx, name: str, value: str = "hello secret", *, org: uuid.UUID = ORG, key: str = OLD) -> secrets.Secret:
    return await secrets.put(tx, ring(key), org=org, name=name, value=value, actor="me")


async def test_a_value_goes_in_sealed_and_comes_out_for_its_org(tx: Tx) -> None:
    assert (await put(tx, "A")).version == 1
    assert (await put(tx, "A", "another value")).version == 2
    assert await secrets.opened(tx, ring(OLD), org=ORG, names=["A"]) == {"A": "another value"}
    assert [(one.name, one.version, one.remote) for one in await secrets.page(tx, org=ORG)] == [("A", 2, False)]
    everything = await tx.value("select string_agg(s::text, '') from weft.secrets as s")
    assert "hello" not in everything and b"hello".hex() not in everything


async def test_two_seals_of_the_same_value_are_unlike(tx: Tx) -> None:
    await put(tx, "A")
    await put(tx, "B")
    assert await tx.value("select count(distinct sealed) + count(distinct nonce) from weft.secrets") == 4


async def test_another_orgs_secret_is_not_there_and_its_box_does_not_open_here(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    await put(tx, "A", "theirs entirely", org=other)
    with pytest.raises(errors.NotFound):
        await secrets.opened(tx, ring(OLD), org=ORG, names=["A"])
    # even whoever can write rows cannot move one: it is bound to its org and name
    await put(tx, "A")
    await tx.run(
        "update weft.secrets as s set sealed = o.sealed, nonce = o.nonce from weft.secrets as o "
        "where s.org_id = %(mine)s and o.org_id = %(theirs)s", {"mine": ORG, "theirs": other},
    )  # fmt: skip
    with pytest.raises(errors.DatabaseError, match="does not open"):
        await secrets.opened(tx, ring(OLD), org=ORG, names=["A"])


async def test_a_tenant_sees_names_but_neither_reads_nor_writes_a_box(database: Database) -> None:
    async with database.tx() as tx:
        await put(tx, "A")
        other = await hands.new_org(tx, "other")
    async with database.tx(org=ORG) as tx:
        assert [one.name for one in await secrets.page(tx, org=ORG)] == ["A"]
    async with database.tx(org=other) as tx:
        assert await tx.rows("select name from weft.secrets") == []
    for statement in (
        "select sealed from weft.secrets", "select * from weft.secrets", "select nonce from weft.secrets",
        "delete from weft.secrets", "update weft.secrets set name = 'B'",
        "insert into weft.secrets (org_id, name, key_id, nonce, sealed, updated_by) "
        f"values ('{ORG}', 'B', '', repeat('x', 12)::bytea, '', '')",
    ):  # fmt: skip
        with pytest.raises(errors.DatabaseError, match="permission denied"):
            async with database.tx(org=ORG) as tx:
                await tx.run(statement)


@pytest.mark.parametrize("name", ["", "1a", "a b", "a/b", "ä", "a" * 129, "A\n", "${x}"])
async def test_a_bad_name_is_refused(tx: Tx, name: str) -> None:
    with pytest.raises(errors.InvalidName):
        await put(tx, name)


@pytest.mark.parametrize("value", ["", "short77", "x" * 65537, "ä" * 32769, "with \0 a NUL"])
async def test_a_value_too_short_to_hide_or_too_long_is_refused_and_not_shown(tx: Tx, value: str) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        await put(tx, "A", value)
    assert not value or value not in str(caught.value)


async def test_the_longest_value_fits(tx: Tx) -> None:
    await put(tx, "A", "ä" * 32768)
    assert (await secrets.opened(tx, ring(OLD), org=ORG, names=["A"]))["A"] == "ä" * 32768


async def test_what_is_not_for_http_is_refused_there(tx: Tx) -> None:
    await put(tx, "A")
    with pytest.raises(errors.Refused, match="--remote"):
        await secrets.opened(tx, ring(OLD), org=ORG, names=["A"], over_http=True)
    await secrets.put(tx, ring(OLD), org=ORG, name="A", value="hello secret", actor="me", remote=True)
    await put(tx, "A", "as it was: remote")
    assert await secrets.opened(tx, ring(OLD), org=ORG, names=["A"], over_http=True) == {"A": "as it was: remote"}


async def test_rotation_seals_everything_anew_in_batches(database: Database) -> None:
    async with database.tx() as tx:
        orgs = [ORG, await hands.new_org(tx, "other")]
        for org in orgs:
            for n in range(5):
                await put(tx, f"S{n}", f"value number {n}", org=org)
    both = ring(NEW, OLD)
    counts = []
    while not counts or counts[-1]:
        async with database.tx() as tx:
            counts.append(await secrets.rotate(tx, both, actor="me", take=4))
    assert counts == [4, 4, 2, 0]
    async with database.tx() as tx:
        assert await secrets.by_key(tx) == {both.current: 10}
        for org in orgs:
            opened = await secrets.opened(tx, ring(NEW), org=org, names=[f"S{n}" for n in range(5)])
            assert opened == {f"S{n}": f"value number {n}" for n in range(5)}
        assert {one.version for one in await secrets.page(tx, org=ORG)} == {1}


async def test_in_the_middle_of_a_rotation_everything_opens(database: Database) -> None:
    async with database.tx() as tx:
        for n in range(3):
            await put(tx, f"S{n}")
    both = ring(NEW, OLD)
    async with database.tx() as tx:
        await secrets.rotate(tx, both, actor="me", take=2)
    async with database.tx() as tx:
        assert sorted((await secrets.by_key(tx)).values()) == [1, 2]
        assert len(await secrets.opened(tx, both, org=ORG, names=["S0", "S1", "S2"])) == 3


async def test_what_no_key_of_the_ring_opens_is_left_and_told_of(tx: Tx) -> None:
    await put(tx, "A", key=OLD)
    assert await secrets.rotate(tx, ring(NEW), actor="me") == 0
    assert await secrets.by_key(tx) == {ring(OLD).current: 1}


async def test_what_was_done_is_in_the_journal_without_the_value(tx: Tx) -> None:
    await put(tx, "A", "the first value")
    await put(tx, "A", "the second value")
    await secrets.delete(tx, org=ORG, name="A", actor="me")
    with pytest.raises(errors.NotFound):
        await secrets.delete(tx, org=ORG, name="A", actor="me")
    found = await tx.rows("select action, object_id, before, after from weft.journal order by id")
    assert found == [
        ("secret.put", "A", None, {"version": 1, "remote": False}),
        ("secret.put", "A", {"version": 1}, {"version": 2, "remote": False}),
        ("secret.delete", "A", {"version": 2, "remote": False}, None),
    ]
