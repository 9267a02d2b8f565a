"""Seed 000's services on a fresh database, and an agent that does what flows ask for."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from weft import Agent
from weft.services.postgres import Services, connect

for _name in ("worker", "agents"):
    sys.path.append(str(Path(__file__).parent.parent / _name))


@pytest.fixture
def services(database_url: str) -> Iterator[Services]:
    with connect(database_url) as opened:
        yield opened


@pytest.fixture
async def agent(database_url: str) -> AsyncIterator[Agent]:
    opened = Agent(database_url=database_url)
    yield opened
    await opened.close()
