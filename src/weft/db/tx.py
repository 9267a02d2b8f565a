"""A transaction (or a single statement's worth of one) as the folders above see it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec
import psycopg
from psycopg import errors as pg
from psycopg.rows import TupleRow

from weft.base import errors
from weft.db import lean
from weft.db.lean import Lean

_LONG = 4096
"""Statements longer than this the driver takes apart each time anew: a millisecond for every advance of a run."""


class Tx:
    """Runs named statements on one connection. Rows are tuples; a store turns them into models."""

    __slots__ = ("_begins", "_quick", "connection")

    def __init__(self, connection: "psycopg.AsyncConnection[TupleRow]", *, begins: bool = False) -> None:
        """`begins`: it is a transaction, but the server does not know yet."""
        self.connection = connection
        self._begins, self._quick = begins, False

    async def rows(self, statement: str, params: Mapping[str, Any] | None = None) -> Sequence[TupleRow]:
        cursor = await self._execute(statement, params)
        with _reading:
            return await cursor.fetchall()

    async def row(self, statement: str, params: Mapping[str, Any] | None = None) -> TupleRow | None:
        cursor = await self._execute(statement, params)
        with _reading:
            return await cursor.fetchone()

    async def value(self, statement: str, params: Mapping[str, Any] | None = None) -> Any:
        """The first column of the first row, or None."""
        found = await self.row(statement, params)
        return None if found is None else found[0]

    async def together(
        self, asked: "Sequence[tuple[Lean, Mapping[str, Any]]]", *, ends: bool = False
    ) -> "list[Sequence[TupleRow]]":
        """What several statements answer, each as if it had been asked alone, in one round trip if they are the first of a
        transaction that waits for nothing. `ends`: they are its last, and may commit it."""
        if not self._quick and not (self._begins and lean.fits(self.connection)):
            return [await self.rows(statement.source, arguments) for statement, arguments in asked]
        begins, self._begins, self._quick = self._begins, False, True
        try:
            with _reading:
                return [*await lean.together(self.connection, asked, begins=begins, ends=ends)]
        except psycopg.Error as error:
            raise translate(error) from error

    async def lean(self, statement: Lean, arguments: Mapping[str, Any]) -> Sequence[Any]:
        """The one row of a small statement, as text: the quick way if it fits, else as usual."""
        if not lean.fits(self.connection):
            found = await self.row(statement.source, arguments)
            assert found is not None
            return [None if value is None else str(value) for value in found]
        try:
            return await lean.row(self.connection, statement, arguments)
        except psycopg.Error as error:
            raise translate(error) from error

    async def lean_rows(self, statement: Lean, arguments: Mapping[str, Any]) -> Sequence[TupleRow]:
        """The rows of a statement that somebody waits for, the quick way if it fits."""
        if not lean.fits(self.connection):
            return await self.rows(statement.source, arguments)
        try:
            with _reading:
                return await lean.rows(self.connection, statement, arguments)
        except psycopg.Error as error:
            raise translate(error) from error

    async def dicts(
        self, statement: str, params: Mapping[str, Any] | None = None, *, most: int
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Rows by the names of their columns, no more than so many: for statements that are not ours."""
        cursor = await self._execute(statement, params)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in await cursor.fetchmany(most)]

    async def run(self, statement: str, params: Mapping[str, Any] | None = None) -> int:
        """Runs a statement for its effect; answers how many rows it touched."""
        cursor = await self._execute(statement, params)
        return cursor.rowcount

    async def sent(self) -> None:
        """Until what somebody else has asked on this connection is on its way: a long statement takes several turns."""
        await asyncio.sleep(0)
        while self.connection.pgconn.flush():
            await asyncio.sleep(0)

    @contextlib.asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """A part that can fail without the rest: what raises in it is undone, and nothing else. One for a batch, not for
        each of many."""
        await self._begin()
        async with self.connection.transaction():
            yield

    async def _execute(self, statement: str, params: Mapping[str, Any] | None) -> psycopg.AsyncCursor[TupleRow]:
        try:
            if self._begins:
                await self._begin()
            if len(statement) > _LONG and params is not None:
                text, names = lean.numbered(statement)
                return await psycopg.AsyncRawCursor(self.connection).execute(text, [params[name] for name in names])
            return await self.connection.execute(statement, params)
        except psycopg.Error as error:
            raise translate(error) from error

    async def _begin(self) -> None:
        if self._begins:
            self._begins = False
            await self.connection.execute("begin")


class _Reading:
    """What the server has and Python has no word for: a time after the year 9999, a number that is no double."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _trace: object) -> None:
        # not what the server says of a statement, which has a code
        if isinstance(error, psycopg.DataError | msgspec.DecodeError) and getattr(error, "sqlstate", None) is None:
            raise errors.DatabaseError(f"what is stored cannot be read: {error}") from error


_reading = _Reading()


def translate(error: psycopg.Error) -> errors.WeftError:
    """The driver's error in our words; what callers may act on keeps its meaning."""
    if isinstance(error, pg.RaiseException | pg.CheckViolation | pg.InvalidParameterValue | pg.DataError):
        return errors.InvalidInput(_first_line(error), sqlstate=error.sqlstate)
    if isinstance(error, pg.NoDataFound):
        return errors.NotFound(_first_line(error), sqlstate=error.sqlstate)
    if isinstance(error, pg.UndefinedTable | pg.UndefinedFunction | pg.InvalidSchemaName | pg.UndefinedColumn):
        return errors.MigrationError(
            f"the database lacks something this version needs ({_first_line(error)}); run `weft migrate up`"
        )
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return errors.Unavailable(_first_line(error), sqlstate=error.sqlstate)
    return errors.DatabaseError(_first_line(error), sqlstate=error.sqlstate)


def _first_line(error: psycopg.Error) -> str:
    message = error.diag.message_primary or str(error)
    return message.strip().splitlines()[0] if message.strip() else type(error).__name__
