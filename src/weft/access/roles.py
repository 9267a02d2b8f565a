"""Roles that an org makes up itself (`role:finance`), and who has them. They say who may see what, not who may do what."""

import dataclasses
import datetime as dt
import uuid
from typing import Any

from weft.access import orgs, users
from weft.base import errors, names
from weft.db import statements
from weft.db.tx import Tx
from weft.journal import record

SQL = statements.load("weft.access")

PREFIX = "role:"
"""How visibility lists name them: `role:finance`."""


@dataclasses.dataclass(frozen=True)
class OrgRole:
    """A group of an org's users."""

    id: uuid.UUID
    org_id: uuid.UUID
    slug: str
    name: str
    created_at: dt.datetime
    members: int


async def create(tx: Tx, *, org: uuid.UUID, slug: str, name: str, actor: str) -> OrgRole:
    """A new role of an org; Conflict if it has one called so."""
    arguments = {"org_id": org, "slug": orgs.check_slug(slug, what="role"), "name": names.check(name, what="role name")}
    row = await tx.row(SQL.insert_role, arguments)
    if row is None:
        raise errors.Conflict(f"there is a role {slug!r} already; choose another slug")
    made = OrgRole(*row)
    await _journal(tx, org=org, slug=slug, actor=actor, action="role.create", after={"name": name})
    return made


async def page(tx: Tx, *, org: uuid.UUID, after: str = "", take: int = 50) -> list[OrgRole]:
    """An org's own roles, by slug."""
    return [OrgRole(*row) for row in await tx.rows(SQL.list_roles, {"org_id": org, "after": after, "take": take})]


async def get(tx: Tx, *, slug: str, org: uuid.UUID) -> OrgRole:
    row = await tx.row(SQL.get_role, {"slug": slug, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no role {slug!r}")
    return OrgRole(*row)


async def remove(tx: Tx, *, slug: str, org: uuid.UUID, actor: str) -> None:
    """The role is gone, and whoever had it has it no more."""
    name = await tx.value(SQL.remove_role, {"slug": slug, "org_id": org})
    if name is None:
        raise errors.NotFound(f"there is no role {slug!r}")
    await _journal(tx, org=org, slug=slug, actor=actor, action="role.remove", before={"name": name})


async def assign(tx: Tx, *, slug: str, user: uuid.UUID, org: uuid.UUID, actor: str) -> None:
    """Gives a user a role. Giving it again changes nothing."""
    await _both(tx, slug=slug, user=user, org=org)
    if await tx.run(SQL.assign_role, {"org_id": org, "slug": slug, "user_id": user}):
        await _journal(tx, org=org, slug=slug, actor=actor, action="role.assign", after={"user": str(user)})


async def unassign(tx: Tx, *, slug: str, user: uuid.UUID, org: uuid.UUID, actor: str) -> None:
    """Takes a role from a user. If they do not have it, nothing changes."""
    await _both(tx, slug=slug, user=user, org=org)
    if await tx.run(SQL.unassign_role, {"org_id": org, "slug": slug, "user_id": user}):
        await _journal(tx, org=org, slug=slug, actor=actor, action="role.unassign", before={"user": str(user)})


async def _both(tx: Tx, *, slug: str, user: uuid.UUID, org: uuid.UUID) -> None:
    """NotFound, naming what is not there."""
    await get(tx, slug=slug, org=org)
    await users.get(tx, id=user, org=org)


async def _journal(
    tx: Tx, *, org: uuid.UUID, slug: str, actor: str, action: str, before: Any = None, after: Any = None
) -> None:
    await record.record(
        tx, org_id=org, actor=actor, action=action, object_type="role", object_id=slug, before=before, after=after
    )  # fmt: skip
