"""`/health`: this process answers. `/ready`: it can work, and if not, what is missing."""

import asyncio
import functools
from typing import Literal

import msgspec

from weft.api.operation import Answer, Call, Operation
from weft.base import errors
from weft.base.version import VERSION
from weft.db import migrate

_PATIENCE = 2.0
"""Seconds a database may take to answer and still be called reachable."""


class Health(msgspec.Struct):
    """The process is alive."""

    status: Literal["ok"]
    version: str


class Ready(msgspec.Struct):
    """Whether requests can be served now. `missing` says what is in the way, with the fix."""

    status: Literal["ready", "not_ready"]
    missing: list[str]


async def health(_call: Call[None, None]) -> Health:
    return Health(status="ok", version=VERSION)


async def ready(call: Call[None, None]) -> Answer:
    missing = await _missing(call)
    if missing:
        return Answer(body=Ready(status="not_ready", missing=missing), status=503)
    return Answer(body=Ready(status="ready", missing=[]))


async def _missing(call: Call[None, None]) -> list[str]:
    try:
        async with asyncio.timeout(_PATIENCE), call.engine_tx() as tx:
            found = await migrate.status(tx.connection, _ours())
        migrate.refuse(found)
    except TimeoutError:
        return [f"the database does not answer within {_PATIENCE:g} s; is it running, and is DATABASE_URL right?"]
    except errors.DatabaseError as error:
        return [f"the database cannot be used: {error.message}"]
    return [f"the database lacks {one.name}; run `weft migrate up`" for one in found if one.state == "pending"]


@functools.cache
def _ours() -> list[migrate.Migration]:
    return migrate.ours()


OPERATIONS = (
    Operation("GET", "/health", action="public", handler=health, summary="Whether this process is alive", answer=Health),
    Operation(
        "GET", "/ready", action="public", handler=ready, summary="Whether this process can serve requests", answer=Ready,
        also={503: "Not now; `missing` says why."},
    ),
)  # fmt: skip
