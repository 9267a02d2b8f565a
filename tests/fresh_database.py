"""Databases for one test or one module, made and dropped again."""

import contextlib
import uuid
from collections.abc import Iterator

import psycopg

PATIENCE = "20s"
TRIES = 5


@contextlib.contextmanager
def made(server_url: str, *, template: str | None = None) -> Iterator[str]:
    """The connection string of a new database, empty or a copy of another."""
    name = f"weft_test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        # files copied as they are: half the work of writing each page into the log, where nobody waits for a disk
        like = f" template {template} strategy file_copy" if template else ""
        connection.execute(f"create database {name}{like}".encode())
    try:
        yield psycopg.conninfo.make_conninfo(server_url, dbname=name)
    finally:
        drop(server_url, name)


def drop(server_url: str, name: str) -> None:
    """Drops it, whoever is connected.

    A server process that starts in the wrong moment can leave a drop waiting for ever (PostgreSQL 15 to 18: a signal
    barrier that it never hears of). Another drop raises another barrier, which it does hear of.
    """
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"set statement_timeout = '{PATIENCE}'".encode())
        for _ in range(TRIES):
            with contextlib.suppress(psycopg.errors.QueryCanceled):
                connection.execute(f"drop database if exists {name} with (force)".encode())
                return
    raise AssertionError(f"{name} cannot be dropped: tried {TRIES} times {PATIENCE}")
