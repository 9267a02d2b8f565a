"""From the bytes of a request to the values its operation takes. Whatever does not fit is refused, with the fix."""

import datetime as dt
import functools
import re
import types
import typing
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from starlette.types import Receive

from weft.api import fields
from weft.api.operation import Operation
from weft.base import errors, json

_MAX_DEPTH = json.MAX_DEPTH + 8
"""A payload may be 64 deep; it lies in a body."""

_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json\s*(?:;\s*charset\s*=\s*\"?utf-?8\"?\s*)?", re.IGNORECASE)


_SHAPES = {
    "text": re.compile(r".*", re.DOTALL),
    "value": re.compile(r"(?!null$).+", re.DOTALL | re.IGNORECASE),
    "number": re.compile(r"-?\d{1,19}(\.\d{1,20})?([eE][+-]?\d{1,3})?", re.ASCII),
    "bool": re.compile(r"true|false"),
    "instant": re.compile(r"\d{4}-\d{2}-\d{2}[Tt].{1,40}", re.ASCII),
}
"""How values look in a query. msgspec would also take `nan`, `null`, and a number for a time."""

_MEANT = {
    "text": "text",
    "value": "a value, or left out",
    "number": "a number",
    "bool": "true or false",
    "instant": "a time such as 2026-01-05T09:30:00Z",
}


_WHOLE = re.compile(r"Expected `[^`]*\bint\b[^`]*`, got `float` - at `\$(?P<place>(\.\w+|\[\d+\])+)`$")
_MOST_WHOLE = 100


class Gone(Exception):
    """The client left before its request was complete."""


async def read(receive: Receive, *, headers: Mapping[str, str], most: int) -> bytes:
    """The body, no more of it than allowed."""
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > most:
        raise _too_large(most)
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        piece = message.get("body", b"")
        size += len(piece)
        if size > most:
            raise _too_large(most)
        pieces.append(piece)
        if not message.get("more_body", False):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


async def left(receive: Receive) -> None:
    """Returns when the client has gone away. Only after its body was read."""
    while (await receive())["type"] != "http.disconnect":
        pass


def body(operation: Operation, raw: bytes, *, headers: Mapping[str, str]) -> Any:
    """The JSON body as the operation's type; None for an operation without one."""
    if operation.body is None:
        if raw:
            raise errors.InvalidInput(f"{operation.name} takes no body; leave it out")
        return None
    if operation.optional_body and not raw:
        return msgspec.json.decode(b"{}", type=operation.body)
    if "content-encoding" in headers:
        raise errors.UnsupportedMedia("compressed requests are not taken; send plain JSON without Content-Encoding")
    if not _JSON.fullmatch(headers.get("content-type", "")):
        raise errors.UnsupportedMedia("the body must be JSON; send it with Content-Type: application/json")
    try:
        found = _decoded(raw, operation.body)
    except msgspec.ValidationError as error:
        raise errors.InvalidInput(_explained(error, of="body")) from None
    except msgspec.DecodeError as error:
        raise errors.InvalidInput(f"the body is not valid JSON: {error}") from None
    except (RecursionError, UnicodeDecodeError, OverflowError):
        raise errors.InvalidInput(f"the body is nested deeper than {_MAX_DEPTH} levels or is not UTF-8") from None
    if raw.count(b"[") + raw.count(b"{") > _MAX_DEPTH and json.depth(json.loads(raw)) > _MAX_DEPTH:
        raise errors.InvalidInput(f"the body is nested deeper than {_MAX_DEPTH} levels; flatten it")
    if b"\\u0000" in raw and json.has_nul(json.loads(raw)):
        raise errors.InvalidInput("the body contains a NUL character, which PostgreSQL cannot store; remove it")
    return found


