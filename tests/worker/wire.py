"""A wire between worker and server that can lose an answer: the server did what it was asked, and nobody hears of it."""

import asyncio
import contextlib
import re
from pathlib import Path

from psycopg import conninfo

_NAME = re.compile(rb"(_pg3_\d+\x00)")


class Wire:
    """A Unix socket that passes everything on, until it meets what it was told to answer no more."""

    def __init__(self, url: str, folder: Path) -> None:
        self._upstream = conninfo.conninfo_to_dict(url)
        self._folder = folder
        self._needle: bytes | None = None
        self._writers: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None
        self.lost = 0
        self.url = conninfo.make_conninfo(url, host=str(folder), port=5432)

    async def open(self) -> None:
        self._server = await asyncio.start_unix_server(self._connected, self._folder / ".s.PGSQL.5432")

    async def close(self) -> None:
        self.cut()
        if self._server is not None:
            self._server.close()

    def lose_answer_to(self, needle: str) -> None:
        """When a statement that contains this is executed the next time, its connection hears nothing more."""
        self._needle = needle.encode()

    def cut(self) -> None:
        """Breaks every connection."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = str(self._upstream["host"]), int(str(self._upstream.get("port", 5432)))
        if host.startswith("/"):
            opened = await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        else:
            opened = await asyncio.open_connection(host, port)
        server_reader, server_writer = opened
        self._writers += [writer, server_writer]
        silent = asyncio.Event()
        async with asyncio.TaskGroup() as both:
            both.create_task(self._ask(reader, server_writer, silent))
            both.create_task(self._answer(server_reader, writer, silent))

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silent: asyncio.Event) -> None:
        prepared: bytes | None = None
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                if prepared is not None and prepared in data:
                    prepared, self._needle = None, None
                    self.lost += 1
                    silent.set()
                elif self._needle is not None and self._needle in data:
                    # a statement is prepared first and executed by its name
                    prepared = _NAME.findall(data[: data.index(self._needle)])[-1]
                writer.write(data)
                await writer.drain()
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silent: asyncio.Event) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                if not silent.is_set():
                    writer.write(data)
                    await writer.drain()
        writer.close()
