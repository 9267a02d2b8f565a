"""An agent on a fresh database, and flows compiled from source."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from weft import Agent

sys.path.append(str(Path(__file__).parent.parent / "worker"))


@pytest.fixture
async def agent(database_url: str) -> AsyncIterator[Agent]:
    opened = Agent(database_url=database_url)
    yield opened
    await opened.close()
