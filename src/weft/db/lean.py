"""One small statement with as little Python around it as can be: for calls that users make one by one and wait for.

The driver takes a statement apart, finds a dumper for each value, waits in a generator and finds a loader for each
answer; that is most of what an enqueue costs its caller. Here values are text, the statement is prepared once per
connection, and one row of text comes back, or rows as the driver reads them. Whoever is cancelled in the middle loses the
connection, not its order: a half-read answer must not be the next caller's.
"""

import datetime as dt
import functools
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.rows import TupleRow

from weft.db import arrays, wire

_PARAMETER = re.compile(r"%\((\w+)\)s")


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


_BEGIN, _COMMIT = Lean("begin", "begin"), Lean("commit", "commit")
_NOTHING: dict[str, Any] = {}
_PRINTED = uuid.UUID | int


def fits(connection: "psycopg.AsyncConnection[TupleRow]") -> bool:
    """Whether it can be done so: not through a pooler, which prepares nothing, and not inside a transaction, which a
    statement that turns out not to be prepared any more would spoil."""
    return connection.prepare_threshold is not None and connection.pgconn.transaction_status == pq.TransactionStatus.IDLE


def knows(connection: "psycopg.AsyncConnection[TupleRow]", statement: Lean) -> bool:
    """Whether it is prepared there, so far as we know."""
    return statement.name in _prepared(connection)


async def row(
    connection: "psycopg.AsyncConnection[TupleRow]", statement: Lean, arguments: Mapping[str, Any]
) -> list[str | None]:
    """The one row it answers, as text. Only if it `fits`."""
    found = await _asked(connection, statement, arguments)
    return [_said(found.get_value(0, column)) for column in range(found.nfields)]


async def rows(
    connection: "psycopg.AsyncConnection[TupleRow]", statement: Lean, arguments: Mapping[str, Any]
) -> list[tuple[Any, ...]]:
    """All rows it answers, as the driver reads them. Only if it `fits`."""
    return _loaded(connection, await _asked(connection, statement, arguments))


async def together(
    connection: "psycopg.AsyncConnection[TupleRow]", asked: "Sequence[tuple[Lean, Mapping[str, Any]]]", *,
    begins: bool, ends: bool,
) -> list[list[tuple[Any, ...]]]:  # fmt: skip
    """What several statements answer, in one round trip: those that a transaction begins with, or ends with, or both. Each
    sees what is committed when its turn comes. To begin one, it must `fit`."""
    said = [(_BEGIN, _NOTHING)] * begins + list(asked) + [(_COMMIT, _NOTHING)] * ends
    try:
        found = await _pipelined(connection, said)
    except psycopg.errors.InvalidSqlStatementName:
        if not begins:
            raise
        # see `_asked`; not by the driver, who would forget all of it once more
        _prepared(connection).clear()
        connection.pgconn.send_query(b"rollback")
        await wire.answer(connection)
        found = await _pipelined(connection, said)
    return [_loaded(connection, result) for result in found[begins : len(said) - ends]]


async def _asked(
    connection: "psycopg.AsyncConnection[TupleRow]", statement: Lean, arguments: Mapping[str, Any]
) -> pq.abc.PGresult:
    values = statement.values(arguments)
    if statement.name in _prepared(connection):
        try:
            return await _ask(connection, statement, values)
        except psycopg.errors.InvalidSqlStatementName:
            # the driver forgets all that is prepared after a rollback, ours too; nothing was done
            _prepared(connection).clear()
    await _prepare(connection, statement)
    return await _ask(connection, statement, values)


def _prepared(connection: "psycopg.AsyncConnection[TupleRow]") -> set[bytes]:
    found: set[bytes] = connection.__dict__.setdefault("weft_lean", set())
    return found


async def _prepare(connection: "psycopg.AsyncConnection[TupleRow]", statement: Lean) -> None:
    connection.pgconn.send_prepare(statement.name, statement.text)
    await wire.answer(connection)
    _prepared(connection).add(statement.name)


async def _ask(
    connection: "psycopg.AsyncConnection[TupleRow]", statement: Lean, values: Sequence[bytes | None]
) -> pq.abc.PGresult:
    connection.pgconn.send_query_prepared(statement.name, values)
    return await wire.answer(connection)


async def _pipelined(
    connection: "psycopg.AsyncConnection[TupleRow]", said: "Sequence[tuple[Lean, Mapping[str, Any]]]"
) -> list[pq.abc.PGresult]:
    for statement, _ in said:
        if statement.name not in _prepared(connection):
            await _prepare(connection, statement)
    messages = [(statement.name, statement.values(arguments)) for statement, arguments in said]
    connection.pgconn.enter_pipeline_mode()
    for name, values in messages:
        connection.pgconn.send_query_prepared(name, values)
    connection.pgconn.pipeline_sync()
    found = await wire.answers(connection)
    connection.pgconn.exit_pipeline_mode()
    return [wire.fine(result) for result in found]


def _loaded(connection: "psycopg.AsyncConnection[TupleRow]", found: pq.abc.PGresult) -> list[tuple[Any, ...]]:
    reader = Transformer(connection)
    reader.set_pgresult(found)
    return reader.load_rows(0, found.ntuples, tuple)


def _said(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _item(value: Any) -> str | None:
    return value if isinstance(value, str) else _said(_text(value))


def _text(value: Any) -> bytes | None:
    """A value as PostgreSQL reads it."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, _PRINTED):
        return str(value).encode()
    if isinstance(value, dt.date):  # a moment is one, too, also where somebody has put a class of their own in its place
        return value.isoformat().encode()
    if isinstance(value, dt.timedelta):
        return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds".encode()
    if isinstance(value, Sequence):
        items = [_item(one) for one in value]
        return (arrays.quoted(items) or arrays.plain(["NULL"] * len(items))).encode()
    raise TypeError(f"{type(value).__name__} cannot be sent so")
