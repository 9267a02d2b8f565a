"""A proxy in front of PostgreSQL that knows its messages: cuts, stalls, slows down, and loses notifications.

    async with Cutter(url, folder=…) as cutter:
        cut = cutter.arm(Cut(statement="delete from weft.tasks", side="answer", place="middle", nth=2))
        … work on cutter.url …
        await cut.happened()     # the fault must be seen to have happened
"""

import asyncio
import contextlib
import dataclasses
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

import pgwire
import psycopg

LONG = 30.0
"""Seconds after which a fault that has not happened never will."""

Side = Literal["request", "answer"]
Place = Literal["before", "middle", "after"]
SIDES: tuple[Side, ...] = ("request", "answer")
PLACES: tuple[Place, ...] = ("before", "middle", "after")

_numbers = itertools.count(1)


@dataclasses.dataclass(eq=False, kw_only=True)
class Cut:
    """One fault, at the n-th execution of a statement whose text matches."""

    statement: str
    side: Side = "request"
    place: Place = "before"
    nth: int = 1
    skip: int = 0
    """How many ends of statements pass before, of a request that is many statements."""
    stall: asyncio.Event | None = None
    """Nothing passes until it is set; None: the connection is cut."""
    seen: int = 0
    fired: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)

    async def happened(self) -> None:
        """Waits for it; fails if it does not come."""
        try:
            async with asyncio.timeout(LONG):
                await self.fired.wait()
        except TimeoutError:
            raise AssertionError(f"no cut at {self.statement!r}, {self.side} {self.place}: seen {self.seen} times") from None

    def takes(self, text: bytes) -> bool:
        """Counts this execution; whether it is the one."""
        if self.fired.is_set() or not re.search(self.statement.encode(), text):
            return False
        self.seen += 1
        return self.seen == self.nth


class _Cut(Exception):
    pass


class Cutter:
    """Listens on a Unix socket of its own. Close it, and nothing of it is left."""

    def __init__(self, url: str, *, folder: Path) -> None:
        given = psycopg.conninfo.conninfo_to_dict(url)
        self._host, self._port = str(given["host"]), str(given.get("port", 5432))
        self.folder = folder
        self.path = folder / f".s.PGSQL.{6000 + next(_numbers)}"
        self.url = psycopg.conninfo.make_conninfo(url, host=str(folder), port=self.path.suffix[1:])
        self.cuts: list[Cut] = []
        self.count = 0
        """Connections cut."""
        self.forbidden: str | None = None
        """Whoever sends a statement like this is cut off, whenever it does."""
        self.drop_notifications = False
        self.bytes_per_second: float | None = None
        self.slept = 0.0
        """Seconds for which data was held back to be slow."""
        self.passing = asyncio.Event()
        """Cleared: nothing passes in either direction, as in a network that is away."""
        self.passing.set()
        self._links: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_unix_server(self._accept, self.path)
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()
        self.path.unlink(missing_ok=True)
        self.passing.set()
        await self.cut_all()

    def arm(self, cut: Cut) -> Cut:
        self.cuts.append(cut)
        return cut

    async def cut_all(self) -> int:
        """Ends every connection there is now; answers how many."""
        links = list(self._links)
        for link in links:
            link.cancel()
        await asyncio.gather(*links, return_exceptions=True)
        return len(links)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = asyncio.create_task(self._link(reader, writer))
        self._links.add(link)
        link.add_done_callback(self._links.discard)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._host.startswith("/"):
            return await asyncio.open_unix_connection(f"{self._host}/.s.PGSQL.{self._port}")
        return await asyncio.open_connection(self._host, int(self._port))

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        try:
            upstream_reader, upstream_writer = await self._connect()
            writers.append(upstream_writer)
            session = _Session(self)
            ways = [
                asyncio.create_task(session.requests(reader, upstream_writer)),
                asyncio.create_task(session.answers(upstream_reader, writer)),
            ]
            try:
                # one way that ends ends both, as a broken connection does
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            pass  # the server is away: the client sees its connection end
        finally:
            for one in writers:
                # not close(): it would deliver what is still buffered, politely
                one.transport.abort()


class _Session:
    """The two ways of one connection."""

    def __init__(self, cutter: Cutter) -> None:
        self._cutter = cutter
        self._statements = pgwire.Statements()
        self._awaited: list[tuple[bytes, Cut]] = []
        """Cuts whose statement was sent here and whose answer they wait for."""
        self._plain_bytes = 0

    async def requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        splitter = pgwire.Splitter(typed=False)
        while data := await reader.read(65536):
            for message in splitter.feed(data):
                if not message.kind and message.code in (pgwire.SSL, pgwire.GSS):
                    self._plain_bytes += 1
                faults = self._asked(message)
                await self._pass(message, writer, faults)

    async def answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        splitter = pgwire.Splitter(typed=True)
        while data := await reader.read(65536):
            while self._plain_bytes and data:
                # "no encryption" is one byte, not a message
                writer.write(data[:1])
                data, self._plain_bytes = data[1:], self._plain_bytes - 1
            for message in splitter.feed(data):
                if message.kind == b"A" and self._cutter.drop_notifications:
                    continue
                await self._pass(message, writer, self._told(message))

    def _asked(self, message: pgwire.Message) -> list[Cut]:
        text = self._statements.sent(message)
        if text is None:
            return []
        if self._cutter.forbidden is not None and re.search(self._cutter.forbidden.encode(), text):
            self._cutter.count += 1
            raise _Cut
        faults = []
        for cut in self._cutter.cuts:
            if cut.takes(text):
                if cut.side == "request":
                    faults.append(cut)
                else:
                    self._awaited.append((text, cut))
        return faults

    def _told(self, message: pgwire.Message) -> list[Cut]:
        text = self._statements.answered(message)
        if text is None:
            return []
        faults = []
        for awaited, cut in list(self._awaited):
            if awaited == text:
                if cut.skip == 0:
                    faults.append(cut)
                    self._awaited.remove((awaited, cut))
                cut.skip -= 1
        return faults

    async def _pass(self, message: pgwire.Message, writer: asyncio.StreamWriter, faults: Sequence[Cut]) -> None:
        sent = 0
        for cut in faults:
            upto = {"before": 0, "middle": len(message.raw) // 2, "after": len(message.raw)}[cut.place]
            await self._send(message.raw[sent:upto], writer)
            sent = max(sent, upto)
            cut.fired.set()
            if cut.stall is None:
                self._cutter.count += 1
                raise _Cut
            await cut.stall.wait()
        await self._send(message.raw[sent:], writer)

    async def _send(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        await self._cutter.passing.wait()
        if self._cutter.bytes_per_second is not None:
            pause = len(data) / self._cutter.bytes_per_second
            self._cutter.slept += pause
            await asyncio.sleep(pause)
        if data:
            writer.write(data)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
