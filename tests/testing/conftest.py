"""An app on a fresh database."""

from collections.abc import AsyncIterator

import pytest

from weft import App


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    opened = App(database_url=database_url)
    yield opened
    await opened.close()
