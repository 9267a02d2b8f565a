"""JSON in and out, one codec and one set of limits.

Payloads and results must be JSON objects or values that PostgreSQL's jsonb can hold: no NUL characters, no
NaN, at most `MAX_BYTES` long and `MAX_DEPTH` deep. Whatever cannot be stored is refused before it is sent.
"""

import decimal
import math
from typing import Any

import msgspec

from weft.base import errors

MAX_BYTES = 256 * 1024
MAX_DEPTH = 64


def _written(value: Any) -> Any:
    """Models of pydantic, which we do not depend on: they say themselves how they are written, and read."""
    if hasattr(type(value), "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"Encoding objects of type {type(value).__qualname__} is unsupported")


def read(type: Any, value: Any) -> Any:
    """`dec_hook` of msgspec: a model from what was written."""
    if hasattr(type, "model_validate"):
        return type.model_validate(value)
    raise NotImplementedError(f"{type!r} cannot be read from JSON")


_encoder = msgspec.json.Encoder(enc_hook=_written)
_decoder = msgspec.json.Decoder()

loads = _decoder.decode
dumps = _encoder.encode


def text(value: Any, *, what: str = "payload") -> str:
    """`value` as JSON text within the limits; InvalidPayload says what is wrong and how to fix it."""
    try:
        encoded = _encoder.encode(value)
    except RecursionError:
        raise _too_deep(what) from None
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise errors.InvalidPayload(f"{what} cannot be written as JSON: {error}") from None
    if len(encoded) > MAX_BYTES:
        raise errors.InvalidPayload(
            f"{what} is {len(encoded):,} bytes of JSON, the limit is {MAX_BYTES:,}; store the data elsewhere "
            f"and pass a reference",
            size=len(encoded),
        )
    if b"\\u0000" in encoded and has_nul(_decoder.decode(encoded)):
        raise _nul(what)
    # what JSON has no number for was written as null
    if b"null" in encoded and not _is_finite(value):
        raise errors.InvalidPayload(f"{what} contains NaN or infinity, which JSON cannot say; use None or text")
    if _is_too_deep(value, encoded):
        raise _too_deep(what)
    return encoded.decode()


def parsed(written: str | bytes, *, what: str = "payload") -> Any:
    """The value of JSON text that somebody else wrote, within the limits; InvalidPayload, or ValueError if it is no JSON."""
    try:
        value = _decoder.decode(written)
    except RecursionError:
        raise _too_deep(what) from None
    plain = written.encode() if isinstance(written, str) else written
    if b"\\u0000" in plain and has_nul(value):
        raise _nul(what)
    if _is_too_deep(value, plain):
        raise _too_deep(what)
    return value


def as_stored(encoded: str) -> str:
    """JSON text as jsonb gives it back: short keys first, whole numbers without an exponent. Whoever goes on with a value
    before it was read from the database must see the same one, in the same order."""
    if "{" not in encoded and "e" not in encoded and "-0" not in encoded:
        return encoded
    return _encoder.encode(_stored(_decoder.decode(encoded))).decode()


def _stored(value: Any) -> Any:
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda item: (len(key := item[0].encode()), key))
        return {key: _stored(inner) for key, inner in ordered}
    if isinstance(value, list):
        return [_stored(inner) for inner in value]
    if isinstance(value, float):
        # what is written with an exponent: jsonb keeps all its digits, and no sign of a zero
        return int(decimal.Decimal(repr(value))) if abs(value) >= 1e16 else value + 0.0
    return value


def depth(value: Any) -> int:
    """How many containers deep `value` is, counted without recursion and no further than it matters."""
    deepest = 0
    stack = [(value, 1)]
    while stack:
        inner, level = stack.pop()
        if isinstance(inner, dict):
            children: Any = inner.values()
        elif isinstance(inner, list | tuple):
            children = inner
        else:
            continue
        deepest = max(deepest, level)
        if deepest > MAX_DEPTH:
            break
        stack.extend((child, level + 1) for child in children)
    return deepest


def has_nul(value: Any) -> bool:
    """Whether a text in `value` contains the one character PostgreSQL cannot store."""
    stack = [value]
    while stack:
        inner = stack.pop()
        if isinstance(inner, str):
            if "\0" in inner:
                return True
        elif isinstance(inner, dict):
            stack.extend(inner)
            stack.extend(inner.values())
        elif isinstance(inner, list):
            stack.extend(inner)
    return False


def _nul(what: str) -> errors.InvalidPayload:
    return errors.InvalidPayload(f"{what} contains a NUL character, which PostgreSQL cannot store; remove it")


def _is_too_deep(value: Any, encoded: bytes) -> bool:
    """Walks through it only if it has brackets enough."""
    return encoded.count(b"[") + encoded.count(b"{") > MAX_DEPTH and depth(value) > MAX_DEPTH


def _too_deep(what: str) -> errors.InvalidPayload:
    return errors.InvalidPayload(f"{what} is nested deeper than {MAX_DEPTH} levels; flatten it")


def _is_finite(value: Any) -> bool:
    stack = [value]
    while stack:
        inner = stack.pop()
        if isinstance(inner, float):
            if not math.isfinite(inner):
                return False
        elif isinstance(inner, dict):
            stack.extend(inner.values())
        elif isinstance(inner, list | tuple):
            stack.extend(inner)
    return True
