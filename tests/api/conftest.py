"""The API on a fresh database."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Iterator

import calling
import psycopg
import pytest
from calling import Caller, People

import fresh_database
from weft.base import config
from weft.db.database import Database


@pytest.fixture(scope="session")
def people(server_url: str, template: str) -> Iterator[People]:
    """Whom most tests here begin with, made once: a test that asks for them has a copy of the database where they are."""
    with fresh_database.made(server_url, template=template) as url:

        async def settle() -> People:
            database = Database(config.Settings(database_url=url))
            try:
                return await calling.settle(database)
            finally:
                await database.close()

        found = asyncio.run(settle())
        yield dataclasses.replace(found, template=psycopg.conninfo.conninfo_to_dict(url)["dbname"])


@pytest.fixture
def database_url(server_url: str, template: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh database; with people in it, if they are asked for."""
    found: str = request.getfixturevalue("people").template if "people" in request.fixturenames else template
    with fresh_database.made(server_url, template=found) as url:
        yield url


@pytest.fixture
async def api(database: Database, people: People) -> AsyncIterator[Caller]:
    made = people.caller(database)
    yield made
    await made.client.aclose()
