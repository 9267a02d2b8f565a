"""An ASGI application in this process, called as if it were across a network, answers streaming as they are made.

The HTTP library's own transport for this hands out an answer only when it is complete, so a log could not be followed.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

import httpx2

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_AHEAD = 16
"""Chunks of an answer made before they are read."""


class Mounted(httpx2.AsyncBaseTransport):
    """Runs the application once for each request, in a task that ends with the answer or when nobody reads on."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = _Exchange(await request.aread())
        exchange.running = asyncio.create_task(self._run(request, exchange))
        try:
            start = await exchange.messages.get()
        except asyncio.CancelledError:
            await exchange.aclose()
            raise
        if start is None:
            await exchange.running  # raises what broke it
            raise httpx2.RemoteProtocolError("the application ended without an answer", request=request)
        return httpx2.Response(start["status"], headers=start.get("headers", []), stream=exchange)

    async def _run(self, request: httpx2.Request, exchange: "_Exchange") -> None:
        url = request.url
        scope: Message = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": request.method,
            "headers": [(name.lower(), value) for name, value in request.headers.raw], "scheme": url.scheme,
            "path": url.path, "raw_path": url.raw_path.split(b"?")[0], "query_string": url.query, "root_path": "",
            "server": (url.host, url.port), "client": ("127.0.0.1", 0),
        }  # fmt: skip
        try:
            await self._app(scope, exchange.receive, exchange.send)
        finally:
            await exchange.messages.put(None)


class _Exchange(httpx2.AsyncByteStream):
    """One request and its answer, message by message; None is the end."""

    def __init__(self, body: bytes) -> None:
        self.messages: asyncio.Queue[Message | None] = asyncio.Queue(_AHEAD)
        self.running: asyncio.Task[None] | None = None
        self._body: bytes | None = body
        self._over = asyncio.Event()

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._over.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self.messages.put(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._over.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self.messages.get()) is not None:
            if body := message.get("body", b""):
                yield body
        if self.running is not None:
            await self.running

    async def aclose(self) -> None:
        self._over.set()
        if self.running is not None and not self.running.done():
            self.running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.running
