"""A PostgreSQL of a test's own, to be stopped and to be listened to."""

import asyncio
import os
import shutil
import signal
import tempfile
from pathlib import Path

import psycopg
from crowd import until

from weft.db import embedded, migrate

STARTING = 120.0
"""Seconds for a start, recovery included. Without a deadline of ours it may wait for the server's recovery for ever."""


class OwnServer:
    """A migrated database on a server nobody else uses. `logical`: its history can be decoded."""

    def __init__(self, *, logical: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="weft-chaos-"))
        self.folder.chmod(0o755)
        self._uses: list[embedded.EmbeddedServer] = []
        self._logical = logical
        self.url = ""

    async def start(self) -> None:
        """The first time also makes the database; later times find it as it was left."""
        async with asyncio.timeout(STARTING):
            server = await asyncio.to_thread(embedded.start, self.folder)
        self._uses.append(server)
        if not self.url:
            self.url = psycopg.conninfo.make_conninfo(server.url(), connect_timeout=10)
            if self._logical:
                await self._keep_history()
            async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as owner:
                await migrate.up(owner, migrate.ours())

    async def _keep_history(self) -> None:
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as owner:
            await owner.execute("alter system set wal_level = 'logical'")
            await owner.execute("alter system set max_replication_slots = 50")
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
