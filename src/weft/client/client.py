"""One server, spoken to in JSON.

async with Client("https://weft.example.com", key="weft_…") as client:
    made = await client.post("/v1/tasks", {"kind": "send_email", "payload": {"to": "ada"}}, repeat=True)
    async for task in client.pages("/v1/tasks", query={"state": "failed"}):
        print(task["id"])
"""

import asyncio
import contextlib
import datetime as dt
import random
import urllib.parse
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, TypeVar, overload

import msgspec

from weft.base import errors
from weft.base.version import VERSION
from weft.client import refusal, streams
from weft.client.streams import Event
from weft.net.guard import Unreachable
from weft.net.mounted import Asgi
from weft.net.session import Answer, NotSent, Question, Session

T = TypeVar("T")
Query = Mapping[str, Any]

TRIES = 4
TIMEOUT = 30.0
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 10.0
_LATER = frozenset({502, 503, 504})
"""Answers of something between us and the server, or of a server whose database is away."""
_SAFE = frozenset({"GET", "HEAD"})


class Client:
    """A server. Cheap to make, connects on first use, keeps its connections. Close it, or use it in `async with`."""

    def __init__(
        self, url: str, key: str | None = None, *, transport: Asgi | None = None, timeout: float = TIMEOUT,
        tries: int = TRIES, connections: int = 100,
    ) -> None:  # fmt: skip
        """`transport` is the server's application in this process: then nothing leaves it, and the url is only shown."""
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise errors.ConfigError(f"{url!r} is not the address of a server; write https://weft.example.com")
        headers = {"user-agent": f"weft/{VERSION}", "accept": "application/json"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        self.url = url.rstrip("/")
        self._session = Session(self.url, headers=_sendable(headers), connections=connections, app=transport)
        self._timeout = timeout
        self._tries = tries

    # one call

    @overload
    async def get(self, path: str, *, query: Query | None = ..., timeout: float | None = ...) -> Any: ...
    @overload
    async def get(self, path: str, *, query: Query | None = ..., timeout: float | None = ..., type: type[T]) -> T: ...
    async def get(self, path: str, *, query: Query | None = None, timeout: float | None = None, type: Any = Any) -> Any:
        """The answer of a GET, decoded."""
        return await self.call("GET", path, query=query, timeout=timeout, type=type)

    async def post(
        self, path: str, body: object = None, *, query: Query | None = None, key: str | None = None,
        repeat: bool = False, headers: Mapping[str, str] | None = None, timeout: float | None = None, type: Any = Any,
    ) -> Any:  # fmt: skip
        """The answer of a POST. With `key` it carries that Idempotency-Key, with `repeat` a fresh one: it may then be
        sent again if the first answer gets lost, and is still done once."""
        key = key or (uuid.uuid4().hex if repeat else None)
        return await self.call(
            "POST", path, body, query=query, headers=headers, key=key, timeout=timeout, type=type
        )  # fmt: skip

    async def put(self, path: str, body: object = None, *, timeout: float | None = None, type: Any = Any) -> Any:
        return await self.call("PUT", path, body, timeout=timeout, type=type)

    async def patch(self, path: str, body: object = None, *, timeout: float | None = None, type: Any = Any) -> Any:
        return await self.call("PATCH", path, body, timeout=timeout, type=type)

    async def delete(self, path: str, *, query: Query | None = None, timeout: float | None = None) -> Any:
        return await self.call("DELETE", path, query=query, timeout=timeout)

    async def call(
        self, method: str, path: str, body: object = None, *, query: Query | None = None,
        headers: Mapping[str, str] | None = None, key: str | None = None, timeout: float | None = None, type: Any = Any,
    ) -> Any:  # fmt: skip
        """Sends, again if that is harmless, and answers the decoded body (None if there is none)."""
        question = self._question(
            method, path, body, query=query, headers=headers, key=key, timeout=timeout or self._timeout
        )  # fmt: skip
        answer = await self._send(question, harmless=method in _SAFE or key is not None)
        if not 200 <= answer.status < 300:
            raise refusal.error(answer, method=method, url=self.url + path)
        return _decoded(answer, type=type, url=self.url + path)

    # many answers

    async def pages(self, path: str, *, query: Query | None = None, most: int | None = None) -> AsyncIterator[Any]:
        """The items of a list, page after page, at most so many."""
        wanted: dict[str, Any] = dict(query or {})
        if most is not None:
            wanted["limit"] = min(most, int(wanted.get("limit") or 500), 500)
        given = 0
        while True:
            page = await self.get(path, query=wanted)
            for item in page["items"]:
                if most is not None and given >= most:
                    return
                given += 1
                yield item
            if page.get("next_cursor") is None:
                return
            wanted["cursor"] = page["next_cursor"]

    async def stream(
        self, path: str, *, query: Query | None = None, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[Event, None]:
        """What a streaming answer (SSE or a JSON value per line) says, as it says it, until it ends. Who leaves it sooner
        closes it, by `contextlib.aclosing`."""
        accept = {"accept": "text/event-stream, application/x-ndjson;q=0.9", **(headers or {})}
        question = self._question("GET", path, None, query=query, headers=accept, key=None, timeout=None)
        async with self._session.stream(question) as (head, lines):
            if head.status != 200:
                raise refusal.error(head, method="GET", url=self.url + path)
            async with contextlib.aclosing(streams.events(lines, kind=head.headers.get("content-type", ""))) as found:
                async for event in found:
                    yield event

    # life

    async def close(self) -> None:
        await self._session.close()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def _question(
        self, method: str, path: str, body: object, *, query: Query | None, headers: Mapping[str, str] | None,
        key: str | None, timeout: float | None,
    ) -> Question:  # fmt: skip
        sent = dict(headers or {})
        if key is not None:
            sent["idempotency-key"] = key
        if body is not None:
            sent.setdefault("content-type", "application/json")
        encoded = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        return Question(
            method=method, path=path, query=_pairs(query or {}), headers=_sendable(sent), body=encoded, timeout=timeout
        )  # fmt: skip

    async def _send(self, question: Question, *, harmless: bool) -> Answer:
        for attempt in range(1, self._tries + 1):
            last = attempt == self._tries
            try:
                answer = await self._session.send(question)
            except NotSent:
                if last:
                    raise
                pause = backoff(attempt)
            except Unreachable:
                if last or not harmless:
                    raise
                pause = backoff(attempt)
            else:
                # 429: nothing was done, whatever was asked
                if last or not (answer.status == 429 or (harmless and answer.status in _LATER)):
                    return answer
                pause = _asked(answer, otherwise=backoff(attempt))
            await asyncio.sleep(pause)
        raise AssertionError("the last try returns or raises")


def path(template: str, *parts: object) -> str:
    """`path("/v1/tasks/{}", id)`: each part as one segment, whatever characters it has."""
    return template.format(*(urllib.parse.quote(str(part), safe="") for part in parts))


def backoff(attempt: int) -> float:
    """Seconds to wait after the given failed try: doubling, and spread so that many clients do not return at once."""
    pause: float = _FIRST_PAUSE * 2 ** (attempt - 1)
    return min(pause, _LONGEST_PAUSE) * random.uniform(0.5, 1.0)


def _asked(answer: Answer, *, otherwise: float) -> float:
    """What Retry-After says, in seconds, within reason."""
    text = answer.headers.get("retry-after", "")
    return min(float(text), _LONGEST_PAUSE) if text.isdecimal() else otherwise


def _pairs(query: Query) -> list[tuple[str, str]]:
    """A query in text; None is left out, a list is repeated."""
    pairs = []
    for name, value in query.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is not None:
                pairs.append((name, _text(one)))
    return pairs


def _text(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case dt.datetime():
            return value.isoformat()
        case _:
            return str(value)


def _sendable(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not value.isascii() or not value.isprintable():
            raise errors.ConfigError(f"the header {name} has characters that cannot be sent; is the key complete?")
    return dict(headers)


def _decoded(answer: Answer, *, type: Any, url: str) -> Any:
    if not answer.body:
        return None
    try:
        return msgspec.json.decode(answer.body, type=type)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.WeftError(f"{url} answered something else than expected: {error}; is it a Weft server?") from None
