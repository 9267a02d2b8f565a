"""Watching a server's things over its WebSocket, from Python. A connection that breaks is made again, and nothing is missed.

    async for task in live.watch("https://weft.example.com", key, "task", id=id):
        print(task["state"])
"""

import asyncio
import random
import ssl
import urllib.parse
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import websockets
from websockets.asyncio.client import ClientConnection

from weft.base import errors
from weft.base.version import VERSION
from weft.client import refusal
from weft.net.guard import Unreachable
from weft.net.session import Answer

_LARGEST = 1024 * 1024
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 10.0
_RIGHTS = 4401


async def watch(url: str, key: str | None, subject: str, /, **args: Any) -> AsyncIterator[Any]:
    """What a subject is, and again whenever that changed, until you stop; docs/reference/live.md lists what there is.

    Raises what the server refuses with. While it cannot be reached it is tried again; what changed meanwhile comes then.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise errors.ConfigError(f"{url!r} is not the address of a server; write https://weft.example.com")
    address = parts._replace(scheme="wss" if parts.scheme == "https" else "ws").geturl().rstrip("/") + "/v1/live"
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    wanted: dict[str, Any] = {"type": "subscribe", "id": "it", "subject": subject, "args": dict(args)}
    session, tries = "", 0
    seen: list[Any] = []
    while True:
        try:
            async with websockets.connect(
                address + session, additional_headers=headers, user_agent_header=f"weft/{VERSION}", proxy=None,
                max_size=_LARGEST, compression=None,
            ) as socket:  # fmt: skip
                session = "?session=" + str((await _next(socket))["session"])
                await socket.send(msgspec.json.encode(wanted).decode())
                while True:
                    message = await _next(socket)
                    tries = 0
                    if message["type"] == "error":
                        raise refusal.named(message["code"], message["message"])
                    if message["type"] == "data":
                        _remember(wanted, message)
                        # who comes back may be shown what it has seen
                        if subject == "log" or seen != [message["data"]]:
                            seen = [message["data"]]
                            yield message["data"]
        except websockets.InvalidStatus as refused:
            said = refused.response
            answer = Answer(said.status_code, dict(said.headers), bytes(said.body or b""))
            if answer.status != 429 and answer.status < 500:
                raise refusal.error(answer, method="GET", url=url + "/v1/live") from None
        except websockets.ConnectionClosed as closed:
            if closed.rcvd is not None and closed.rcvd.code == _RIGHTS:
                # if the credential does not stand any more we are not let in; with other rights something else may be shown
                session = ""
                wanted.pop("cursor", None)
        except (OSError, TimeoutError, websockets.WebSocketException) as error:
            if isinstance(error, ssl.SSLCertVerificationError):
                raise Unreachable(f"{url} cannot be trusted: {error}") from None
        tries += 1
        await asyncio.sleep(min(_FIRST_PAUSE * 2**tries, _LONGEST_PAUSE) * random.uniform(0.5, 1.0))


def _remember(wanted: dict[str, Any], message: Any) -> None:
    """Where to go on from if the connection breaks: of a log after its last line, of all else at the feed's cursor."""
    if wanted["subject"] == "log":
        if message["data"]:
            wanted["args"]["after"] = message["data"][-1]["id"]
    else:
        wanted["cursor"] = message["cursor"]


async def _next(socket: ClientConnection) -> Any:
    return msgspec.json.decode(await socket.recv())
