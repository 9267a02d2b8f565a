"""One small statement with as little Python around it as can be: for calls that users make one by one and wait for.

The driver takes a statement apart, finds a dumper for each value, waits in a generator and finds a loader for each
answer; that is most of what an enqueue costs its caller. Here values are text, the statement is prepared once per
connection, and one row of text comes back. Whoever is cancelled in the middle loses the connection, not its order:
a half-read answer must not be the next caller's.
"""

import asyncio
import datetime as dt
import functools
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg import pq
from psycopg.rows import TupleRow

from weft.db import arrays

_PARAMETER = re.compile(r"%\((\w+)\)s")
_FINE = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)


class Lean:
    """A statement as libpq takes it. Every parameter must say its type in the text: `%(kind)s::text`."""

    def __init__(self, name: str, text: str) -> None:
        self.source = text
        self.name = f"weft_{name}".encode()
        numbered_text, self.parameters = numbered(text)
        self.text = numbered_text.encode()

    def values(self, arguments: Mapping[str, Any]) -> list[bytes | None]:
        return [_text(arguments[parameter]) for parameter in self.parameters]


@functools.cache
def numbered(text: str) -> tuple[str, tuple[str, ...]]:
    """A statement of ours with its parameters as the server counts them, and their names in that order."""
    names = tuple(dict.fromkeys(_PARAMETER.findall(text)))
    places = {name: f"${number}" for number, name in enumerate(names, 1)}
    return _PARAMETER.sub(lambda found: places[found[1]], text).replace("%%", "%"), names


def fits(connection: "psycopg.AsyncConnection[TupleRow]") -> bool:
    """Whether it can be done so: not through a pooler, which prepares nothing, and not inside a transaction, which a
    statement that turns out not to be prepared any more would spoil."""
    return connection.prepare_threshold is not None and connection.pgconn.transaction_status == pq.TransactionStatus.IDLE


async def row(
    connection: "psycopg.AsyncConnection[TupleRow]", statement: Lean, arguments: Mapping[str, Any]
) -> list[str | None]:
    """The one row it answers. Only if it `fits`."""
    wire = connection.pgconn
    values = statement.values(arguments)
    prepared: set[bytes] = connection.__dict__.setdefault("weft_lean", set())
    if statement.name in prepared:
        try:
            return await _ask(wire, statement, values)
        except psycopg.errors.InvalidSqlStatementName:
            # the driver forgets all that is prepared after a rollback, ours too; nothing was done
            prepared.clear()
    wire.send_prepare(statement.name, statement.text)
    await _answer(wire)
    prepared.add(statement.name)
    return await _ask(wire, statement, values)


async def _ask(wire: pq.abc.PGconn, statement: Lean, values: Sequence[bytes | None]) -> list[str | None]:
    wire.send_query_prepared(statement.name, values)
    found = await _answer(wire)
    return [_said(found.get_value(0, column)) for column in range(found.nfields)]


async def _answer(wire: pq.abc.PGconn) -> pq.abc.PGresult:
    """Waits for the answer to what was sent; raises the server's error."""
    answer: pq.abc.PGresult | None = None
    try:
        loop = asyncio.get_running_loop()
        while wire.flush():
            await _ready(loop.add_writer, loop.remove_writer, wire.socket)
        while (result := await _next(wire)) is not None:
            answer = result if answer is None else answer
    except asyncio.CancelledError:
        wire.finish()
        raise
    if answer is None:
        raise psycopg.OperationalError("the connection was lost while it was waited for an answer")
    if answer.status not in _FINE:
        raise psycopg.errors.error_from_result(answer)
    return answer


async def _next(wire: pq.abc.PGconn) -> pq.abc.PGresult | None:
    """The next result, or None at their end. That end is waited for as well: it may arrive later than the result, and
    libpq would wait for it without the loop, with everybody else."""
    loop = asyncio.get_running_loop()
    while wire.is_busy():
        await _ready(loop.add_reader, loop.remove_reader, wire.socket)
        wire.consume_input()
    return wire.get_result()


async def _ready(add: Any, remove: Any, socket: int) -> None:
    """Until the socket can be read from, or written to."""
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    add(socket, _wake, ready)
    try:
        await ready
    finally:
        remove(socket)


def _wake(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)


def _said(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _text(value: Any) -> bytes | None:
    """A value as PostgreSQL reads it."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, uuid.UUID | int):
        return str(value).encode()
    if isinstance(value, dt.datetime):
        return value.isoformat().encode()
    if isinstance(value, dt.timedelta):
        return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds".encode()
    if isinstance(value, Sequence):
        return (arrays.quoted(list(value)) or "{}").encode()
    raise TypeError(f"{type(value).__name__} cannot be sent so")
