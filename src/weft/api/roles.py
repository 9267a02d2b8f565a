"""`/v1/roles`: roles that an org makes up itself (`role:finance`), and who has them."""

import datetime as dt
import uuid
from typing import Any

import msgspec

from weft.access import roles as kernel
from weft.api import fields, pages
from weft.api.operation import Call, Operation
from weft.api.shown import shown
from weft.base import errors


class NewRole(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A role to make; lists of who may see what name it `role:` and its slug."""

    slug: fields.Slug
    name: fields.Name


class OrgRole(msgspec.Struct, kw_only=True):
    """A role of your org's own making."""

    id: uuid.UUID
    slug: str
    name: str
    created_at: dt.datetime
    members: int


class RolePlace(msgspec.Struct, frozen=True):
    """Where a page of roles ended."""

    slug: fields.Slug


async def create(call: Call[NewRole, None]) -> OrgRole:
    # the engine, because a tenant may be any SQL user and must not hand out what others may see; so below
    async with call.engine_tx() as tx:
        return _shown(
            await kernel.create(
                tx, org=call.principal.org, slug=call.body.slug, name=call.body.name, actor=call.principal.actor
            )
        )  # fmt: skip


async def page(call: Call[None, pages.Paging]) -> pages.Page[OrgRole]:
    place = call.query.place(RolePlace)
    after = "" if place is None else place.slug
    async with call.tx() as tx:
        found = await kernel.page(tx, org=call.principal.org, after=after, take=call.query.limit + 1)
    return pages.page(found, limit=call.query.limit, show=_shown, place=lambda role: RolePlace(role.slug))


async def get(call: Call[None, None]) -> OrgRole:
    async with call.tx() as tx:
        return _shown(await kernel.get(tx, slug=_slug(call), org=call.principal.org))


async def remove(call: Call[None, None]) -> None:
    async with call.engine_tx() as tx:
        await kernel.remove(tx, slug=_slug(call), org=call.principal.org, actor=call.principal.actor)


async def assign(call: Call[None, None]) -> None:
    async with call.engine_tx() as tx:
        await kernel.assign(
            tx, slug=_slug(call), user=call.id, org=call.principal.org, actor=call.principal.actor
        )  # fmt: skip


async def unassign(call: Call[None, None]) -> None:
    async with call.engine_tx() as tx:
        await kernel.unassign(
            tx, slug=_slug(call), user=call.id, org=call.principal.org, actor=call.principal.actor
        )  # fmt: skip


def _slug(call: Call[Any, Any]) -> str:
    slug: str = call.path["slug"]
    if "\0" in slug:
        raise errors.NotFound("no role is called so")
    return slug


def _shown(role: kernel.OrgRole) -> OrgRole:
    return shown(OrgRole, role)


_EXAMPLE = {
    "id": "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f", "slug": "finance", "name": "Finance",
    "created_at": "2026-01-05T09:30:00Z", "members": 3,
}  # fmt: skip

OPERATIONS = (
    Operation(
        "POST", "/v1/roles", action="role.write", handler=create, summary="Make a role of your org's own", body=NewRole,
        answer=OrgRole, status=201, errors=("INVALID_NAME", "CONFLICT"), example={"slug": "finance", "name": "Finance"},
        answer_example={**_EXAMPLE, "members": 0},
    ),
    Operation(
        "GET", "/v1/roles", action="role.read", handler=page, summary="An org's own roles, by slug", query=pages.Paging,
        description="Who has one: `GET /v1/users?role=finance`.",
        answer=pages.Page[OrgRole], answer_example={"items": [_EXAMPLE], "next_cursor": None},
    ),
    Operation(
        "GET", "/v1/roles/{slug}", action="role.read", handler=get, summary="One role", answer=OrgRole,
        errors=("NOT_FOUND",), answer_example=_EXAMPLE,
    ),
    Operation(
        "DELETE", "/v1/roles/{slug}", action="role.write", handler=remove, summary="Remove a role", status=204,
        description="Whoever had it has it no more.", errors=("NOT_FOUND",),
    ),
    Operation(
        "PUT", "/v1/roles/{slug}/members/{id:uuid}", action="role.write", handler=assign, summary="Give a user a role",
        description="Giving it again changes nothing.", status=204, errors=("NOT_FOUND",),
    ),
    Operation(
        "DELETE", "/v1/roles/{slug}/members/{id:uuid}", action="role.write", handler=unassign,
        summary="Take a role from a user", status=204, errors=("NOT_FOUND",),
    ),
)  # fmt: skip
