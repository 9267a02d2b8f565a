"""Many that begin at the same time on the embedded database: nobody waits for another, and nobody is refused."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from weft.base import config
from weft.db import fitting
from weft.db.database import Database

PATIENCE = 60


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="weft-") as made:
        Path(made).chmod(0o755)
        yield Path(made) / ".weft"


@pytest.fixture
async def here(folder: Path) -> AsyncIterator[Database]:
    database = Database(config.Settings(folder=folder))
    yield database
    await database.close()


async def test_who_comes_while_another_makes_it_fit_is_not_refused(here: Database) -> None:
    async with asyncio.timeout(PATIENCE):
        # on a new database, too
        await asyncio.gather(*(fitting.fit(here) for _ in range(5)))
        async with await here.reserve(purpose="owner") as other, other.transaction():
            await other.execute("alter role weft_engine login")
            await asyncio.wait_for(fitting.fit(here), PATIENCE / 4)
        async with here.once() as tx:
            assert await tx.value("select current_user") == "weft_engine"
