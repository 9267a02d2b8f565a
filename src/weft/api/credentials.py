"""From the Authorization header to a `Principal`.

Keys are looked up by hash, in one indexed query; tokens of the configured issuer are verified and their subject is looked
up. Either is remembered for a second: a key that is revoked, a user who is removed is refused everywhere within that
second, and a busy client costs one look-up a second rather than one a request.
"""

import time
from collections.abc import Awaitable, Callable, Mapping

from weft.access import jwt, keys, oidc
from weft.access.oidc import Issuer
from weft.access.principal import Principal
from weft.base import errors
from weft.base.memory import Memory
from weft.db.database import Database

REMEMBERED = 1.0
"""Seconds until a credential is looked up again, and so how long a revoked one may still work."""

MOST = 4096
_LONGEST = jwt.LONGEST
_HOW = "send `Authorization: Bearer weft_…` with a key made by `weft key create`"

Resolver = Callable[[str], Awaitable[Principal]]
"""From a credential's text to whom it stands for; Unauthenticated if to nobody."""


class Credentials:
    """Who is asking. One per server; `schemes` adds prefixes of credentials that are no keys, `issuer` those of users."""

    def __init__(
        self, database: Database, *, schemes: Mapping[str, Resolver] | None = None, issuer: Issuer | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._database = database
        self._issuer = issuer
        self._schemes: dict[str, Resolver] = {
            keys.API_PREFIX: self._key, keys.WORKER_PREFIX: self._key, **(schemes or {})
        }  # fmt: skip
        self._known: Memory[bytes, Principal] = Memory(seconds=REMEMBERED, most=MOST, clock=clock)

    async def principal(self, authorization: str | None) -> Principal:
        """Whom the header's credential stands for; Unauthenticated, saying what is wrong, if to nobody."""
        if not authorization:
            raise errors.Unauthenticated(f"no credential was given; {_HOW}")
        scheme, _, text = authorization.partition(" ")
        text = text.strip()
        if scheme.lower() != "bearer" or not text or len(text) > _LONGEST:
            raise errors.Unauthenticated(f"the Authorization header is not understood; {_HOW}")
        resolve = self._schemes.get(text[: text.find("_") + 1])
        if resolve is None and self._issuer is not None and jwt.looks_like_one(text):
            resolve = self._token
        if resolve is None:
            raise errors.Unauthenticated(f"the credential is not one of ours; {_HOW}")
        return await resolve(text)

    async def _key(self, text: str) -> Principal:
        asked, which = self._known.now(), keys.hashed(text)
        if (known := self._known.get(which)) is not None:
            return known
        # the engine, because the org is what we are asking for
        async with self._database.once() as tx:
            found = await keys.find(tx, text)
        if found is None:
            raise errors.Unauthenticated(f"the key is not known; {_HOW}")
        if found.stale:
            async with self._database.once() as tx:
                await keys.touch(tx, found.id)
        return self._known.keep(which, found.principal, asked=asked)

    async def _token(self, text: str) -> Principal:
        assert self._issuer is not None
        asked, which = self._known.now(), keys.hashed(text)
        if (known := self._known.get(which)) is not None:
            return known
        proven = await self._issuer.known(text)
        async with self._database.once() as tx:
            found = await oidc.find(tx, proven, leeway=self._issuer.oidc.leeway)
        return self._known.keep(which, found, asked=asked)
