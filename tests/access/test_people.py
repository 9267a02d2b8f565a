"""Users and the roles an org makes up itself."""

import uuid
from typing import Any

import pytest

import hands
from weft.access import roles, users
from weft.base import errors, ids
from weft.db.tx import Tx

ORG = ids.DEFAULT_ORG


async def ada(tx: Tx, **how: Any) -> users.User:
    return await users.create(tx, **{"org": ORG, "external_id": "ada", "role": "writer", "actor": "t", **how})


async def test_a_user_is_made_changed_and_removed(tx: Tx) -> None:
    made = await ada(tx, email="ada@x.org")
    assert await users.get(tx, id=made.id, org=ORG) == made
    changed = await users.change(tx, id=made.id, org=ORG, actor="t", role="admin")
    assert (changed.role, changed.email) == ("admin", "ada@x.org")
    assert (await users.change(tx, id=made.id, org=ORG, actor="t", email=None)).email is None
    await users.remove(tx, id=made.id, org=ORG, actor="t")
    with pytest.raises(errors.NotFound):
        await users.get(tx, id=made.id, org=ORG)
    rows = await tx.rows("select action, before ->> 'role', after ->> 'role' from weft.journal order by id")
    assert rows == [
        ("user.create", None, "writer"), ("user.change", "writer", "admin"), ("user.change", "admin", "admin"),
        ("user.remove", "admin", None),
    ]  # fmt: skip


async def test_a_subject_is_one_user_of_an_org_and_may_be_another_of_another(tx: Tx) -> None:
    await ada(tx)
    with pytest.raises(errors.Conflict, match="already"):
        await ada(tx)
    other = await hands.new_org(tx, "other")
    theirs = await ada(tx, org=other)
    for verb in (users.get(tx, id=theirs.id, org=ORG), users.remove(tx, id=theirs.id, org=ORG, actor="t")):
        with pytest.raises(errors.NotFound):
            await verb
    with pytest.raises(errors.NotFound):
        await users.change(tx, id=theirs.id, org=ORG, actor="t", role="reader")
    assert [one.org_id for one in await users.page(tx, org=other)] == [other]


@pytest.mark.parametrize(
    "wrong",
    [
        {"external_id": ""}, {"external_id": "a\n"}, {"external_id": "x" * 256}, {"role": "operator"}, {"role": "worker"},
        {"role": ""}, {"email": "ada"}, {"email": "a b@x.org"}, {"email": "ada@x.org\n"}, {"email": "@"},
    ],
)  # fmt: skip
async def test_what_no_user_can_be_is_refused(tx: Tx, wrong: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidInput):
        await ada(tx, **wrong)


async def test_roles_are_assigned_within_an_org_only(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    mine, theirs = await ada(tx), await ada(tx, org=other)
    for org in (ORG, other):
        await roles.create(tx, org=org, slug="finance", name="Finance", actor="t")
    with pytest.raises(errors.Conflict):
        await roles.create(tx, org=ORG, slug="finance", name="Again", actor="t")
    for user, org in ((theirs.id, ORG), (mine.id, other), (uuid.uuid4(), ORG)):
        for verb in (roles.assign, roles.unassign):
            with pytest.raises(errors.NotFound):
                await verb(tx, slug="finance", user=user, org=org, actor="t")
    with pytest.raises(errors.NotFound, match="no role"):
        await roles.assign(tx, slug="sales", user=mine.id, org=ORG, actor="t")
    for _ in range(2):
        await roles.assign(tx, slug="finance", user=mine.id, org=ORG, actor="t")
    assert (await roles.get(tx, slug="finance", org=ORG)).members == 1
    assert (await roles.get(tx, slug="finance", org=other)).members == 0
    assert [one.org_roles for one in await users.page(tx, org=ORG, role="finance")] == [["finance"]]
    assert await users.page(tx, org=other, role="finance") == []
    for _ in range(2):
        await roles.unassign(tx, slug="finance", user=mine.id, org=ORG, actor="t")
    assert (await users.get(tx, id=mine.id, org=ORG)).org_roles == []
    counted = await tx.rows(
        "select action, count(*) from weft.journal where action like 'role.%%' group by 1 order by 1", {}
    )
    assert counted == [("role.assign", 1), ("role.create", 2), ("role.unassign", 1)]


async def test_the_database_itself_refuses_a_membership_across_orgs(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    theirs = await ada(tx, org=other)
    role = await roles.create(tx, org=ORG, slug="finance", name="Finance", actor="t")
    for org in (ORG, other):
        with pytest.raises(errors.DatabaseError, match="foreign key"):
            async with tx.connection.transaction():
                await tx.run(
                    "insert into weft.org_role_memberships (org_id, role_id, user_id) values (%(org)s, %(role)s, %(user)s)",
                    {"org": org, "role": role.id, "user": theirs.id},
                )


async def test_removing_a_role_or_a_user_takes_memberships_along(tx: Tx) -> None:
    mine = await ada(tx)
    for slug in ("finance", "sales"):
        await roles.create(tx, org=ORG, slug=slug, name=slug, actor="t")
        await roles.assign(tx, slug=slug, user=mine.id, org=ORG, actor="t")
    await roles.remove(tx, slug="finance", org=ORG, actor="t")
    assert (await users.get(tx, id=mine.id, org=ORG)).org_roles == ["sales"]
    await users.remove(tx, id=mine.id, org=ORG, actor="t")
    assert await hands.count(tx, "org_role_memberships") == 0
    with pytest.raises(errors.NotFound):
        await roles.remove(tx, slug="finance", org=ORG, actor="t")
