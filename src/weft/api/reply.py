"""What goes back: an answer as bytes with its headers, compressed where that pays, or piece by piece."""

import asyncio
import dataclasses
import gzip
import hashlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.types import Receive, Send

from weft.api.dialect import WEFT, Dialect
from weft.api.operation import Answer, Operation, Stream
from weft.base import errors, json

_WORTH_GZIP = 1024
_LEVEL = 4
_RETRY_AFTER = {429: "1", 503: "2"}
"""Seconds after which to try again, unless the error says."""


@dataclasses.dataclass
class Reply:
    """A status, headers and a body."""

    status: int
    body: bytes | AsyncIterator[bytes] = b""
    headers: dict[str, str] = dataclasses.field(default_factory=dict)


def of(answer: Any, operation: Operation) -> Reply:
    """What a handler answered, written as the operation says."""
    if isinstance(answer, Stream):
        return Reply(operation.status, answer.pieces, {"content-type": answer.media_type, "cache-control": "no-store"})
    status, headers = operation.status, {}
    if isinstance(answer, Answer):
        status, headers, answer = answer.status or status, dict(answer.headers), answer.body
    if status == 204 or (answer is None and operation.answer is None):
        return Reply(status, b"", headers)
    body = answer if isinstance(answer, bytes) else json.dumps(answer)
    return Reply(status, body, {"content-type": operation.media_type, **headers})


def refusal(error: errors.WeftError, *, request_id: str, dialect: Dialect = WEFT) -> Reply:
    """The envelope of an error of ours, and what HTTP wants said with its status."""
    status = dialect.status_of(error)
    headers = {"content-type": "application/json"}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status in _RETRY_AFTER:
        headers["retry-after"] = str(error.details.get("retry_after", _RETRY_AFTER[status]))
    if status == 405:
        headers["allow"] = ", ".join(error.details.get("allow", ()))
    return Reply(status, dialect.write(error, request_id), headers)


def broken(*, request_id: str, dialect: Dialect = WEFT) -> Reply:
    """What is said when the server itself is at fault."""
    return Reply(500, dialect.write(None, request_id), {"content-type": "application/json"})


def tagged(reply: Reply, *, if_none_match: str | None) -> Reply:
    """The reply with its ETag; 304 and nothing else if the client has it already."""
    if reply.status != 200 or not isinstance(reply.body, bytes):
        return reply
    tag = f'W/"{hashlib.sha256(reply.body).hexdigest()[:32]}"'
    reply.headers |= {"etag": tag, "cache-control": "private, no-cache"}
    given = {one.strip().removeprefix("W/") for one in (if_none_match or "").split(",")}
    if "*" in given or tag.removeprefix("W/") in given:
        reply.headers.pop("content-type", None)
        return Reply(304, b"", reply.headers)
    return reply


async def send(reply: Reply, receive: Receive, to: Send, *, accept_encoding: str, head: bool) -> None:
    """Sends it. A text of some size goes compressed to whoever says they can read that."""
    headers = {"cache-control": "no-store", "x-content-type-options": "nosniff", **reply.headers}
    if not isinstance(reply.body, bytes):
        await to({"type": "http.response.start", "status": reply.status, "headers": _raw(headers)})
        if head:
            await to({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await _stream(reply.body, receive, to)
        return
    body = reply.body
    if len(body) >= _WORTH_GZIP:
        headers["vary"] = "accept-encoding"
        if _accepts_gzip(accept_encoding):
            body = gzip.compress(body, _LEVEL, mtime=0)
            headers["content-encoding"] = "gzip"
    if reply.status not in (204, 304):
        headers["content-length"] = str(len(body))
    await to({"type": "http.response.start", "status": reply.status, "headers": _raw(headers)})
    await to({"type": "http.response.body", "body": b"" if head else body, "more_body": False})


async def _stream(pieces: AsyncIterator[bytes], receive: Receive, to: Send) -> None:
    """Sends pieces until there are no more or nobody reads them."""

    async def sending() -> None:
        async for piece in pieces:
            await to({"type": "http.response.body", "body": piece, "more_body": True})
        await to({"type": "http.response.body", "body": b"", "more_body": False})

    async def leaving() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    both = [asyncio.create_task(sending()), asyncio.create_task(leaving())]
    try:
        done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            one.result()
    finally:
        for one in both:
            one.cancel()
        await asyncio.gather(*both, return_exceptions=True)


def _accepts_gzip(header: str) -> bool:
    for one in header.lower().split(","):
        coding, _, parameters = one.partition(";")
        if coding.strip() in ("gzip", "*"):
            return parameters.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
