"""Fixtures for pytest, there as soon as Weft is installed: your app on a real database that is new for each test.

    # pyproject.toml
    [tool.pytest.ini_options]
    weft_app = "shop:app"

    async def test_checkout(weft_app, weft_clock, weft_run):
        run = await weft_app.start(checkout, "o-17")
        await weft_run()                             # a worker that ends when nothing is ready
        await weft_clock.advance(timedelta(days=2))  # what sleeps until then is due
        await weft_run()

Nothing is started before a test asks for it. The server is Weft's own, or WEFT_TEST_SERVER: a superuser's connection string.
Async fixtures are pytest-asyncio's if that is there, else whoever's runs your async tests.
"""

import asyncio
import contextlib
import importlib
import importlib.util
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from weft.base import config
from weft.db import connect, embedded, migrate
from weft.sdk import loading
from weft.testing.clock import Clock
from weft.testing.inline import run_pending

_SERVER = "WEFT_TEST_SERVER"
_ASYNCIO = importlib.util.find_spec("pytest_asyncio") is not None
_fixture: Callable[[Callable[..., Any]], Callable[..., Any]] = (
    importlib.import_module("pytest_asyncio").fixture if _ASYNCIO else pytest.fixture
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("weft_app", "MODULE:APP, the app that the fixture weft_app gives to tests", default="")


@pytest.fixture(scope="session")
def weft_server() -> Iterator[Callable[[str], str]]:
    """A PostgreSQL for all tests of this process: database name → a superuser's connection string."""
    if given := os.environ.get(_SERVER):
        yield lambda name: connect.with_database(given, name)
        return
    folder = Path(tempfile.mkdtemp(prefix="weft-tests-"))
    folder.chmod(0o755)
    server = embedded.start(folder)
    try:
        yield lambda name: server.url(user="postgres", dbname=name)
    finally:
        server.release()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def weft_template(weft_server: Callable[[str], str]) -> Iterator[str]:
    """A migrated database that nobody connects to; each test gets a copy."""
    name = _name()

    async def build() -> None:
        await _say(weft_server("postgres"), f"create database {name}")
        async with await connect.connect(weft_server(name), purpose="owner") as connection:
            await migrate.up(connection, migrate.ours())

    asyncio.run(build())
    yield name
    asyncio.run(_say(weft_server("postgres"), f"drop database {name} with (force)"))


@pytest.fixture
def weft_database_url(weft_server: Callable[[str], str], weft_template: str) -> Iterator[str]:
    """The connection string of a database of this test's own."""
    name = _name()
    asyncio.run(_say(weft_server("postgres"), f"create database {name} template {weft_template}"))
    yield weft_server(name)
    asyncio.run(_say(weft_server("postgres"), f"drop database {name} with (force)"))


@_fixture
async def weft_app(request: pytest.FixtureRequest, weft_database_url: str) -> AsyncIterator[Any]:
    """The app that `weft_app` names in the settings of pytest, or a new one, on a database of this test's own."""
    target = str(request.config.getini("weft_app"))
    app = loading.load(target) if target else loading.load("weft:App")()
    before, app.settings = app.settings, config.load(database_url=weft_database_url)
    try:
        yield app
    finally:
        with contextlib.suppress(RuntimeError):
            await app.close()
        app.settings = before


@_fixture
async def weft_clock(weft_app: Any) -> AsyncIterator[Clock]:
    """The time of the test's database, in your hands."""
    clock = await Clock.install(weft_app)
    yield clock
    await clock.remove()


@pytest.fixture
def weft_run(weft_app: Any) -> Callable[..., Awaitable[int]]:
    """A worker in this process that runs what is ready, and whatever that makes ready, and ends."""

    async def run(*, concurrency: int = 10) -> int:
        return await run_pending(weft_app, concurrency=concurrency)

    return run


def _name() -> str:
    return f"weft_test_{uuid.uuid4().hex[:12]}"


async def _say(url: str, statement: str) -> None:
    async with await connect.connect(url, purpose="owner") as connection:
        await connection.execute(statement.encode())
