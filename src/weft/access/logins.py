"""Sessions of browsers: opened with a key or a user's token, kept in a cookie, found again by its hash.

A session may what its key or its user may at that moment: revoking the key or removing the user ends it.
"""

import dataclasses
import datetime as dt
import secrets
import uuid

from weft.access import keys, principal, roles
from weft.access.principal import Principal
from weft.base import errors, ids
from weft.db import statements
from weft.db.tx import Tx
from weft.journal import record

SQL = statements.load("weft.access")

LASTS = dt.timedelta(hours=12)
"""After which a browser must log in again."""
KEPT = dt.timedelta(days=30)
"""How long a session that has ended is still on record."""
BATCH = 1000
_AGAIN = "log in again"
_LONGEST_AGENT = 200


@dataclasses.dataclass(frozen=True)
class Login:
    """A session as people see it, which is without what is in its cookie."""

    id: uuid.UUID
    org_id: uuid.UUID
    actor: str
    agent: str
    created_at: dt.datetime
    expires_at: dt.datetime
    revoked_at: dt.datetime | None


async def open(tx: Tx, who: Principal, *, agent: str = "", lasts: dt.timedelta = LASTS) -> tuple[Login, str]:
    """A new session and the text of its cookie, which nobody can read again."""
    text = secrets.token_urlsafe(32)
    row = await tx.row(
        SQL.insert_login,
        {
            "org_id": who.org, "hash": keys.hashed(text), "key_id": who.key, "user_id": who.user, "actor": who.actor,
            "agent": "".join(one for one in agent[:_LONGEST_AGENT] if one.isprintable()), "lasts": lasts,
        },
    )  # fmt: skip
    assert row is not None  # an insert answers its row
    made = Login(*row)
    await _journal(tx, made, actor=who.actor, action="session.open")
    return made, text


async def find(tx: Tx, text: str) -> Principal:
    """Whom a cookie stands for; Unauthenticated, with the reason, if to nobody any more."""
    row = await tx.row(SQL.find_login, {"hash": keys.hashed(text)})
    if row is None:
        raise errors.Unauthenticated(f"the session is not known; {_AGAIN}")
    id, org, ended, suspended, shut, key, name, role, scopes, rate, burst, user, *rest = row
    if ended:
        raise errors.Unauthenticated(f"the session has ended; {_AGAIN}")
    if suspended:
        raise errors.Unauthenticated("the session's org is suspended; ask whoever runs this server")
    if shut:
        raise errors.Unauthenticated("the key that opened the session was revoked or has expired; log in with another")
    if key is not None:
        return Principal(
            org=org, actor=f"key:{name}", role=role, scopes=frozenset(scopes), key=key, session=id,
            rate=principal.rate(rate, burst), org_rate=principal.rate(*rest[-2:]),
        )  # fmt: skip
    subject, email, user_role, slugs, *org_rate = rest
    return Principal(
        org=org, actor=f"user:{email or subject}", role=user_role, user=user, session=id, org_rate=principal.rate(*org_rate),
        org_roles=frozenset(f"{roles.PREFIX}{slug}" for slug in slugs),
    )  # fmt: skip


async def page(
    tx: Tx, *, org: uuid.UUID, actor: str | None, before: uuid.UUID | None = None, take: int = 50
) -> list[Login]:
    """Open sessions, newest first; of one actor, or of all."""
    arguments = {"org_id": org, "actor": actor, "before": before or ids.NEWEST, "take": take}
    return [Login(*row) for row in await tx.rows(SQL.list_logins, arguments)]


async def revoke(tx: Tx, *, id: uuid.UUID, org: uuid.UUID, by: str, of: str | None) -> Login:
    """The session opens nothing any more; `of`: only if it is theirs. Ending it again changes nothing."""
    row = await tx.row(SQL.revoke_login, {"id": id, "org_id": org, "actor": of})
    if row is None:
        raise errors.NotFound(f"there is no session {id}")
    ended = Login(*row)
    await _journal(tx, ended, actor=by, action="session.end")
    return ended


async def of_cookie(tx: Tx, text: str) -> uuid.UUID | None:
    """The id of the session whose cookie says this."""
    found: uuid.UUID | None = await tx.value(SQL.login_of, {"hash": keys.hashed(text)})
    return found


async def prune(tx: Tx, *, older: dt.timedelta = KEPT, take: int = BATCH) -> int:
    """Forgets sessions that ended long ago; answers how many."""
    return await tx.run(SQL.prune_logins, {"older": older, "take": take})


async def _journal(tx: Tx, login: Login, *, actor: str, action: str) -> None:
    await record.record(
        tx, org_id=login.org_id, actor=actor, action=action, object_type="session", object_id=str(login.id),
        after={"actor": login.actor, "expires_at": login.expires_at.isoformat()},
    )  # fmt: skip
