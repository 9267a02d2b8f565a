"""What an org's webhooks are signed with: made when first asked for, sealed as secrets are.

An installation without a key ring sends webhooks too; their keys then lie in the database as they are, readable by the
engine alone, until `weft secret rotate` finds a ring to seal them with.
"""

import secrets
import uuid

from weft.access.keyring import Box, Keyring
from weft.base import errors
from weft.db import statements
from weft.db.tx import Tx

SQL = statements.load("weft.access")

BATCH = 100
_BYTES = 32


async def get(tx: Tx, ring: Keyring | None, *, org: uuid.UUID) -> bytes:
    """The org's key; NoSecretKey if it is sealed and there is nothing to open it with."""
    row = await tx.row(SQL.webhook_key, {"org_id": org})
    if row is None:
        await tx.run(SQL.first_webhook_key, _columns(ring, org, secrets.token_bytes(_BYTES)))
        row = await tx.row(SQL.webhook_key, {"org_id": org})
        assert row is not None
    return _opened(ring, org, *row)


async def forget(tx: Tx, *, org: uuid.UUID) -> None:
    """The next webhook is signed with a new one."""
    await tx.run(SQL.forget_webhook_key, {"org_id": org})


async def rotate(tx: Tx, ring: Keyring, *, take: int = BATCH) -> int:
    """Seals a batch anew with the current key, those too that were not sealed; answers how many."""
    rows = await tx.rows(SQL.webhook_keys_to_rotate, {"known": ring.ids, "current": ring.current, "take": take})
    for org, *row in rows:
        await tx.run(SQL.reseal_webhook_key, _columns(ring, org, _opened(ring, org, *row)))
    return len(rows)


def _columns(ring: Keyring | None, org: uuid.UUID, key: bytes) -> dict[str, object]:
    if ring is None:
        return {"org_id": org, "secret": key, "key_id": None, "nonce": None}
    box = ring.seal(key.hex(), about=_about(org))
    return {"org_id": org, "secret": box.sealed, "key_id": box.key_id, "nonce": box.nonce}


def _opened(ring: Keyring | None, org: uuid.UUID, secret: bytes, key_id: str | None, nonce: bytes | None) -> bytes:
    if key_id is None or nonce is None:
        return bytes(secret)
    if ring is None:
        raise errors.NoSecretKey(f"the webhooks' key is sealed with {key_id}, and this process has no ring to open it with")
    return bytes.fromhex(ring.open(Box(key_id, bytes(nonce), bytes(secret)), about=_about(org)))


def _about(org: uuid.UUID) -> str:
    return f"weft webhook key\0{org}"
