"""A small real HTTP server on loopback that records what it got and answers what a test wrote."""

import asyncio
import dataclasses
import ssl
from collections.abc import Awaitable, Callable


@dataclasses.dataclass
class Received:
    """One request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    to: str


@dataclasses.dataclass
class Server:
    """Answers by target; an answer is raw bytes, or a function that writes them."""

    port: int = 0
    answers: dict[str, bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]] = dataclasses.field(
        default_factory=dict
    )
    received: list[Received] = dataclasses.field(default_factory=list)

    def answer(self, target: str, body: bytes = b"", *, status: str = "200 OK", headers: str = "") -> None:
        head = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{headers}\r\n"
        self.answers[target] = head.encode() + body

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, target, _ = head.split(" ", 2)
            lines = (line.partition(":") for line in head.split("\r\n")[1:] if line)
            headers = {name.lower(): value.strip() for name, _, value in lines}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            to = writer.get_extra_info("sockname")[0]
            self.received.append(Received(method, target, headers, body, to))
            answer = self.answers.get(target, b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def run(server: Server, tls: ssl.SSLContext | None = None) -> asyncio.Server:
    """Listens on every loopback address, so that tests can tell 127.0.0.1 from 127.0.0.2."""
    listening = await asyncio.start_server(server.serve, "0.0.0.0", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    return listening
