"""The server that tests call."""

from collections.abc import AsyncIterator

import pytest
from loopback_server import Server, run


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    listening = await run(made)
    yield made
    listening.close()
