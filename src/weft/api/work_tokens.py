"""Signing and verifying task tokens, with the keys of the database remembered for a while.

A token is worth no more than the worker key it was claimed with: when that is revoked, so are its tokens, within a second.
"""

import asyncio
import time
import uuid

from weft.access import keys as access
from weft.access.principal import Principal
from weft.api import credentials
from weft.base import errors
from weft.base.memory import Memory
from weft.db.database import Database
from weft.queue import signing, tokens
from weft.queue.signing import Clock
from weft.queue.tokens import Keys, Proof

_REMEMBERED = 60.0
_AGAIN = 1.0
"""Seconds until a token of an unknown key makes us look again: another server may have made the key just now."""


class Tokens:
    """One per server."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._loading = asyncio.Lock()
        self._loaded = -float("inf")
        self._keys: Keys | None = None
        self._clock: Clock | None = None
        self._stood: Memory[str, bool] = Memory(seconds=credentials.REMEMBERED, most=credentials.MOST)

    async def ready(self) -> Keys:
        """The keys as they are, or were a moment ago."""
        if self._keys is None or time.monotonic() - self._loaded > _REMEMBERED:
            await self._load(older=_REMEMBERED)
        assert self._keys is not None
        return self._keys

    async def verify(self, token: str) -> Proof:
        """What a token proves; Unauthenticated if nothing."""
        keys = await self.ready()
        try:
            proof = keys.verify(token, now=self.now())
        except tokens.UnknownKey:
            await self._load(older=_AGAIN)
            proof = (await self.ready()).verify(token, now=self.now())
        if proof.by is not None:
            await self._must_stand(proof.by)
        return proof

    async def principal(self, token: str) -> Principal:
        """Whom a token stands for: a worker in the middle of one task."""
        proof = await self.verify(token)
        return Principal(org=uuid.UUID(proof.org), actor=f"task:{proof.task}", role="attempt")

    async def _must_stand(self, key: str) -> None:
        """Unauthenticated if the key was revoked or has expired; looked up once a second, however many tokens it has."""
        asked = self._stood.now()
        if self._stood.get(key):
            return
        async with self._database.once() as tx:
            if not await access.stands(tx, uuid.UUID(key)):
                raise errors.Unauthenticated("the key this task was claimed with was revoked or has expired")
        self._stood.keep(key, True, asked=asked)

    def now(self) -> float:
        """The database's time, in seconds since 1970."""
        assert self._clock is not None
        return self._clock.now()

    async def _load(self, *, older: float) -> None:
        async with self._loading:
            if self._keys is None or time.monotonic() - self._loaded > older:
                # the engine: nobody else may read the keys
                async with self._database.tx() as tx:
                    self._keys, self._clock = await signing.load(tx)
                self._loaded = time.monotonic()
