"""Counts the statements of one process: a proxy between it and PostgreSQL that reads only the messages' headers.

    worker ── Parse Bind Execute Sync ──► proxy ── the same bytes ──► server
                          └ counted

What the server's own counters cannot say is said here: which process it was, and statements rather than transactions.
A simple query and an execute count as one each, `begin` and `commit` among them.
"""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

STARTUP = 196608
COUNTED = b"QE"
CHUNK = 1 << 16


class Proxy:
    """Listens on a port of its own until closed."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._statements = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """The URL to give to the process. Encrypted, nothing could be counted."""
        user, at, _ = self._url.netloc.rpartition("@")
        netloc = f"{user}{at}127.0.0.1:{self._listener.getsockname()[1]}"
        return urlunsplit(self._url._replace(netloc=netloc, query="sslmode=disable&gssencmode=disable"))

    @property
    def statements(self) -> int:
        """How many statements have been sent so far."""
        return self._statements

    def close(self) -> None:
        """Take no more connections; those that are open end with their process."""
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection((self._url.hostname, self._url.port or 5432))
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pass_on, args=(client, server, Headers()), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(server, client, None), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, headers: "Headers | None") -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                if headers is not None:
                    found = headers.read(data)
                    with self._lock:
                        self._statements += found
                target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class Headers:
    """Reads the headers of what a client sends and skips the rest."""

    def __init__(self) -> None:
        self._begun = False
        self._pending = b""
        self._skip = 0

    def read(self, data: bytes) -> int:
        """Return how many statements began in these bytes."""
        data = self._pending + data
        at, count = 0, 0
        while True:
            skipped = min(self._skip, len(data) - at)
            at += skipped
            self._skip -= skipped
            if self._skip or len(data) - at < 8 - 3 * self._begun:
                break
            if self._begun:
                (length,) = struct.unpack_from("!I", data, at + 1)
                count += data[at] in COUNTED
                self._skip = length + 1
            else:
                length, code = struct.unpack_from("!II", data, at)
                self._begun = code == STARTUP
                self._skip = length
        self._pending = data[at:]
        return count


@contextlib.contextmanager
def counted(url: str) -> Iterator[Proxy]:
    """A proxy for as long as the block lasts."""
    proxy = Proxy(url)
    try:
        yield proxy
    finally:
        proxy.close()
