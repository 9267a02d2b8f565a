"""A bystander with a connection of its own that it keeps: looking often must not load what it looks at."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any, Self

import psycopg

PAUSE = 0.02


class Eyes:
    """Asks again and again on one connection, and on a new one if that broke."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.AsyncConnection[tuple[Any, ...]] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._drop()

    async def rows(self, statement: str, *arguments: Any) -> list[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = await psycopg.AsyncConnection.connect(
                self._url, autocommit=True, connect_timeout=10, options="-c statement_timeout=30s"
            )
        try:
            cursor = await self._connection.execute(statement, arguments)  # type: ignore[arg-type]
            return await cursor.fetchall()
        except BaseException:
            await self._drop()
            raise

    async def value(self, statement: str, *arguments: Any) -> Any:
        return (await self.rows(statement, *arguments))[0][0]

    async def until(
        self, statement: str, *arguments: Any, so: Callable[[Any], bool] = bool, within: float = 60.0, pause: float = PAUSE
    ) -> Any:
        """The first value that is so. A server that is away is waited for, too."""
        deadline = time.monotonic() + within
        found: Any = None
        while True:
            with contextlib.suppress(psycopg.OperationalError):
                found = await self.value(statement, *arguments)
                if so(found):
                    return found
            assert time.monotonic() < deadline, f"not so within {within} s: {statement} is {found}"
            await asyncio.sleep(pause)

    async def _drop(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()
