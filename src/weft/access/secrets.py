"""Secrets: put, listed without their values, opened for an execution, sealed anew when keys rotate."""

import dataclasses
import datetime as dt
import re
import uuid
from collections.abc import Collection
from typing import Any

from weft.access.keyring import Box, Keyring
from weft.base import crash, errors, ids, references
from weft.db import statements
from weft.db.tx import Tx
from weft.journal import record

SQL = statements.load("weft.access")

BATCH = 100
SHORTEST = 8
"""Characters. What is shorter cannot be kept out of logs without blacking out ordinary text."""
LONGEST = 64 * 1024
"""Bytes."""

_NAME = re.compile(references.NAME)


@dataclasses.dataclass(frozen=True)
class Secret:
    """A secret as people see it, which is without its value."""

    name: str
    version: int
    remote: bool
    """Workers over HTTP may be given it."""
    created_at: dt.datetime
    updated_at: dt.datetime
    updated_by: str


async def put(
    tx: Tx, ring: Keyring, *, org: uuid.UUID, name: str, value: str, actor: str, remote: bool | None = None
) -> Secret:
    """Keeps a value under a name, in place of the one before. `remote` None: as it was, at first no."""
    check(name)
    if len(value) < SHORTEST:
        raise errors.InvalidInput(
            f"the value of {name} has fewer than {SHORTEST} characters; so short a text cannot be kept out of logs"
        )
    if len(value.encode("utf-8", "surrogatepass")) > LONGEST or "\0" in value:
        raise errors.InvalidInput(f"the value of {name} must be at most {LONGEST:,} bytes of text without NUL")
    box = ring.seal(value, about=_about(org, name))
    row = await tx.row(
        SQL.put_secret,
        {"org_id": org, "name": name, "key_id": box.key_id, "nonce": box.nonce, "sealed": box.sealed, "remote": remote,
         "actor": actor},
    )  # fmt: skip
    assert row is not None  # an upsert answers its row
    secret = Secret(*row)
    before = None if secret.version == 1 else {"version": secret.version - 1}
    await _journal(tx, secret, org=org, actor=actor, action="secret.put", before=before, after=_told(secret))
    return secret


async def page(tx: Tx, *, org: uuid.UUID, after: str = "", take: int = 50) -> list[Secret]:
    """An org's secrets by name."""
    return [Secret(*row) for row in await tx.rows(SQL.list_secrets, {"org_id": org, "after": after, "take": take})]


async def delete(tx: Tx, *, org: uuid.UUID, name: str, actor: str) -> None:
    row = await tx.row(SQL.delete_secret, {"org_id": org, "name": check(name)})
    if row is None:
        raise errors.NotFound(f"there is no secret {name!r}")
    secret = Secret(*row)
    await _journal(tx, secret, org=org, actor=actor, action="secret.delete", before=_told(secret), after=None)


async def opened(
    tx: Tx, ring: Keyring, *, org: uuid.UUID, names: Collection[str], over_http: bool = False
) -> dict[str, str]:
    """The values of these secrets of an org. NotFound or Refused name one that is not there, or not for HTTP."""
    rows = await tx.rows(SQL.sealed_secrets, {"org_id": org, "names": sorted(names)})
    found = {name: (Box(key_id, nonce, sealed), remote) for name, key_id, nonce, sealed, remote in rows}
    for name in sorted(names):
        if name not in found:
            raise errors.NotFound(f"the payload names the secret {name!r}, which the org does not have; set it")
        if over_http and not found[name][1]:
            raise errors.Refused(
                f"the secret {name!r} is not given to workers over HTTP; run the task on a worker that has the database, "
                f"or allow it with `weft secret set {name} --remote`"
            )
    return {name: ring.open(box, about=_about(org, name)) for name, (box, _) in found.items()}


async def rotate(tx: Tx, ring: Keyring, *, actor: str, take: int = BATCH) -> int:
    """Seals a batch anew with the current key; answers how many."""
    rows = await tx.rows(SQL.secrets_to_rotate, {"known": ring.ids, "current": ring.current, "take": take})
    if not rows:
        return 0
    boxes = []
    for _id, org, name, key, nonce, sealed in rows:
        about = _about(org, name)
        boxes.append(ring.seal(ring.open(Box(key, nonce, sealed), about=about), about=about))
    await tx.run(
        SQL.reseal_secrets,
        {"current": ring.current, "ids": [row[0] for row in rows], "nonces": [box.nonce for box in boxes],
         "boxes": [box.sealed for box in boxes]},
    )  # fmt: skip
    await record.record(
        tx, org_id=ids.EVERY_ORG, actor=actor, action="secret.rotate", object_type="secret key", object_id=ring.current,
        after={"count": len(rows)},
    )  # fmt: skip
    crash.point("secret rotation: before commit")
    return len(rows)


async def by_key(tx: Tx) -> dict[str, int]:
    """How many secrets each key seals, of all orgs."""
    return {key: count for key, count in await tx.rows(SQL.secrets_by_key)}


def check(name: str) -> str:
    """The name, if a secret may be called so."""
    if not _NAME.fullmatch(name):
        raise errors.InvalidName(
            f"the secret's name {name[:80]!r} is not valid: a letter or _, then up to 127 letters, digits and any of _ . -"
        )
    return name


def _about(org: uuid.UUID, name: str) -> str:
    return f"weft secret\0{org}\0{name}"


def _told(secret: Secret) -> dict[str, Any]:
    return {"version": secret.version, "remote": secret.remote}


async def _journal(
    tx: Tx, secret: Secret, *, org: uuid.UUID, actor: str, action: str, before: Any, after: Any
) -> None:
    await record.record(
        tx, org_id=org, actor=actor, action=action, object_type="secret", object_id=secret.name, before=before, after=after
    )
