"""Everything here harms real processes and connections; `make chaos` runs it alone, and then `drive.py`, for long."""

import asyncio
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from crowd import Crowd
from own_server import OwnServer
from witness import Witness

FOLDER = Path(__file__).parent
# how tests of the API call it
sys.path.append(str(FOLDER.parent / "api"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
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
def recording_server() -> Iterator[OwnServer]:
    """A server whose history can be decoded, one per test process."""
    made = OwnServer(logical=True)
    try:
        asyncio.run(made.start())
        yield made
    finally:
        asyncio.run(made.close())


@pytest.fixture
def witness(recording_server: OwnServer, tmp_path: Path) -> Iterator[Witness]:
    """A fresh database and everything that happens to it, checked at the end by whoever asks."""
    name = f"chaos_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(recording_server.url, autocommit=True, dbname="postgres") as owner:
        owner.execute(f"create database {name} template weft".encode())
        made = Witness(psycopg.conninfo.make_conninfo(recording_server.url, dbname=name), folder=tmp_path)
        try:
            yield made
        finally:
            made.close()
            owner.execute(f"drop database if exists {name} with (force)".encode())


@pytest.fixture
async def watched_crowd(witness: Witness) -> AsyncIterator[Crowd]:
    """Workers on the witness's database."""
    made = Crowd(witness.url, witness.folder)
    yield made
    await made.close()
