"""A small ASGI application that records what it is asked and answers what a test wrote, in process or on loopback."""

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator
from typing import Any

import uvicorn


@dataclasses.dataclass
class Asked:
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclasses.dataclass
class Talker:
    """Answers the requests in turn; the last answer stays."""

    answers: list[tuple[int, Any, dict[str, str]]] = dataclasses.field(default_factory=list)
    asked: list[Asked] = dataclasses.field(default_factory=list)
    connections: set[Any] = dataclasses.field(default_factory=set)

    def says(self, status: int, body: Any = None, **headers: str) -> None:
        self.answers.append((status, body, {name.replace("_", "-"): value for name, value in headers.items()}))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.asked.append(Asked(scope["method"], scope["path"], scope["query_string"].decode(), headers, body))
        self.connections.add(scope["client"])
        status, answer, extra = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        chunks = answer if isinstance(answer, list) and answer and isinstance(answer[0], bytes) else [
            b"" if answer is None else answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        ]  # fmt: skip
        head = [(name.encode(), value.encode()) for name, value in extra.items()]
        await send({"type": "http.response.start", "status": status, "headers": head})
        for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


@contextlib.asynccontextmanager
async def listening(app: Any) -> AsyncIterator[str]:
    """The application on a port of its own; answers its address."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]
    serving = asyncio.create_task(server.serve())
    try:
        while not server.started:
            assert not serving.done()
            await asyncio.sleep(0)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await serving
