"""Telling whether a pooler stands between us and PostgreSQL.

A connection is promised the number of its server process when it begins. A pooler promises one of its own making,
because which process will serve is not decided yet.
"""

import psycopg
from psycopg.rows import TupleRow

from weft.base import errors

Connection = psycopg.AsyncConnection[TupleRow]


async def between(connection: Connection) -> bool:
    """Whether something other than PostgreSQL answers this connection."""
    cursor = await connection.execute("select pg_backend_pid()")
    found = await cursor.fetchone()
    return found is not None and found[0] != connection.info.backend_pid


def refuses_settings(error: errors.WeftError) -> bool:
    """Whether a connection failed because it brought session settings, which PgBouncer does not take."""
    return "unsupported startup parameter" in error.message
