"""Real PostgreSQL for every test: one server per test process, one fresh database per test, cloned from a template.

WEFT_TEST_SERVER (a superuser's connection string) runs the tests on another server, for example PostgreSQL 15.
"""

import asyncio
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import pq

import fresh_database
import in_memory
from order import pytest_collection_finish, pytest_collection_modifyitems  # noqa: F401 (hooks)
from second_try import pytest_itemcollected, pytest_sessionstart, pytest_terminal_summary  # noqa: F401 (hooks)
from watchdog import pytest_configure, pytest_runtest_protocol  # noqa: F401 (hooks)
from weft.base import config
from weft.db import connect, embedded, migrate, wire
from weft.db.database import Database
from weft.db.tx import Tx
from weft.db.wire import Watched

in_memory.settle_in()
# A shell that starts something in the background lets it ignore Ctrl-C, and so would all that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The HTTP library asks for it at each request to an application in this process, and Python then looks through all folders
# for what is not installed: a tenth of the request. What is None here is known not to be there.
if importlib.util.find_spec("sniffio") is None:
    sys.modules["sniffio"] = None  # type: ignore[assignment]


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """A superuser's connection string without a database name."""
    given = os.environ.get("WEFT_TEST_SERVER")
    if given:
        yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="weft-tests-"))
    folder.chmod(0o755)
    server = embedded.start(folder)
    url = server.url(user="postgres", dbname="postgres")
    try:
        fresh_database.careless(url)
        yield url
    finally:
        fresh_database.dismiss(url)
        server.release()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def template(server_url: str) -> Iterator[str]:
    """The name of a migrated database nobody connects to; tests are cloned from it."""
    with fresh_database.made(server_url) as url:

        async def build() -> None:
            async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
                await migrate.up(connection, migrate.ours())

        asyncio.run(build())
        yield psycopg.conninfo.conninfo_to_dict(url)["dbname"]


@pytest.fixture
def database_url(server_url: str, template: str) -> Iterator[str]:
    """The connection string (as the owner) of a fresh, migrated database."""
    with fresh_database.made(server_url, template=template) as url:
        yield url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """An open `Database` on a fresh database; work runs as weft_engine."""
    opened = Database(config.Settings(database_url=database_url))
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def untouched_url(server_url: str, template: str) -> Iterator[str]:
    """The connection string of a migrated database in which nobody commits."""
    with fresh_database.made(server_url, template=template) as url:
        yield url


@pytest.fixture(scope="session")
def lent(untouched_url: str) -> Iterator[list[Watched]]:
    """The connection of `tx`, if there is one already: what one test had planned the next one need not plan again."""
    kept: list[Watched] = []
    yield kept
    for connection in kept:
        connection.pgconn.finish()


@pytest.fixture
async def tx(untouched_url: str, lent: list[Watched]) -> AsyncIterator[Tx]:
    """One transaction on a database that is as if it were fresh. At the end everything is checked that a commit would check,
    and undone: the next one finds nothing of it. Whoever needs a second connection opens a transaction of `database`."""
    connection = lent.pop() if lent else await connect.connect(untouched_url, purpose="work")
    async with connection.transaction():
        opened = Tx(connection)
        yield opened
        if connection.info.transaction_status == pq.TransactionStatus.INTRANS:
            await connection.execute("set constraints all immediate")
        raise psycopg.Rollback
    wire.unwatch(connection)
    if connection.info.transaction_status == pq.TransactionStatus.IDLE:
        # what a session keeps beyond its transactions
        await connection.execute("select pg_advisory_unlock_all()")
        lent.append(connection)
    else:
        await connection.close()
