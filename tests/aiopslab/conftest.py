"""The AIOpsLab API on a fresh database: at the root, and (`beside`) below /aiopslab next to Weft's own."""

from collections.abc import AsyncIterator

import lab as labs
import pytest
from lab import Frozen, Lab

from weft.db.database import Database


@pytest.fixture
async def lab(database: Database) -> AsyncIterator[Lab]:
    clock = await Frozen.stand(database)
    async with labs.client(database) as client:
        yield Lab(database, client, clock=clock)


@pytest.fixture
async def locked(lab: Lab) -> Lab:
    """The same, with keys: whoever has none is not let in."""
    await labs.with_keys(lab)
    return lab
