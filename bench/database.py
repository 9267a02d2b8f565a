"""A fresh database for every measurement, so that none inherits another's bloat or statistics."""

import contextlib
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql


@contextlib.contextmanager
def fresh(server_url: str, *, name: str) -> Iterator[str]:
    """Create database `name`, yield its URL, drop it (which also takes a checkpoint, so all start after one)."""
    identifier = sql.Identifier(name)
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(identifier))
        connection.execute(sql.SQL("create database {}").format(identifier))
    try:
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(sql.SQL("drop database if exists {} with (force)").format(identifier))


def settle(url: str) -> None:
    """Vacuum and analyze now, so that autovacuum is less likely to do it inside the measured window."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum (analyze)")
