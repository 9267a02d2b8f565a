"""Lists of runs, newest first, in keyset pages by id; no page reads more than `WALK` runs.

A name and a state have indexes of their own. A filter without one (a tag, the beginning of a name) may find little or
nothing on a page that is not the last: it then says how far it looked, and the next page goes on from there.
"""

import dataclasses
import datetime as dt
import uuid
from typing import Any

from weft.base import errors, ids
from weft.db import statements
from weft.db.tx import Tx
from weft.flows.look import RunView
from weft.flows.model import Kind, RunState

SQL = statements.load("weft.flows")

WALK = 10_000
_OLDEST = uuid.UUID(int=0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Filter:
    """Which runs. What is None or empty does not narrow the list."""

    kind: Kind | None = None
    name: str | None = None
    prefix: str | None = None
    states: tuple[RunState, ...] = ()
    tag: str | None = None
    created_after: dt.datetime | None = None
    """By the time in the id, to the millisecond; this instant included."""
    created_before: dt.datetime | None = None


@dataclasses.dataclass(frozen=True)
class Page:
    """Runs, newest first. `before` continues the list (None: it ends here)."""

    runs: list[RunView]
    before: uuid.UUID | None
    scanned_until: dt.datetime | None
    """The page is short because the walk ended: everything made at or after this instant was looked at."""


async def page(
    tx: Tx, *, org: uuid.UUID, filter: Filter, before: uuid.UUID | None = None, limit: int = 50, walk: int = WALK
) -> Page:
    """The runs that match, made before `before` (the `before` of the page before)."""
    low, high = bounds(filter)
    arguments: dict[str, Any] = {
        "org_id": org, "kind": filter.kind, "name": filter.name, "prefix": filter.prefix, "tag": filter.tag,
        "states": list(filter.states) or None, "before": high if before is None else min(before, high), "after": low,
        "walk": walk, "take": limit + 1,
    }  # fmt: skip
    statement = SQL.find_runs
    if filter.name is not None:
        statement = SQL.find_runs_named
    elif filter.states:
        statement = SQL.find_runs_in_states
    await tx.row(SQL.go_along_indexes)
    seen = await tx.rows(statement, arguments)
    # below the highest stop not everything was seen
    edge = max((id for id, _, stop in seen if stop), default=None)
    found = sorted((id for id, matched, _ in seen if matched and (edge is None or id >= edge)), reverse=True)
    runs = await _read(tx, found[:limit], org=org)
    if len(found) > limit:
        return Page(runs, found[limit - 1], None)
    return Page(runs, edge, None if edge is None else ids.made_at(edge))


async def newest(
    tx: Tx, *, org: uuid.UUID, filter: Filter, before: uuid.UUID | None = None, take: int = 50
) -> list[RunView]:
    """As many as were asked for, however far they lie apart."""
    found: list[RunView] = []
    while len(found) < take:
        more = await page(tx, org=org, filter=filter, before=before, limit=take - len(found))
        found += more.runs
        if more.before is None:
            break
        before = more.before
    return found


async def between(
    tx: Tx, *, org: uuid.UUID, low: uuid.UUID, high: uuid.UUID, take: int
) -> list[tuple[uuid.UUID, str, RunState]]:
    """Id, name and state of runs whose ids lie in a range."""
    rows = await tx.rows(SQL.search_runs, {"org_id": org, "low": low, "high": high, "take": take})
    return [(row[0], row[1], row[2]) for row in rows]


async def definitions(
    tx: Tx, *, org: uuid.UUID, text: str, low: uuid.UUID, high: uuid.UUID, take: int
) -> list[tuple[uuid.UUID, Kind, str, str]]:
    """Id, kind, name and status of definitions whose name holds a text or whose id lies in a range."""
    rows = await tx.rows(SQL.search_definitions, {"org_id": org, "text": text, "low": low, "high": high, "take": take})
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def bounds(filter: Filter) -> tuple[uuid.UUID, uuid.UUID]:
    """The range of ids that the times allow: from the first, below the second."""
    low = _OLDEST if filter.created_after is None else _below(filter.created_after)
    high = ids.NEWEST if filter.created_before is None else _below(filter.created_before)
    if filter.created_after is not None and filter.created_before is not None and low >= high:
        raise errors.InvalidInput("created_after must be earlier than created_before")
    return low, high


def _below(at: dt.datetime) -> uuid.UUID:
    """Below every id of this instant."""
    return uuid.UUID(int=int(at.timestamp() * 1000) << 80)


async def _read(tx: Tx, found: list[uuid.UUID], *, org: uuid.UUID) -> list[RunView]:
    if not found:
        return []
    rows = await tx.rows(SQL.runs_by_id, {"ids": found, "org_id": org})
    return sorted((RunView(*row) for row in rows), key=lambda run: run.id, reverse=True)
