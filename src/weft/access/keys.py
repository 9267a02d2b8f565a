"""API keys (`weft_…`) and worker keys (`weftw_…`): made, listed, revoked, and looked up by their hash."""

import dataclasses
import datetime as dt
import hashlib
import re
import secrets
import uuid
from collections.abc import Sequence
from typing import Literal

from weft.access import principal
from weft.access.principal import Principal
from weft.base import errors, ids, names
from weft.db import statements
from weft.db.tx import Tx
from weft.journal import record

SQL = statements.load("weft.access")

KeyRole = Literal["reader", "writer", "admin", "operator", "worker"]

API_PREFIX = "weft_"
WORKER_PREFIX = "weftw_"
_SECRET_BYTES = 32
_SHOWN = 6
"""Characters after the prefix that are kept, so that people can tell their keys apart."""
_SCOPE = re.compile(r"[a-z]{1,32}\.([a-z_]{1,32}|\*)")
MOST_SCOPES = 64
MOST_RATE = 1_000_000


@dataclasses.dataclass(frozen=True)
class Key:
    """A key as people see it, which is without its secret."""

    id: uuid.UUID
    org_id: uuid.UUID
    name: str
    role: KeyRole
    scopes: list[str]
    request_rate: int | None
    request_burst: int | None
    prefix: str
    created_by: str
    created_at: dt.datetime
    expires_at: dt.datetime | None
    revoked_at: dt.datetime | None
    last_used_at: dt.datetime | None


@dataclasses.dataclass(frozen=True)
class Found:
    """Whom a key's text stands for, and whether the key's last use should be written down."""

    id: uuid.UUID
    principal: Principal
    stale: bool


async def create(
    tx: Tx, *, org: uuid.UUID, name: str, role: KeyRole, actor: str, lasts: dt.timedelta | None = None,
    scopes: Sequence[str] = (), request_rate: int | None = None, request_burst: int | None = None,
    maker: uuid.UUID | None = None,
) -> tuple[Key, str]:  # fmt: skip
    """A new key and its text, which nobody can read again. It expires after `lasts`, by the database's clock.

    `scopes` hold it to some of what its role may. `request_rate` and `request_burst` are requests a second and at once.
    `maker` is the key it is made with, which it must not outlive.
    """
    if lasts is not None and lasts <= dt.timedelta(0):
        raise errors.InvalidInput("a key must last longer than nothing")
    left: dt.timedelta | None = None if maker is None else await tx.value(SQL.key_lasts, {"id": maker})
    if left is not None and (lasts is None or lasts > left):
        raise errors.Forbidden(
            f"your own key expires in {int(left.total_seconds())} seconds, and a key it makes must not last longer; give "
            f"expires_in, or use a key that lasts",
            action="give.longer",
        )
    text = (WORKER_PREFIX if role == "worker" else API_PREFIX) + secrets.token_urlsafe(_SECRET_BYTES)
    row = await tx.row(
        SQL.insert_key,
        {
            "org_id": org, "name": names.check(name, what="key name"), "role": role, "scopes": _scopes(scopes),
            "request_rate": _rate(request_rate), "request_burst": _rate(request_burst),
            "prefix": text[: text.index("_") + 1 + _SHOWN], "hash": hashed(text), "created_by": actor,
            "lasts": lasts,
        },
    )  # fmt: skip
    assert row is not None  # an insert answers its row
    key = Key(*row)
    await _journal(tx, key, actor=actor, action="key.create")
    return key, text


async def page(tx: Tx, *, org: uuid.UUID, before: uuid.UUID | None = None, take: int = 50) -> list[Key]:
    """An org's keys, newest first, revoked ones too."""
    return [Key(*row) for row in await tx.rows(SQL.list_keys, {"org_id": org, "before": before or ids.NEWEST, "take": take})]


async def revoke(tx: Tx, *, id: uuid.UUID, org: uuid.UUID, actor: str) -> Key:
    """The key opens nothing any more. Revoking it again changes nothing."""
    row = await tx.row(SQL.revoke_key, {"id": id, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no key {id}")
    key = Key(*row)
    await _journal(tx, key, actor=actor, action="key.revoke")
    return key


async def find(tx: Tx, text: str) -> Found | None:
    """Whom a key's text stands for; Unauthenticated, with the reason, if it was revoked or has expired."""
    row = await tx.row(SQL.find_key, {"hash": hashed(text)})
    if row is None:
        return None
    id, org, name, role, revoked, expired, stale, suspended, scopes, *rates = row
    if revoked:
        raise errors.Unauthenticated("the key was revoked; ask an admin of your org for a new one")
    if expired:
        raise errors.Unauthenticated("the key has expired; ask an admin of your org for a new one")
    if suspended:
        raise errors.Unauthenticated("the key's org is suspended; ask whoever runs this server")
    own, orgs = principal.rate(*rates[:2]), principal.rate(*rates[2:])
    who = Principal(
        org=org, actor=f"key:{name}", role=role, scopes=frozenset(scopes), key=id, rate=own, org_rate=orgs
    )  # fmt: skip
    return Found(id, who, stale)


async def stands(tx: Tx, id: uuid.UUID) -> bool:
    """Whether a key still opens something."""
    return bool(await tx.value(SQL.key_stands, {"id": id}))


async def touch(tx: Tx, id: uuid.UUID) -> None:
    """Writes down that a key is used, at most once a minute."""
    await tx.run(SQL.touch_key, {"id": id})


async def exist(tx: Tx) -> bool:
    """Whether anybody has a key that opens something."""
    return bool(await tx.value(SQL.any_key))


def hashed(text: str) -> bytes:
    """A key is 256 random bits, so a plain hash hides it as well as a slow one would."""
    return hashlib.sha256(text.encode()).digest()


def _scopes(scopes: Sequence[str]) -> list[str]:
    if len(scopes) > MOST_SCOPES:
        raise errors.InvalidInput(f"a key has at most {MOST_SCOPES} scopes")
    for one in scopes:
        if not isinstance(one, str) or not _SCOPE.fullmatch(one):
            raise errors.InvalidInput(f"{str(one)[:80]!r} is not a scope; write an action such as task.read, or task.*")
    return sorted(set(scopes))


def _rate(value: int | None) -> int | None:
    if value is not None and not 1 <= value <= MOST_RATE:
        raise errors.InvalidInput(f"requests a second must be from 1 to {MOST_RATE:,}, not {value}")
    return value


async def _journal(tx: Tx, key: Key, *, actor: str, action: str) -> None:
    await record.record(
        tx, org_id=key.org_id, actor=actor, action=action, object_type="key", object_id=str(key.id),
        after={"name": key.name, "role": key.role, "scopes": key.scopes},
    )  # fmt: skip
