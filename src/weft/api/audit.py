"""`/v1/audit`: what was done in an org and what was refused, and whether that record is whole. For admins."""

import datetime as dt
import uuid
from typing import Annotated, Any

import msgspec

from weft.api import fields, pages
from weft.api.operation import Call, Operation
from weft.api.shown import shown
from weft.journal import audit as kernel
from weft.journal.chain import Fault, Head

MOST = 10_000


class AuditQuery(pages.Paging, forbid_unknown_fields=True, kw_only=True):
    """Which entries."""

    actor: fields.Key | None = None
    action: fields.Key | None = None
    object_type: fields.Key | None = None
    object_id: fields.Key | None = None
    since: fields.Instant | None = None


class Entry(msgspec.Struct, kw_only=True):
    """Something that was done, or refused."""

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
    """Its place in the org's chain; null until it is sealed, seconds later."""


class EntryPlace(msgspec.Struct, frozen=True):
    """Where a page of entries ended."""

    id: uuid.UUID


class VerifyQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which part of the chain to check."""

    after: Annotated[int, msgspec.Meta(ge=0, le=2**62, description="`next` of the part before.")] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST, description="How many entries.")] = MOST
    head: Annotated[
        str, msgspec.Meta(pattern=r"^[0-9]{1,18}:[0-9a-f]{64}$", description="A head that you kept: is it in the chain?")
    ] | None = None


class Finding(msgspec.Struct):
    """Something that is not as it was sealed."""

    number: int
    fault: Fault
    message: str


class Verified(msgspec.Struct, kw_only=True):
    """What a look at a part of the chain found; `findings` is empty if all is well."""

    entries: int
    unsealed: int
    """Entries that are not part of the chain yet, counted up to 1,000: they are sealed a moment after their change."""
    findings: list[Finding]
    head: str
    """How far the chain goes: keep it elsewhere, and give it the next time."""
    next: int | None
    """Go on after this; null: that was the end."""


async def page(call: Call[None, AuditQuery]) -> pages.Page[Entry]:
    query = call.query
    place = query.place(EntryPlace)
    wanted = kernel.Filter(
        actor=query.actor, action=query.action, object_type=query.object_type, object_id=query.object_id, since=query.since
    )  # fmt: skip
    async with call.tx() as tx:
        found = await kernel.page(
            tx, org=call.principal.org, filter=wanted, before=place.id if place else None, take=query.limit + 1
        )
    return pages.page(found, limit=query.limit, show=_shown, place=lambda entry: EntryPlace(entry.id))


async def verify(call: Call[None, VerifyQuery]) -> Verified:
    known: Head | None = None
    if call.query.head is not None:
        number, _, hash = call.query.head.partition(":")
        known = Head(int(number), bytes.fromhex(hash))
    async with call.tx() as tx:
        found = await kernel.verify(
            tx, org=call.principal.org, after=call.query.after, take=call.query.limit, known=known
        )  # fmt: skip
    return Verified(
        entries=found.entries, unsealed=found.unsealed, head=str(found.last), next=found.next,
        findings=[Finding(one.number, one.fault, one.words) for one in found.findings],
    )  # fmt: skip


def _shown(entry: kernel.Entry) -> Entry:
    return shown(Entry, entry)


_EXAMPLE = {
    "id": "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f", "at": "2026-01-05T09:30:00Z", "actor": "key:root", "action": "queue.set",
    "object_type": "queue", "object_id": "email", "before": {"paused": False}, "after": {"paused": True},
    "request_id": "req-0b1f6c2d9e", "number": 1042,
}  # fmt: skip

OPERATIONS = (
    Operation(
        "GET", "/v1/audit", action="audit.read", handler=page, summary="What was done and refused, newest first",
        query=AuditQuery, answer=pages.Page[Entry], example={"action": "queue.set"},
        answer_example={"items": [_EXAMPLE], "next_cursor": None},
    ),
    Operation(
        "GET", "/v1/audit/verify", action="audit.read", handler=verify, summary="Check that the audit trail is whole",
        description="Computes the hashes of the chain anew, a part at a time: repeat with `next` until it is null.",
        query=VerifyQuery, answer=Verified, example={"limit": 1000},
        answer_example={"entries": 1042, "unsealed": 0, "findings": [], "head": f"1042:{'5d' * 32}", "next": None},
    ),
)  # fmt: skip
