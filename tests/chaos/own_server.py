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


class OwnServer:
    """A migrated database on a server nobody else uses."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="weft-chaos-"))
        self.folder.chmod(0o755)
        self._uses: list[embedded.EmbeddedServer] = []
        self.url = ""

    async def start(self) -> None:
        """The first time also makes the database; later times find it as it was left."""
        server = await asyncio.to_thread(embedded.start, self.folder)
        self._uses.append(server)
        if not self.url:
            self.url = server.url()
            async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as owner:
                await migrate.up(owner, migrate.ours())

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
            await asyncio.to_thread(server.release)
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)
