"""Everything here harms real processes and connections; `make chaos` runs it alone, and then `drive.py`, for long."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from crowd import Crowd
from own_server import GivenServer, OwnServer
from staging import stage
from witness import Witness

FOLDER = Path(__file__).parent
# how tests of the API call it
sys.path.append(str(FOLDER.parent / "api"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    inside = {path for path in {item.path for item in items} if FOLDER in path.parents}
    for item in items:
        if item.path in inside:
            item.add_marker(pytest.mark.chaos)


@pytest.fixture
async def crowd(database_url: str, tmp_path: Path) -> AsyncIterator[Crowd]:
    made = Crowd(database_url, tmp_path)
    yield made
    await made.close()


@pytest.fixture
async def server() -> AsyncIterator[OwnServer]:
    made = OwnServer()
    try:
        await made.start()
        yield made
    finally:
        await made.close()


@pytest.fixture
async def own_crowd(server: OwnServer, tmp_path: Path) -> AsyncIterator[Crowd]:
    """Workers on a server of their own."""
    made = Crowd(server.url, tmp_path)
    yield made
    await made.close()


@pytest.fixture(scope="session")
def recording_server() -> Iterator[OwnServer | GivenServer]:
    """A server whose history can be decoded, one per test process."""
    given = os.environ.get("WEFT_TEST_SERVER")
    if given is not None:
        with psycopg.connect(given, connect_timeout=10) as connection:
            if connection.execute("show wal_level").fetchone() != ("logical",):
                pytest.skip("NOT TESTED: recording needs wal_level = logical on WEFT_TEST_SERVER, and replication slots")
    made = OwnServer(logical=True) if given is None else GivenServer(given)
    try:
        asyncio.run(made.start())
        yield made
    finally:
        asyncio.run(made.close())


@pytest.fixture
async def witness(recording_server: OwnServer | GivenServer) -> AsyncIterator[Witness]:
    """A fresh database and everything that happens to it, checked at the end by whoever asks."""
    async with stage(recording_server) as made:
        yield made


@pytest.fixture
async def watched_crowd(witness: Witness) -> AsyncIterator[Crowd]:
    """Workers on the witness's database."""
    made = Crowd(witness.url, witness.folder)
    yield made
    await made.close()
