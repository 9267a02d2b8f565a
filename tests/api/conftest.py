"""The API on a fresh database."""

from collections.abc import AsyncIterator

import pytest
from calling import Caller, caller

from weft.db.database import Database


@pytest.fixture
async def api(database: Database) -> AsyncIterator[Caller]:
    made = await caller(database)
    yield made
    await made.client.aclose()
