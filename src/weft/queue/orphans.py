"""Finding attempts that nobody will end by themselves. Each answers ids, locked for the caller's transaction."""

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any

from weft.db import statements
from weft.db.statements import Part
from weft.db.tx import Tx
from weft.queue import minutes

SQL = statements.load("weft.queue")


def stirs(*, cancel_grace: dt.timedelta) -> Part:
    """What upkeep looks for among the tasks."""
    return Part(SQL.stirs, {"cancel_grace": cancel_grace, "margin": minutes.MARGIN})


async def of_nodes(tx: Tx, *, nodes: Sequence[str], take: int) -> list[str]:
    return _ids(await tx.rows(SQL.tasks_of_nodes, {"nodes": list(nodes), "take": take}))


async def left(tx: Tx, *, nodes: Sequence[str]) -> list[str]:
    """Those of these nodes that still have tasks; nothing is locked."""
    return _ids(await tx.rows(SQL.nodes_with_tasks, {"nodes": list(nodes)}))


async def of_nobody(tx: Tx, *, older: dt.timedelta, take: int) -> list[str]:
    return _ids(await tx.rows(SQL.tasks_of_nobody, {"older": older, "take": take}))


async def of_claims(tx: Tx, *, tokens: Sequence[str]) -> list[str]:
    """What was claimed with these tokens."""
    return _ids(await tx.rows(SQL.tasks_of_claims, {"tokens": list(tokens)}))


async def past_lease(tx: Tx, *, take: int) -> list[str]:
    return _ids(await tx.rows(SQL.tasks_past_lease, {"take": take}))


async def past_cancel(tx: Tx, *, grace: dt.timedelta, take: int) -> list[str]:
    return _ids(await tx.rows(SQL.tasks_past_cancel, {"grace": grace, "take": take}))


async def cancelled(tx: Tx, *, take: int) -> list[str]:
    """Queued tasks somebody asked to end."""
    return _ids(await tx.rows(SQL.take_cancelled, {"take": take}))


async def ask_to_cancel(tx: Tx, *, id: uuid.UUID, org: uuid.UUID) -> str:
    """Marks a task as to be cancelled, as `weft.cancel` does for SQL users."""
    return str(await tx.value(SQL.cancel_intent, {"id": id, "org": org}))


async def held(tx: Tx, *, ids: Sequence[str]) -> Sequence[Sequence[Any]]:
    """What settle must know of these attempts, with their rows locked."""
    return await tx.rows(SQL.held, {"ids": list(ids)})


async def wake(tx: Tx, *, queues: Sequence[str]) -> None:
    """A hint that these queues have ready work."""
    await tx.rows(SQL.wake, {"queues": list(queues)})


def _ids(rows: Sequence[Sequence[Any]]) -> list[str]:
    return [row[0] for row in rows]
