"""A POST that is repeated with the same Idempotency-Key happens once and is answered alike.

The key, the effect and the answer commit together: the frame puts the key into the handler's own transaction before
the handler does anything there, and the answer after it. Two at once: the second waits for the first to commit, then
gets its answer. A request that was refused stored nothing, so its key is still free.
"""

import contextlib
import hashlib
import re
from collections.abc import Callable
from typing import Any

from weft.access import idempotency
from weft.access.idempotency import Kept
from weft.api.operation import Call, Operation
from weft.api.reply import Reply
from weft.base import errors
from weft.db.tx import Tx

HEADER = "idempotency-key"

_KEY = re.compile(r"[!-~]{1,255}")


class _Replay(Exception):
    """This was answered before."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept


def fingerprint(operation: Operation, *, path: str, query: bytes, body: bytes) -> bytes:
    """What makes two requests the same one."""
    return hashlib.sha256(b"\0".join([operation.method.encode(), path.encode(), query, body])).digest()


async def once(
    operation: Operation, call: Call[Any, Any], *, key: str, request: bytes, write: Callable[[Any], Reply]
) -> Reply:
    """The handler's answer, or the one it gave the first time."""
    org = call.principal.org
    if not _KEY.fullmatch(key):
        raise errors.InvalidInput("the Idempotency-Key must be 1-255 visible ASCII characters, such as a UUID")

    async def prepare(tx: Tx) -> None:
        if (kept := await idempotency.begin(tx, org=org, key=key, request=request)) is not None:
            raise _Replay(kept)

    async with contextlib.AsyncExitStack() as stack:
        call.shared, call.prepare = stack, prepare
        try:
            reply = write(await operation.handler(call))
        except _Replay as replay:
            headers = {"content-type": operation.media_type, "idempotent-replayed": "true"}
            return Reply(replay.kept.status, replay.kept.answer.encode(), headers)
        if call.opened is None or not isinstance(reply.body, bytes):
            raise RuntimeError(f"{operation.name} is idempotent but stored nothing through call.tx()")
        await idempotency.end(call.opened, org=org, key=key, status=reply.status, answer=reply.body.decode())
    return reply
