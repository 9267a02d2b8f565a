"""A fresh database for each episode of the long tier, watched from its beginning."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
from own_server import GivenServer, OwnServer
from witness import Witness

import fresh_database


@asynccontextmanager
async def stage(server: OwnServer | GivenServer) -> AsyncIterator[Witness]:
    beside = psycopg.conninfo.make_conninfo(server.url, dbname="postgres", connect_timeout=10)
    with (
        tempfile.TemporaryDirectory(prefix="weft-episode-") as folder,
        fresh_database.made(beside, template=server.name) as url,
    ):
        witness = Witness(url, folder=Path(folder))
        try:
            yield witness
        finally:
            witness.close()
