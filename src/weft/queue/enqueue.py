"""Enqueueing, one or many, on our own connection or on yours."""

import uuid
from collections.abc import Sequence
from typing import Any

from weft.base import errors, ids, json, names
from weft.db import foreign, statements
from weft.db.lean import Lean
from weft.db.tx import Tx
from weft.queue import lanes
from weft.queue.model import Enqueued

SQL = statements.load("weft.queue")

SIMPLE = Lean("enqueue_simple", SQL.enqueue_simple)
"""What a connection for `one` should know."""
_PLAIN = Lean("enqueue_plain", SQL.enqueue_plain)
_MANY = Lean("enqueue_many_plain", SQL.enqueue_many_plain)

_SELDOM = tuple(name for name in _PLAIN.parameters if name not in SIMPLE.parameters)

CHUNK = 5000
"""Payloads per statement of a bulk enqueue."""


async def one(tx: Tx, arguments: dict[str, Any]) -> Enqueued:
    """Stores a task made by `new.arguments`."""
    if arguments["dedupe_key"] is not None or arguments["concurrency_key"] is not None:
        row = await tx.row(SQL.enqueue, arguments)
        assert row is not None  # it always answers
        return Enqueued(row[0], row[1])
    arguments["lane"] = lanes.name(arguments["queue"], arguments["capabilities"])
    id = (await tx.lean(_PLAIN if any(map(arguments.get, _SELDOM)) else SIMPLE, arguments))[0]
    return Enqueued(uuid.UUID(id))


def chunks(payloads: Sequence[Any], *, dedupe_keys: Sequence[str] | None) -> list[dict[str, Any]]:
    """Bulk arguments in pieces, every payload checked before the first is sent."""
    if dedupe_keys is not None and len(dedupe_keys) != len(payloads):
        raise errors.InvalidInput(f"{len(payloads)} payloads need as many dedupe_keys, not {len(dedupe_keys)}")
    pieces = []
    for start in range(0, len(payloads), CHUNK):
        piece = payloads[start : start + CHUNK]
        keys = dedupe_keys and [names.check_key(key, what="dedupe_key") for key in dedupe_keys[start : start + CHUNK]]
        pieces.append({"payloads": _array(piece), "dedupe_keys": keys, "count": len(piece)})
    return pieces


async def many(tx: Tx, common: dict[str, Any], *, pieces: Sequence[dict[str, Any]]) -> list[Enqueued]:
    """Stores tasks of one kind, a statement per piece, in one transaction if the caller opened one."""
    found: list[Enqueued] = []
    common = {**common, "lane": lanes.name(common["queue"], common["capabilities"])}
    for piece in pieces:
        if piece["dedupe_keys"] is None:
            first = uuid.UUID((await tx.lean(_MANY, common | piece))[0])
            found += map(Enqueued, ids.following(first, piece["count"]))
        else:
            # each may be there already
            found += [Enqueued(*row) for row in await tx.rows(SQL.enqueue_keyed, common | piece)]
    return found


async def one_on(connection: Any, arguments: dict[str, Any]) -> Enqueued:
    """Stores a task in a transaction that is yours: it is there if and when you commit."""
    return Enqueued(*(await foreign.rows(connection, SQL.enqueue, arguments))[0])


async def many_on(connection: Any, common: dict[str, Any], *, pieces: Sequence[dict[str, Any]]) -> list[Enqueued]:
    found: list[Enqueued] = []
    for piece in pieces:
        found += [Enqueued(*row) for row in await foreign.rows(connection, _statement(piece), common | piece)]
    return found


async def kind_is_served(tx: Tx, kind: str) -> bool:
    """Whether a live worker knows this kind."""
    return bool(await tx.value(SQL.kind_is_served, {"kind": kind}))


def _statement(piece: dict[str, Any]) -> str:
    """Without keys one insert does it; with them each may be there already."""
    return SQL.enqueue_many if piece["dedupe_keys"] is None else SQL.enqueue_keyed


def _array(payloads: Sequence[Any]) -> str:
    """Payloads as one JSON array. Encoded together, which is fast, and looked at one by one only if that could matter."""
    for payload in payloads:
        if not isinstance(payload, dict):
            raise errors.InvalidPayload(f"every payload must be a dict of arguments, not {type(payload).__name__}")
    try:
        together = json.dumps(payloads)
    except (TypeError, ValueError, RecursionError):
        together = b""
    small = 0 < len(together) <= json.MAX_BYTES and b"\\u0000" not in together and b"null" not in together
    if small and together.count(b"{") + together.count(b"[") <= len(payloads) + json.MAX_DEPTH:
        return together.decode()
    return "[" + ",".join(json.text(payload) for payload in payloads) + "]"
