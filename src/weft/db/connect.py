"""Connections of three classes, each with the limits that keep a dead peer from holding anything up.

- work: short statements; a stuck one is ended by the server, a dead network by tcp_user_timeout.
- reserved: heartbeat, liveness lock, leadership, LISTEN. Direct (never through a transaction pooler).
- owner: migrations, which may take long.

In a partition a query in flight is freed only by tcp_user_timeout and an idle LISTEN only by keepalives, so both
are set on both ends.
"""

import asyncio
import time
from typing import Any, Literal, Self

import psycopg
from psycopg import conninfo
from psycopg.rows import TupleRow
from psycopg.types import json as psycopg_json

from weft.base import errors, json
from weft.db import arrays, tx, wire

Purpose = Literal["work", "reserved", "owner"]

_PAUSE = 0.2
_PATIENCE = 30.0

_CLIENT_TCP = {
    "connect_timeout": "10",
    "keepalives": "1",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
_SERVER_TCP = {
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
_SESSION = {
    "work": {
        **_SERVER_TCP,
        "role": "weft_engine",
        "timezone": "UTC",
        "statement_timeout": "30s",
        "lock_timeout": "10s",
        "idle_in_transaction_session_timeout": "10s",
        # one plan per statement: custom plans of hot batches flip to scans when a batch grows
        "plan_cache_mode": "force_generic_plan",
        # a plan made while a table was empty is kept when it has filled up: nothing may begin as a scan
        "enable_seqscan": "off",
        "jit": "off",
    },
    "reserved": {
        **_SERVER_TCP,
        "role": "weft_engine",
        "timezone": "UTC",
        "statement_timeout": "10s",
        "lock_timeout": "5s",
        "idle_in_transaction_session_timeout": "10s",
    },
    "owner": {**_SERVER_TCP, "timezone": "UTC", "lock_timeout": "30s"},
}
_POOLED = {
    # a process that stops in a transaction keeps a connection of the pooler's few from everybody; each of those that wait
    # in line for it when it stops gets one in its turn
    "idle_in_transaction_session_timeout": "5s",
    # who does not read its answer does so, too: no other limit holds while the server writes
    "tcp_user_timeout": _SERVER_TCP["tcp_user_timeout"],
}


class Patient(wire.Watched):
    """What the pool opens. A server that is away is asked again soon and often; the pool would double its pauses."""

    @classmethod
    async def connect(cls, conninfo: str = "", **given: Any) -> Self:
        patience = time.monotonic() + _PATIENCE
        while True:
            try:
                return await super().connect(conninfo, **given)
            except psycopg.OperationalError:
                if time.monotonic() > patience:
                    raise
            await asyncio.sleep(_PAUSE)


def parameters(url: str, *, purpose: Purpose, pooled: bool = False) -> dict[str, str]:
    """libpq parameters for a class of connection. A transaction pooler takes no session settings."""
    try:
        given = {key: str(value) for key, value in conninfo.conninfo_to_dict(url).items() if value is not None}
    except psycopg.ProgrammingError as error:
        raise errors.ConfigError(f"the database URL is not valid: {error}") from None
    wanted = {**_CLIENT_TCP, "application_name": f"weft {purpose}", **given}
    if not pooled:
        settings = " ".join(f"-c {name}={value}" for name, value in _SESSION[purpose].items())
        wanted["options"] = f"{given.get('options', '')} {settings}".strip()
    return wanted


def with_database(url: str, name: str) -> str:
    """The same server and user, another database."""
    return conninfo.make_conninfo(url, dbname=name)


def pooled_settings() -> dict[str, str]:
    """What a pooled transaction must set locally because its connection carries nothing."""
    return {name: value for name, value in _SESSION["work"].items() if not name.startswith("tcp_")} | _POOLED


async def connect(
    url: str, *, purpose: Purpose, pooled: bool = False, autocommit: bool = True
) -> wire.Watched:
    """One connection, ready to use."""
    try:
        connection = await wire.Watched.connect(
            **parameters(url, purpose=purpose, pooled=pooled),  # type: ignore[arg-type]
            autocommit=autocommit,
            # migrations send several statements at once, which cannot be prepared
            prepare_threshold=None if pooled or purpose == "owner" else 0,
        )
    except psycopg.Error as error:
        raise tx.translate(error) from error
    await prepare(connection)
    return connection


async def prepare(connection: "psycopg.AsyncConnection[TupleRow]") -> None:
    """Our JSON codec, and our arrays, on a fresh connection."""
    psycopg_json.set_json_loads(json.loads, context=connection)
    psycopg_json.set_json_dumps(json.dumps, context=connection)
    for made, dumper in arrays.DUMPERS.items():
        connection.adapters.register_dumper(made, dumper)


