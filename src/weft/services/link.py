"""What all DAOs of a connection share: the database, the org, and a loop in a thread that runs their calls."""

import asyncio
import contextlib
import threading
import uuid
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any, TypeVar

import msgspec

from weft.base import config, errors
from weft.db.tx import Tx
from weft.parts.connected import Connected

T = TypeVar("T")

ACTOR = "dao"
MOST = 100_000
"""Entities that one call answers; of more it says so, and leaves none out silently."""


class Link:
    """Connects with the first call."""

    def __init__(self, settings: config.Settings, *, org: uuid.UUID) -> None:
        self.org = org
        self.most = MOST
        self._connected = Connected(settings)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = threading.Lock()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for it, wherever the caller is."""
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="weft services", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        loop = self._loop
        if loop is not None:
            self.run(self._connected.close())
            self._loop = None
            loop.call_soon_threadsafe(loop.stop)

    @contextlib.asynccontextmanager
    async def writing(self) -> AsyncIterator[Tx]:
        """As the system, in the org."""
        async with (await self._connected.open()).tx(org=self.org, engine=True) as tx:
            yield tx

    def read(self, statement: str, arguments: Mapping[str, Any], *, type: type[T]) -> list[T]:
        """Entities, as the org may see them."""

        async def rows() -> list[dict[str, Any]]:
            async with (await self._connected.open()).tx(org=self.org) as tx:
                return await tx.dicts(statement, {**arguments, "most": self.most + 1}, most=self.most + 1)

        found = self.run(rows())
        if len(found) > self.most:
            raise errors.TooLarge(f"there are more than {self.most:,} of them; read the views of schema afl in parts")
        return [msgspec.convert(row, type) for row in found]

    def one(self, statement: str, arguments: Mapping[str, Any], *, type: type[T]) -> T | None:
        found = self.read(statement, arguments, type=type)
        return found[0] if found else None


def id_of(text: str) -> uuid.UUID | None:
    """None for what can be no id of ours: there is nothing of that id, then."""
    try:
        return uuid.UUID(text)
    except (ValueError, AttributeError, TypeError):
        return None


def must_be(text: str, *, what: str) -> uuid.UUID:
    found = id_of(text)
    if found is None:
        raise errors.NotFound(f"there is no {what} {text!r}; ids are UUIDs")
    return found


def illegal(what: str, before: str, wanted: str) -> errors.Conflict:
    return errors.Conflict(f"a {what} that is {before} cannot become {wanted}")
