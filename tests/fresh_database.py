"""Databases for one test or one module, made and dropped again."""

import contextlib
import uuid
from collections.abc import Iterator

import psycopg

PATIENCE = "20s"
TRIES = 5

_stewards: dict[str, "psycopg.Connection[tuple[object, ...]]"] = {}
"""Of each server the connection by which its databases are made and dropped: a new one for each of thousands of them would
be a tenth of the work."""


@contextlib.contextmanager
def made(server_url: str, *, template: str | None = None) -> Iterator[str]:
    """The connection string of a new database, empty or a copy of another."""
    name = f"weft_test_{uuid.uuid4().hex[:12]}"
    # files copied as they are: half the work of writing each page into the log, where nobody waits for a disk
    like = f" template {template} strategy file_copy" if template else ""
    _steward(server_url, patience="0").execute(f"create database {name}{like}".encode())
    try:
        yield psycopg.conninfo.make_conninfo(server_url, dbname=name)
    finally:
        drop(server_url, name)


def drop(server_url: str, name: str) -> None:
    """Drops it, whoever is connected.

    A server process that starts in the wrong moment can leave a drop waiting for ever (PostgreSQL 15 to 18: a signal
    barrier that it never hears of). Another drop raises another barrier, which it does hear of.
    """
    for _ in range(TRIES):
        with contextlib.suppress(psycopg.errors.QueryCanceled):
            _steward(server_url, patience=PATIENCE).execute(f"drop database if exists {name} with (force)".encode())
            return
    raise AssertionError(f"{name} cannot be dropped: tried {TRIES} times {PATIENCE}")


def careless(server_url: str, *, so: bool = True) -> None:
    """Has the server wait for no disk, from now on: a test ends with its server, and if the power fails, so do both. It also
    halves the work of copying a database, whose hundreds of files are opened a second time to be waited for. And nobody
    comes every other second to see whether a database that is a second old should be vacuumed. Not `so`: as before."""
    steward = _steward(server_url, patience="0")
    for name, value in (("fsync", "off"), ("autovacuum_naptime", "'1min'")):
        steward.execute((f"alter system set {name} = {value}" if so else f"alter system reset {name}").encode())
    steward.execute("select pg_reload_conf()")


def dismiss(server_url: str) -> None:
    """Before its server ends."""
    if (steward := _stewards.pop(server_url, None)) is not None:
        steward.close()


def _steward(server_url: str, *, patience: str) -> "psycopg.Connection[tuple[object, ...]]":
    limit = f"set statement_timeout = '{patience}'".encode()
    kept = _stewards.get(server_url)
    if kept is not None:
        # the server may have been started anew meanwhile
        with contextlib.suppress(psycopg.OperationalError):
            kept.execute(limit)
            return kept
    _stewards[server_url] = opened = psycopg.connect(server_url, autocommit=True)
    opened.execute(limit)
    return opened
