"""Statements on a connection that belongs to somebody else: psycopg (sync or async) or SQLAlchemy (sync or async).

Nothing is committed, no setting is changed, no statement is prepared: the transaction is the caller's.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from weft.base import errors
from weft.db import tx


async def rows(connection: Any, statement: str, params: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
    """Runs a statement on an async or sync connection and answers its rows."""
    try:
        if isinstance(connection, psycopg.AsyncConnection):
            async with connection.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
                await cursor.execute(statement, params, prepare=False)
                return await cursor.fetchall()
        execute = getattr(connection, "exec_driver_sql", None)
        if execute is not None and inspect.iscoroutinefunction(execute):
            return [tuple(row) for row in (await execute(statement, dict(params))).all()]
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
                return cursor.execute(statement, params, prepare=False).fetchall()
        if hasattr(connection, "exec_driver_sql"):
            return [tuple(row) for row in connection.exec_driver_sql(statement, dict(params)).all()]
        if callable(getattr(connection, "connection", None)) and hasattr(connection, "scalars"):
            # SQLAlchemy's Session
            return rows_sync(connection.connection(), statement, params)
    except psycopg.Error as error:
        raise tx.translate(error) from error
    raise errors.InvalidInput(
        f"tx= takes a psycopg or SQLAlchemy connection (or session), not {type(connection).__module__}."
        f"{type(connection).__qualname__}"
    )
