"""A PostgreSQL of a test's own, to be stopped and to be listened to."""

import asyncio
import os
import shutil
import signal
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path

import psycopg
from crowd import until

import fresh_database
from weft.db import embedded, migrate

STARTING = 120.0
"""Seconds for a start, recovery included. Without a deadline of ours it may wait for the server's recovery for ever."""


class OwnServer:
    """A migrated database on a server nobody else uses. `logical`: its history can be decoded."""

    def __init__(
        self, *, logical: bool = False, folder: Path | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="weft-chaos-"))
        self.folder.chmod(0o755)
        self._uses: list[embedded.EmbeddedServer] = []
        self._settings = {**({"max_replication_slots": "50"} if logical else {}), **(settings or {})}
        self.url = ""
        self.name = "weft"
        """Of the migrated database, from which others are copied."""

    @property
    def running(self) -> bool:
        return bool(self._uses) and self._uses[-1].pid is not None

    async def start(self) -> None:
        """The first time also makes the database; later times find it as it was left."""
        async with asyncio.timeout(STARTING):
            server = await asyncio.to_thread(embedded.start, self.folder)
        self._uses.append(server)
        if not self.url:
            self.url = psycopg.conninfo.make_conninfo(server.url(), connect_timeout=10)
            if self._settings:
                await self._set()
            async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as owner:
                await migrate.up(owner, migrate.ours())

    async def _set(self) -> None:
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as owner:
            for name, value in self._settings.items():
                await owner.execute(f"alter system set {name} = '{value}'".encode())
        await self.crash()
        async with asyncio.timeout(STARTING):
            self._uses.append(await asyncio.to_thread(embedded.start, self.folder))

    async def crash(self) -> None:
        """Ends it at once, as a crash would: no shutdown, recovery at the next start."""
        server = self._uses[-1]
        assert server.pid is not None
        os.kill(server.pid, signal.SIGQUIT)
        await until(lambda: server.pid is None)

    def log(self) -> str:
        return "".join(file.read_text(errors="replace") for file in sorted(self.folder.rglob("postgres-*.log")))

    async def close(self) -> None:
        for server in self._uses:
            async with asyncio.timeout(STARTING):
                await asyncio.to_thread(server.release)
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)


class GivenServer:
    """Somebody else's, from WEFT_TEST_SERVER: it is recorded, but not stopped."""

    def __init__(self, url: str) -> None:
        self.name = f"weft_recorded_{uuid.uuid4().hex[:8]}"
        self._given = url
        self.url = psycopg.conninfo.make_conninfo(url, dbname=self.name, connect_timeout=10)

    async def start(self) -> None:
        async with await psycopg.AsyncConnection.connect(self._given, autocommit=True) as owner:
            await owner.execute(f"create database {self.name}".encode())
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as owner:
            await migrate.up(owner, migrate.ours())

    async def close(self) -> None:
        await asyncio.to_thread(fresh_database.drop, self._given, self.name)