def query(operation: Operation, raw: bytes) -> Any:
    """The query string as the operation's Struct; a parameter that is a list may come more than once."""
    if not raw:
        pairs = []
    else:
        try:
            pairs = urllib.parse.parse_qsl(
                raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=200
            )  # fmt: skip
        except (UnicodeDecodeError, ValueError):
            raise errors.InvalidInput("the query string is not valid; encode it as UTF-8 and %-escape it") from None
    if operation.query is None:
        if pairs:
            raise errors.InvalidInput(f"{operation.name} takes no query parameters; leave {pairs[0][0]!r} out")
        return None
    given: dict[str, Any] = {}
    shapes = _shapes(operation.query)
    for name, value in pairs:
        if "\0" in value or "\0" in name:
            raise errors.InvalidInput("the query contains a NUL character; remove it")
        shape, many = shapes.get(name, ("text", False))
        if not many and name in given:
            raise errors.InvalidInput(f"the parameter {name!r} was given twice; give it once")
        if not _SHAPES[shape].fullmatch(value):
            raise errors.InvalidInput(f"the parameter {name!r} is {value[:80]!r}, but must be {_MEANT[shape]}")
        if many:
            given.setdefault(name, []).append(value)
        else:
            given[name] = value
    try:
        return msgspec.convert(given, operation.query, strict=False)
    except msgspec.ValidationError as error:
        raise errors.InvalidInput(_explained(error, of="query")) from None


def _decoded(raw: bytes, kind: Any) -> Any:
    """The body as its type. To JSON 90.0 is a whole number, to msgspec it is not: such are looked at again."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        if not _WHOLE.match(str(error)):
            raise
    value = json.loads(raw)
    for _ in range(_MOST_WHOLE):
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            if not (found := _WHOLE.match(str(error))) or not _made_whole(value, found["place"]):
                raise
    return msgspec.convert(value, kind)


def _made_whole(value: Any, place: str) -> bool:
    """Turns the number at a place such as `.tasks[0].priority` into the whole number that it is; False if it is none."""
    *steps, last = [int(step) if step.isdecimal() else step for step in re.findall(r"\w+", place)]
    for step in steps:
        value = value[step]
    if not isinstance(value[last], float) or not value[last].is_integer():
        return False
    value[last] = int(value[last])
    return True


@functools.cache
def _shapes(kind: Any) -> dict[str, tuple[str, bool]]:
    """For each field of a Struct what its text must look like, and whether it may come more than once."""
    return {one.encode_name: (_shape(one.type), _many(one.type)) for one in msgspec.structs.fields(kind)}


def _shape(kind: Any) -> str:
    kinds = set(_leaves(kind))
    if kinds == {bool}:
        return "bool"
    if kinds == {dt.datetime}:
        return "instant"
    if kinds <= {int, float}:
        return "number"
    return "text" if str in kinds else "value"


def _many(kind: Any) -> bool:
    origin = typing.get_origin(kind)
    if origin in (typing.Annotated, typing.Union, types.UnionType):
        return any(_many(one) for one in typing.get_args(kind))
    return origin in (list, tuple, set, frozenset)


def _leaves(kind: Any) -> Iterator[Any]:
    """The plain types a type is made of, but None."""
    if typing.get_origin(kind) is typing.Annotated:
        yield from _leaves(typing.get_args(kind)[0])
    elif typing.get_origin(kind) in (typing.Union, types.UnionType, list, tuple, set, frozenset):
        for one in typing.get_args(kind):
            yield from _leaves(one)
    elif kind is not type(None):
        yield kind


def _explained(error: msgspec.ValidationError, *, of: str) -> str:
    """msgspec's words, with the place as people write it: `payload.to` for `$.payload.to`."""
    text = str(error)
    message, _, place = text.partition(" - at `")
    where = place.removesuffix("`").removeprefix("$").removeprefix(".")
    for pattern, meant in fields.MEANT.items():
        if message == f"Expected `str` matching regex {pattern!r}":
            message = f"use {meant}"
    return f"the {of} is not valid: {message[:1].lower() + message[1:]}" + (f" (at {where})" if where else "")


def _too_large(most: int) -> errors.TooLarge:
    return errors.TooLarge(f"the body is larger than {most:,} bytes; send less at a time", limit=most)
