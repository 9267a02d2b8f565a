"""The application on a real port: listening, serving until told to stop, and refusing to open a door without a lock."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from weft.access import keys, oidc
from weft.api.endpoint import Service
from weft.base import errors
from weft.db.database import Database
from weft.live import protocol
from weft.net import address as addresses

_BACKLOG = 512
_GRACE = 10
"""Seconds that requests may take to end when the server stops."""
_KEEP_ALIVE = 65
"""Longer than the minute that load balancers keep a connection for: they must be the first to let go."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections; ConfigError, with the reason, if that is not possible. Port 0: any free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        raise errors.ConfigError(f"cannot listen on {host} port {port}: {error}; choose another --host or --port") from None
    # connections inherit it. asyncio leaves it out for sockets made so, and every answer then takes 40 ms
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def address(listener: socket.socket) -> str:
    """Where a listener is reached, as a URL."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def must_be_guarded(database: Database, *, host: str) -> None:
    """ConfigError if others could reach this address and there is no credential yet: no key, and no issuer of tokens."""
    if addresses.is_loopback(host) or oidc.configured(database.settings) is not None:
        return
    async with database.once() as tx:
        if not await keys.exist(tx):
            raise errors.ConfigError(
                f"refusing to listen on {host} before any key exists: make one with `weft key create NAME --role admin`, "
                f"set WEFT_OIDC_ISSUER, or listen on 127.0.0.1"
            )


@contextlib.asynccontextmanager
async def serving(app: Starlette, *, listener: socket.socket) -> AsyncIterator[None]:
    """Serves while the block lasts; then lets requests end, and tells those that wait."""
    config = uvicorn.Config(
        app, http="httptools", ws=Abortable, lifespan="off", log_config=None, access_log=False, server_header=False,
        timeout_keep_alive=_KEEP_ALIVE, timeout_graceful_shutdown=_GRACE, proxy_headers=False,
        # compression would keep some 300 kB for each connection
        ws_max_size=protocol.LONGEST_MESSAGE, ws_ping_interval=20, ws_ping_timeout=60, ws_per_message_deflate=False,
    )  # fmt: skip
    server = _Server(config)
    service: Service = app.state.service
    running = asyncio.create_task(server.serve(sockets=[listener]), name="weft http")
    try:
        while not server.started and not running.done():
            await asyncio.sleep(0.005)
        yield
    finally:
        service.waiting.closed.set()
        server.should_exit = True
        await asyncio.gather(running, return_exceptions=True)
        await service.ledger.close()
        listener.close()


class Abortable(WebSocketsSansIOProtocol):
    """Lets the application hang up on a client that does not read: closing would wait for it to read the rest."""

    async def run_asgi(self) -> None:
        self.scope["weft.abort"] = self.transport.abort  # type: ignore[typeddict-unknown-key]
        await super().run_asgi()


class _Server(uvicorn.Server):
    """Leaves signals to whoever runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
