"""Statements on a connection that belongs to somebody else: psycopg (sync or async) or SQLAlchemy (sync or async).

Nothing is committed, no setting is changed, no statement is prepared: the transaction is the caller's.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from weft.base import errors
from weft.db import tx
from weft.db.lean import Lean


class Borrowed(tx.Tx):
    """A transaction on somebody else's connection, for use cases that take a `Tx`. It does not end it."""

    __slots__ = ("_lent",)

    def __init__(self, connection: Any) -> None:
        self._lent = connection

    async def rows(self, statement: str, params: Mapping[str, Any] | None = None) -> Sequence[Any]:
        return await rows(self._lent, statement, params or {})

    async def row(self, statement: str, params: Mapping[str, Any] | None = None) -> Any:
        found = await self.rows(statement, params)
        return found[0] if found else None

    async def lean(self, statement: Lean, arguments: Mapping[str, Any]) -> Sequence[Any]:
        found = await self.row(statement.source, arguments)
        assert found is not None
        return [None if value is None else str(value) for value in found]

    async def lean_rows(self, statement: Lean, arguments: Mapping[str, Any]) -> Sequence[Any]:
        return await self.rows(statement.source, arguments)

    async def together(
        self, asked: Sequence[tuple[Lean, Mapping[str, Any]]], *, ends: bool = False
    ) -> list[Sequence[Any]]:  # fmt: skip
        return [await self.rows(statement.source, arguments) for statement, arguments in asked]

    async def run(self, statement: str, params: Mapping[str, Any] | None = None) -> int:
        return len(await self.rows(statement, params))


async def rows(connection: Any, statement: str, params: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
    """Runs a statement on an async or sync connection and answers its rows."""
    try:
        if isinstance(connection, psycopg.AsyncConnection):
            async with connection.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
                await cursor.execute(statement, params, prepare=False)
                return await cursor.fetchall() if cursor.description else []
        execute = getattr(connection, "exec_driver_sql", None)
        if execute is not None and inspect.iscoroutinefunction(execute):
            found = await execute(statement, dict(params))
            return [tuple(row) for row in found.all()] if found.returns_rows else []
        if hasattr(connection, "run_sync") and hasattr(connection, "connection"):
            # SQLAlchemy's AsyncSession
            return await rows(await connection.connection(), statement, params)
    except psycopg.Error as error:
        raise tx.translate(error) from error
    return rows_sync(connection, statement, params)


def rows_sync(connection: Any, statement: str, params: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
    """The same on a sync connection."""
    try:
        if isinstance(connection, psycopg.Connection):
            with connection.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
                cursor.execute(statement, params, prepare=False)
                return cursor.fetchall() if cursor.description else []
        if hasattr(connection, "exec_driver_sql"):
            found = connection.exec_driver_sql(statement, dict(params))
            return [tuple(row) for row in found.all()] if found.returns_rows else []
        if callable(getattr(connection, "connection", None)) and hasattr(connection, "scalars"):
            # SQLAlchemy's Session
            return rows_sync(connection.connection(), statement, params)
    except psycopg.Error as error:
        raise tx.translate(error) from error
    raise errors.InvalidInput(
        f"tx= takes a psycopg or SQLAlchemy connection (or session), not {type(connection).__module__}."
        f"{type(connection).__qualname__}"
    )
