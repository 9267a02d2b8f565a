"""`/v1/users`: the people of an org, as the configured issuer knows them. And `/v1/me`: who is asking."""

import datetime as dt
import uuid
from typing import Annotated

import msgspec

from weft.access import orgs, users
from weft.access.principal import Role
from weft.access.users import UserRole
from weft.api import browser, fields, pages, policy
from weft.api.operation import Call, Operation
from weft.api.shown import shown

Email = Annotated[str, msgspec.Meta(pattern=f"^{users.EMAIL}$", max_length=254, description="An email address.")]
Subject = Annotated[str, msgspec.Meta(pattern=f"^{users.SUBJECT}$", description="The token's `sub`.")]


class NewUser(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A user to make."""

    external_id: Subject
    role: UserRole
    email: Email | None = None


class UserChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to change; what is left out stays."""

    role: UserRole | msgspec.UnsetType = msgspec.UNSET
    email: Email | msgspec.UnsetType | None = msgspec.UNSET


class User(msgspec.Struct, kw_only=True):
    """A person of your org."""

    id: uuid.UUID
    external_id: str
    email: str | None
    role: UserRole
    created_at: dt.datetime
    org_roles: list[str]
    """The slugs of the org's own roles they have."""


class UserQuery(pages.Paging, forbid_unknown_fields=True, kw_only=True):
    """Which users."""

    email: Email | None = None
    role: fields.Key | None = None
    """The slug of one of the org's own roles: who has it."""


class UserPlace(msgspec.Struct, frozen=True):
    """Where a page of users ended."""

    id: uuid.UUID


class Me(msgspec.Struct, kw_only=True):
    """Whom the credential of a request stands for."""

    org: uuid.UUID
    org_slug: str
    actor: str
    role: Role
    scopes: list[str]
    org_roles: list[str]
    csrf: str | None
    """With a session's cookie: what changes must say in the header X-Weft-CSRF."""
    actions: list[str]
    """What it may do; see docs/concepts/access.md."""


async def create(call: Call[NewUser, None]) -> User:
    policy.must_have(call.principal, call.body.role)
    # the engine, because a tenant may be any SQL user and must not make admins; so below
    async with call.engine_tx() as tx:
        return _shown(
            await users.create(
                tx, org=call.principal.org, external_id=call.body.external_id, role=call.body.role, email=call.body.email,
                actor=call.principal.actor,
            )
        )  # fmt: skip


async def page(call: Call[None, UserQuery]) -> pages.Page[User]:
    place, query = call.query.place(UserPlace), call.query
    async with call.tx() as tx:
        found = await users.page(
            tx, org=call.principal.org, before=place.id if place else None, take=query.limit + 1, email=query.email,
            role=query.role,
        )  # fmt: skip
    return pages.page(found, limit=query.limit, show=_shown, place=lambda user: UserPlace(user.id))


async def get(call: Call[None, None]) -> User:
    async with call.tx() as tx:
        return _shown(await users.get(tx, id=call.id, org=call.principal.org))


async def change(call: Call[UserChange, None]) -> User:
    role, email = call.body.role, call.body.email
    if role is not msgspec.UNSET:
        policy.must_have(call.principal, role)
    async with call.engine_tx() as tx:
        return _shown(
            await users.change(
                tx, id=call.id, org=call.principal.org, actor=call.principal.actor, role=role, email=email
            )
        )


async def remove(call: Call[None, None]) -> None:
    async with call.engine_tx() as tx:
        await users.remove(tx, id=call.id, org=call.principal.org, actor=call.principal.actor)


async def me(call: Call[None, None]) -> Me:
    who = call.principal
    session = None if "authorization" in call.headers else browser.session_of(call.headers)
    async with call.tx() as tx:
        org = await orgs.get(tx, id=who.org, org=who.org)
    return Me(
        org=who.org, org_slug=org.slug, actor=who.actor, role=who.role, scopes=sorted(who.scopes),
        org_roles=sorted(who.org_roles), csrf=None if session is None else browser.csrf_token(session),
        actions=policy.allowed(who),
    )  # fmt: skip


def _shown(user: users.User) -> User:
    return shown(User, user)


_EXAMPLE = {
    "id": "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f", "external_id": "auth0|5f7c", "email": "ada@example.com",
    "role": "writer", "created_at": "2026-01-05T09:30:00Z", "org_roles": ["finance"],
}  # fmt: skip

OPERATIONS = (
    Operation(
        "GET", "/v1/me", action="me.read", handler=me, summary="Whom your credential stands for", answer=Me,
        answer_example={
            "org": "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f", "org_slug": "example", "actor": "user:ada@example.com",
            "role": "writer", "scopes": [], "org_roles": ["role:finance"], "csrf": None,
            "actions": ["me.read", "task.create", "task.read"],
        },
    ),
    Operation(
        "POST", "/v1/users", action="user.write", handler=create, summary="Make a user",
        description="Whoever comes with a token of the configured issuer whose `sub` is `external_id` acts in your org, in "
        "this role.",
        body=NewUser, answer=User, status=201, errors=("CONFLICT",),
        example={"external_id": "auth0|5f7c", "email": "ada@example.com", "role": "writer"}, answer_example=_EXAMPLE,
    ),
    Operation(
        "GET", "/v1/users", action="user.read", handler=page, summary="An org's users, newest first", query=UserQuery,
        answer=pages.Page[User], answer_example={"items": [_EXAMPLE], "next_cursor": None},
    ),
    Operation(
        "GET", "/v1/users/{id:uuid}", action="user.read", handler=get, summary="One user", answer=User,
        errors=("NOT_FOUND",), answer_example=_EXAMPLE,
    ),
    Operation(
        "PATCH", "/v1/users/{id:uuid}", action="user.write", handler=change, summary="Change a user's role or email",
        description="It holds everywhere within a second.", body=UserChange, answer=User, errors=("NOT_FOUND",),
        example={"role": "admin"}, answer_example={**_EXAMPLE, "role": "admin"},
    ),
    Operation(
        "DELETE", "/v1/users/{id:uuid}", action="user.write", handler=remove, summary="Remove a user", status=204,
        description="Their tokens open nothing any more, everywhere within a second. Keys they made are the org's and stay.",
        errors=("NOT_FOUND",),
    ),
)  # fmt: skip
