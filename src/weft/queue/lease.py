"""While an attempt runs: log lines, progress, cancellations, and what its worker still holds. All fenced."""

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

from weft.db import statements
from weft.db.tx import Tx
from weft.queue.model import LogLevel

SQL = statements.load("weft.queue")


class Line(NamedTuple):
    """A log line of an attempt."""

    task_id: str
    token: str
    at: dt.datetime
    level: LogLevel
    message: str
    fields: str | None


class Progress(NamedTuple):
    """How far an attempt is; `started` is seconds from claim to start."""

    task_id: str
    token: str
    percent: int | None
    message: str | None
    started: float | None


async def write_logs(tx: Tx, lines: Sequence[Line]) -> int:
    """Keeps lines of attempts whose lease holds; answers how many were kept."""
    ids, tokens, at, levels, messages, fields = map(list, zip(*lines, strict=True))
    arguments = {"ids": ids, "tokens": tokens, "at": at, "levels": levels, "messages": messages, "fields": fields}
    return await tx.run(SQL.write_logs, arguments)


async def report_progress(tx: Tx, reports: Sequence[Progress]) -> set[str]:
    """Writes progress; answers the ids whose lease holds."""
    ids, tokens, percents, messages, started = map(list, zip(*reports, strict=True))
    arguments = {"ids": ids, "tokens": tokens, "progress": percents, "messages": messages, "started": started}
    return {row[0] for row in await tx.rows(SQL.report_progress, arguments)}


async def cancelled_on(tx: Tx, *, node_id: str, grace: dt.timedelta) -> list[tuple[str, bool]]:
    """Tasks of a node that were asked to end, and whether their grace time is over."""
    rows = await tx.rows(SQL.cancelled_on, {"node_id": node_id, "grace": grace})
    return [(id, over) for id, over in rows]


async def still_held(tx: Tx, attempts: Sequence[tuple[str, str]]) -> set[str]:
    """Which of these (id, token) are still held."""
    arguments = {"ids": [id for id, _ in attempts], "tokens": [token for _, token in attempts]}
    return {row[0] for row in await tx.rows(SQL.still_held, arguments)}
