"""Users: people whom the configured issuer vouches for. A token says who they are, this table what they may."""

import dataclasses
import datetime as dt
import re
import uuid
from typing import Any, Literal, get_args

from msgspec import UNSET, UnsetType

from weft.base import errors, ids
from weft.db import statements
from weft.db.tx import Tx
from weft.journal import record

SQL = statements.load("weft.access")

UserRole = Literal["reader", "writer", "admin"]
EMAIL = r"[^@\x00-\x20\x7f-\xa0]{1,64}@[^@\x00-\x20\x7f-\xa0]{1,189}"
"""Without \\s, of which Python and JavaScript, so JSON Schema, think differently."""
SUBJECT = r"[^\x00-\x1f\x7f]{1,255}"

_ROLES = get_args(UserRole)
_EMAIL = re.compile(EMAIL)
_SUBJECT = re.compile(SUBJECT)


@dataclasses.dataclass(frozen=True)
class User:
    """A person of an org."""

    id: uuid.UUID
    org_id: uuid.UUID
    external_id: str
    email: str | None
    role: UserRole
    created_at: dt.datetime
    org_roles: list[str]


async def create(
    tx: Tx, *, org: uuid.UUID, external_id: str, role: UserRole, actor: str, email: str | None = None
) -> User:
    """A new user; Conflict if the org has one with this subject."""
    arguments = {
        "org_id": org, "external_id": check_subject(external_id), "email": _email(email), "role": _role(role),
    }  # fmt: skip
    row = await tx.row(SQL.insert_user, arguments)
    if row is None:
        raise errors.Conflict(f"the org has a user with the external_id {external_id!r} already")
    made = User(*row)
    await _journal(tx, org=org, id=made.id, actor=actor, action="user.create", after=_plain(made))
    return made


async def page(
    tx: Tx, *, org: uuid.UUID, before: uuid.UUID | None = None, take: int = 50, email: str | None = None,
    role: str | None = None,
) -> list[User]:  # fmt: skip
    """An org's users, newest first; those with an email, or of one of the org's own roles."""
    arguments = {"org_id": org, "before": before or ids.NEWEST, "take": take, "email": email, "role": role}
    return [User(*row) for row in await tx.rows(SQL.list_users, arguments)]


async def get(tx: Tx, *, id: uuid.UUID, org: uuid.UUID) -> User:
    row = await tx.row(SQL.get_user, {"id": id, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no user {id}")
    return User(*row)


async def change(
    tx: Tx, *, id: uuid.UUID, org: uuid.UUID, actor: str, role: UserRole | UnsetType = UNSET,
    email: str | UnsetType | None = UNSET,
) -> User:  # fmt: skip
    """Another role, another email. It holds for their next request, everywhere within a second."""
    row = await tx.row(SQL.lock_user, {"id": id, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no user {id}")
    now = {
        "email": row[0] if email is UNSET else _email(email),
        "role": row[1] if role is UNSET else _role(role),
    }
    await tx.run(SQL.change_user, {"id": id, "org_id": org, **now})
    before = {"email": row[0], "role": row[1]}
    await _journal(tx, org=org, id=id, actor=actor, action="user.change", before=before, after=now)
    return await get(tx, id=id, org=org)


async def remove(tx: Tx, *, id: uuid.UUID, org: uuid.UUID, actor: str) -> None:
    """Their tokens open nothing any more, everywhere within a second. Keys they made stay: they are the org's."""
    row = await tx.row(SQL.remove_user, {"id": id, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no user {id}")
    before = {"external_id": row[0], "email": row[1], "role": row[2]}
    await _journal(tx, org=org, id=id, actor=actor, action="user.remove", before=before)


def check_subject(text: object) -> str:
    if not isinstance(text, str) or not _SUBJECT.fullmatch(text):
        raise errors.InvalidInput("the external_id must be 1-255 characters without control characters: the token's `sub`")
    return text


def _email(email: str | None) -> str | None:
    if email is not None and not _EMAIL.fullmatch(email):
        raise errors.InvalidInput(f"{email[:80]!r} is not an email address")
    return email


def _role(role: str) -> str:
    if role not in _ROLES:
        raise errors.InvalidInput(f"a user cannot be {str(role)[:80]!r}; roles of users are {', '.join(_ROLES)}")
    return role


def _plain(user: User) -> dict[str, Any]:
    return {"external_id": user.external_id, "email": user.email, "role": user.role}


async def _journal(
    tx: Tx, *, org: uuid.UUID, id: uuid.UUID, actor: str, action: str, before: Any = None, after: Any = None
) -> None:
    await record.record(
        tx, org_id=org, actor=actor, action=action, object_type="user", object_id=str(id), before=before, after=after
    )  # fmt: skip
