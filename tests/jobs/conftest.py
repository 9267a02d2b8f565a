"""Jobs are tested in a time that stands still."""

from collections.abc import AsyncIterator

import pytest
from frozen import Frozen

from weft.db.database import Database
from weft.db.tx import Tx


@pytest.fixture
async def clock(database: Database) -> Frozen:
    frozen = Frozen(database)
    await frozen.install()
    return frozen


@pytest.fixture
async def tx(database: Database, clock: Frozen) -> AsyncIterator[Tx]:
    """One transaction in which time stands still."""
    async with database.tx() as opened:
        yield opened
