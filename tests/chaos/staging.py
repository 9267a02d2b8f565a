"""A fresh database for each episode of the long tier, watched from its beginning."""

import tempfile
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
from own_server import GivenServer, OwnServer
from witness import Witness


@asynccontextmanager
async def stage(server: OwnServer | GivenServer) -> AsyncIterator[Witness]:
    name = f"chaos_{uuid.uuid4().hex[:12]}"
    with tempfile.TemporaryDirectory(prefix="weft-episode-") as folder:
        _as_owner(server, f"create database {name} template {server.name}")
        witness = Witness(psycopg.conninfo.make_conninfo(server.url, dbname=name), folder=Path(folder))
        try:
            yield witness
        finally:
            witness.close()
            _as_owner(server, f"drop database if exists {name} with (force)")


def _as_owner(server: OwnServer | GivenServer, statement: str) -> None:
    # not on a connection that is kept: the server is restarted meanwhile
    with psycopg.connect(server.url, autocommit=True, dbname="postgres", connect_timeout=10) as owner:
        owner.execute(statement.encode())
