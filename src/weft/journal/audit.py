"""The journal as an audit trail: reading it, sealing it after the fact, and checking that it is whole."""

import dataclasses
import datetime as dt
import uuid
from typing import Any

from weft.base import ids
from weft.db import statements
from weft.db.tx import Tx
from weft.journal import chain
from weft.journal.chain import Finding, Head, Link

SQL = statements.load("weft.journal")

BATCH = 1000


@dataclasses.dataclass(frozen=True)
class Entry:
    """Something that was done or refused."""

    id: uuid.UUID
    at: dt.datetime
    actor: str
    action: str
    object_type: str
    object_id: str
    before: Any
    after: Any
    request_id: str | None
    number: int | None
    """Its place in the chain; None: not sealed yet."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Filter:
    """Which entries; None: any."""

    actor: str | None = None
    action: str | None = None
    object_type: str | None = None
    object_id: str | None = None
    since: dt.datetime | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Checked:
    """What a look at a part of a chain found. `next` None: it was the last part."""

    entries: int
    unsealed: int
    """Entries that the sealer has not been to, up to 1,000; nothing can be said of them yet."""
    findings: list[Finding]
    last: Head
    next: int | None


async def page(
    tx: Tx, *, org: uuid.UUID, filter: Filter, before: uuid.UUID | None = None, take: int = 50
) -> list[Entry]:
    """Entries of an org, newest first."""
    arguments = {"org_id": org, "before": before or ids.NEWEST, "take": take, **dataclasses.asdict(filter)}
    return [Entry(*row) for row in await tx.rows(SQL.list_entries, arguments)]


async def seal(tx: Tx, *, take: int = BATCH) -> int:
    """Adds a batch of committed entries to the chains of their orgs. 0 if another transaction is just doing that."""
    if not await tx.value(SQL.lock_sealer):
        return 0
    entries = await tx.rows(SQL.entries_to_seal, {"take": take})
    if not entries:
        return 0
    orgs = sorted({str(entry[1]) for entry in entries})
    heads = {org: chain.root(org) for org in orgs}
    heads |= {org: Head(number, hash) for org, number, hash in await tx.rows(SQL.heads, {"orgs": orgs})}
    sealed: list[Head] = []
    for entry in entries:
        heads[entry[1]] = chain.after(heads[entry[1]], tuple(entry))
        sealed.append(heads[entry[1]])
    await tx.run(
        SQL.seal_entries,
        {"ids": [entry[0] for entry in entries], "numbers": [one.number for one in sealed],
         "hashes": [one.hash for one in sealed]},
    )  # fmt: skip
    await tx.run(
        SQL.move_heads,
        {"orgs": orgs, "numbers": [heads[org].number for org in orgs], "hashes": [heads[org].hash for org in orgs]},
    )
    return len(entries)


async def verify(tx: Tx, *, org: uuid.UUID, after: int = 0, take: int = 10_000, known: Head | None = None) -> Checked:
    """Checks a part of an org's chain, from the entry after `after` on; `known` is a head that was kept elsewhere."""
    rows = await tx.rows(SQL.sealed_entries, {"org_id": org, "after": max(after - 1, 0), "take": take + 1})
    links = [Link(row[0], row[1], tuple(row[2:])) for row in rows]
    # the entry before is read with them: its hash goes into the first one's
    before, previous = chain.root(str(org)), None
    if after and links and links[0].number == after:
        first = links.pop(0)
        before, previous = Head(first.number, first.hash), chain.newest([first])
    elif after:
        before = Head(after, b"")
    links = links[:take]
    findings = list(chain.check(before, links, newest=previous))
    last = Head(links[-1].number, links[-1].hash) if links else before
    more = len(links) == take
    if not more:
        found = await tx.rows(SQL.heads, {"orgs": [org]})
        findings += chain.check_end(last, Head(*found[0][1:]) if found else None)
    if known is not None and known.number:
        findings += await _anchored(tx, org=org, known=known)
    unsealed = await tx.value(SQL.count_unsealed, {"org_id": org})
    return Checked(entries=len(links), unsealed=unsealed, findings=findings, last=last, next=last.number if more else None)


async def _anchored(tx: Tx, *, org: uuid.UUID, known: Head) -> list[Finding]:
    if await tx.value(SQL.sealed_hash, {"org_id": org, "number": known.number}) == known.hash:
        return []
    return [Finding(known.number, "another chain", "the entry does not have the hash that was kept of it")]
