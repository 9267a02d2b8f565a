"""Streaming answers, read line by line: server-sent events, or a JSON value on each line."""

import dataclasses
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import msgspec

from weft.base import errors


@dataclasses.dataclass(frozen=True)
class Event:
    """One thing a stream said. `name` and `id` are those of SSE, if it gave any; `data` is decoded JSON."""

    data: Any
    name: str = "message"
    id: str | None = None


async def events(lines: AsyncIterator[str], *, kind: str) -> AsyncGenerator[Event, None]:
    """Reads a stream of the content type `kind`."""
    if kind.startswith("text/event-stream"):
        async for event in _sent(lines):
            yield event
        return
    async for line in lines:
        if line.strip():
            yield Event(_value(line))


async def _sent(lines: AsyncIterator[str]) -> AsyncIterator[Event]:
    """Server-sent events: fields line by line, an empty line ends each; a line that begins with a colon is a comment."""
    data: list[str] = []
    name, last = "message", None
    async for line in lines:
        if not line:
            if data:
                yield Event(_value("\n".join(data)), name, last)
            data, name = [], "message"
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "data":
                data.append(value)
            case "event":
                name = value
            case "id":
                last = value
            case _:
                pass  # a comment that keeps the connection alive, or a field we do not know


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise errors.WeftError(f"the stream said something that is not JSON: {error}") from None
