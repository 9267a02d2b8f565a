"""Orgs: quotas come from the tier unless said, live in the org's row alone, and every change is journaled."""

import datetime as dt
import uuid
from typing import Any

import pytest

import hands
from weft.access import keys, orgs, tiers
from weft.base import errors, ids
from weft.db.database import Database
from weft.db.tx import Tx


async def test_an_org_has_its_tiers_quotas_unless_told_otherwise(tx: Tx) -> None:
    free = await orgs.create(tx, name="Shop", slug="shop", actor="t", tier="free", max_concurrent=3, request_burst=None)
    told = tiers.QUOTAS["free"]
    assert (free.max_concurrent, free.max_jobs, free.request_rate, free.request_burst) == (
        3,
        told.max_jobs,
        told.request_rate,
        None,
    )
    plain = await orgs.create(tx, name="Other", slug="other", actor="t")
    assert (plain.tier, plain.max_concurrent, plain.max_jobs, plain.request_rate, plain.weight) == (
        "standard",
        None,
        None,
        None,
        1,
    )


async def test_a_new_tier_brings_its_quotas_but_for_those_that_are_said(tx: Tx) -> None:
    org = (await orgs.create(tx, name="Shop", slug="shop", actor="t", max_jobs=7)).id
    changed = await orgs.change(tx, id=org, actor="t", tier="free", request_rate=5)
    told = tiers.QUOTAS["free"]
    assert (changed.max_jobs, changed.max_concurrent, changed.request_rate) == (told.max_jobs, told.max_concurrent, 5)
    kept = await orgs.change(tx, id=org, actor="t", name="Shop Ltd", tier="free")
    assert (kept.name, kept.request_rate) == ("Shop Ltd", 5)


async def test_a_slug_is_taken_once(tx: Tx) -> None:
    await orgs.create(tx, name="Shop", slug="shop", actor="t")
    with pytest.raises(errors.Conflict, match="already"):
        await orgs.create(tx, name="Shop", slug="shop", actor="t")
    assert [one.slug for one in await orgs.page(tx, org=None)] == ["default", "shop"]
    assert [one.slug for one in await orgs.page(tx, org=None, after="default", take=1)] == ["shop"]
    assert await orgs.find(tx, "default") == ids.DEFAULT_ORG


WRONG: list[dict[str, Any]] = [
    {"slug": "Shop"}, {"slug": ""}, {"slug": "-a"}, {"slug": "a" * 64}, {"slug": "ä"}, {"name": ""}, {"name": "a\n"},
    {"tier": "gold"}, {"max_jobs": -1}, {"max_concurrent": 1.5}, {"max_concurrent": True}, {"request_rate": 0},
    {"weight": 101}, {"weight": None}, {"weight": 0}, {"max_jobs": 10**10}, {"settings": []},
    {"settings": {"a": "x" * 20000}},
    {"retention": dt.timedelta(0)}, {"retention": 5}, {"colour": 1},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=lambda one: str(one)[:40])
async def test_what_makes_no_sense_is_refused(tx: Tx, wrong: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidInput):
        await orgs.create(tx, **{"name": "Shop", "slug": "shop", "actor": "t", **wrong})
    if "slug" not in wrong:
        with pytest.raises(errors.InvalidInput):
            await orgs.change(tx, id=ids.DEFAULT_ORG, actor="t", **wrong)
    assert await hands.count(tx, "journal") == 0


async def test_changes_are_journaled_with_what_was_before(tx: Tx) -> None:
    org = (await orgs.create(tx, name="Shop", slug="shop", actor="ada")).id
    await orgs.change(tx, id=org, actor="bob", max_concurrent=5, retention=dt.timedelta(days=1))
    rows = await tx.rows(
        "select actor, action, before -> 'max_concurrent', after -> 'max_concurrent' from weft.journal "
        "where org_id = %(org)s order by id", {"org": org},
    )  # fmt: skip
    assert rows == [("ada", "org.create", None, None), ("bob", "org.change", None, 5)]


async def test_what_runs_when_a_limit_is_written_counts_however_it_is_written(database: Database) -> None:
    async with database.tx() as tx:
        await hands.put_many(tx, 3)
        assert len(await hands.claim_plain(tx, 2)) == 2
    async with database.tx() as tx:
        await tx.run("update weft.orgs set max_concurrent = 2 where slug = 'default'")
    async with database.tx() as tx:
        assert await hands.claim_special(tx) == [] and await hands.claim_plain(tx) == []
        await orgs.change(tx, id=ids.DEFAULT_ORG, actor="t", max_concurrent=3)
    async with database.tx() as tx:
        assert len(await hands.claim_special(tx)) == 1


async def test_a_suspended_org_opens_nothing_until_it_may_again(tx: Tx) -> None:
    org = (await orgs.create(tx, name="Shop", slug="shop", actor="t")).id
    made, text = await keys.create(tx, org=org, name="a", role="worker", actor="t")
    first = await orgs.change(tx, id=org, actor="t", suspended=True)
    again = await orgs.change(tx, id=org, actor="t", name="Still shut")
    assert first.suspended_at is not None and again.suspended_at == first.suspended_at
    with pytest.raises(errors.Unauthenticated, match="suspended"):
        await keys.find(tx, text)
    assert not await keys.stands(tx, made.id)
    await orgs.change(tx, id=org, actor="t", suspended=False)
    assert await keys.find(tx, text) is not None and await keys.stands(tx, made.id)


async def test_an_org_that_is_not_there_is_said(tx: Tx) -> None:
    for org in (None, ids.DEFAULT_ORG):
        with pytest.raises(errors.NotFound):
            await orgs.get(tx, id=uuid.uuid4(), org=org)
        with pytest.raises(errors.NotFound):
            await orgs.change(tx, id=uuid.uuid4(), org=org, actor="t", name="x")


async def test_the_engine_confined_to_an_org_changes_no_other(database: Database) -> None:
    async with database.tx() as tx:
        other = (await orgs.create(tx, name="Shop", slug="shop", actor="t")).id
        theirs, _ = await keys.create(tx, org=other, name="theirs", role="admin", actor="t")
    async with database.tx(org=ids.DEFAULT_ORG, engine=True) as tx:
        assert await tx.value("select current_user") == "weft_engine"
        assert await tx.run("update weft.orgs set name = 'x' where id = %(id)s", {"id": other}) == 0
        for table in ("keys", "users", "org_roles", "org_role_memberships"):
            assert await tx.run(f"delete from weft.{table} where org_id <> %(mine)s", {"mine": ids.DEFAULT_ORG}) == 0
        assert await tx.value("select count(*) from weft.keys") == 0
        with pytest.raises(errors.NotFound):
            await keys.revoke(tx, id=theirs.id, org=other, actor="t")
    for statement in (
        "insert into weft.users (org_id, external_id, role) values (%(org)s, 's', 'admin')",
        "insert into weft.org_roles (org_id, slug, name) values (%(org)s, 's', 'S')",
        "insert into weft.orgs (name, slug) values ('a', 'a')",
    ):
        with pytest.raises(errors.DatabaseError, match="row-level security"):
            async with database.tx(org=ids.DEFAULT_ORG, engine=True) as tx:
                await tx.run(statement, {"org": other})
