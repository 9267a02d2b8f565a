"""An ASGI application in this process, called as if it were across a network, answers streaming as they are made.

The HTTP library's own transport for this hands out an answer only when it is complete, so a log could not be followed.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

import httpx2

from weft.base.background import Background

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_AHEAD = 16
"""Chunks of an answer made before they are read."""


class Mounted(httpx2.AsyncBaseTransport):
    """Runs the application once for each request, in a task that ends with the answer or when nobody reads on. When this is
    closed, all of them have ended: what they work with may then be taken away."""

    def __init__(self, app: Asgi) -> None:
        self._app = app
        self._exchanges: set[_Exchange] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = _Exchange(await request.aread())
        exchange.running = Background(self._run(request, exchange), name=f"weft {request.method} {request.url.path}")
        self._exchanges.add(exchange)
        try:
            start = await exchange.messages.get()
        except asyncio.CancelledError:
            await exchange.aclose()
            raise
        if start is None:
            await exchange.running.ended()  # raises what broke it
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
        except asyncio.CancelledError:
            exchange.forget()
            raise
        finally:
            self._exchanges.discard(exchange)
            await exchange.messages.put(None)

    async def aclose(self) -> None:
        # whoever left a stream before its end may not have closed it: Python does so some time later
        for exchange in list(self._exchanges):
            await exchange.aclose()


class _Exchange(httpx2.AsyncByteStream):
    """One request and its answer, message by message; None is the end."""

    def __init__(self, body: bytes) -> None:
        self.messages: asyncio.Queue[Message | None] = asyncio.Queue(_AHEAD)
        self.running: Background | None = None
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
            await self.running.ended()

    def forget(self) -> None:
        """Nobody reads on: what is still there would leave no room for the end."""
        while not self.messages.empty():
            self.messages.get_nowait()

    async def aclose(self) -> None:
        self._over.set()
        if self.running is not None:
            await self.running.end()
