"""Everything here kills real processes; `make chaos` runs it alone."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from crowd import Crowd
from own_server import OwnServer

FOLDER = Path(__file__).parent


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
