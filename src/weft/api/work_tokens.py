"""Signing and verifying task tokens, with the keys of the database remembered for a while."""

import asyncio
import time
import uuid

from weft.access.principal import Principal
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
            return keys.verify(token, now=self.now())
        except tokens.UnknownKey:
            await self._load(older=_AGAIN)
            return (await self.ready()).verify(token, now=self.now())

    async def principal(self, token: str) -> Principal:
        """Whom a token stands for: a worker in the middle of one task."""
        proof = await self.verify(token)
        return Principal(org=uuid.UUID(proof.org), actor=f"task:{proof.task}", role="attempt")

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
