"""`/v1/locks`: named locks that are held. Tokens are never shown: whoever has one can release the lock."""

import dataclasses
import datetime as dt
import uuid
from typing import Annotated, Any

import msgspec

from weft.api import pages, policy
from weft.api.operation import Call, Operation
from weft.base import errors, names
from weft.cluster import locks as kernel
from weft.cluster.model import Lock as HeldLock
from weft.journal import record


class Lock(msgspec.Struct, kw_only=True):
    """A lock somebody holds."""

    name: str
    owner: str
    acquired_at: dt.datetime
    expires_at: dt.datetime
    metadata: dict[str, Any]


class ReleaseQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How to release it: with its token, or by force."""

    token: uuid.UUID | None = None
    force: Annotated[bool, msgspec.Meta(description="For admins: whoever holds it.")] = False


class LockPlace(msgspec.Struct, frozen=True):
    """Where a page of locks ended."""

    name: str


async def page(call: Call[None, pages.Paging]) -> pages.Page[Lock]:
    place = call.query.place(LockPlace)
    if place is not None and "\0" in place.name:
        raise errors.InvalidInput("the cursor is not one of this list; leave it out to begin anew")
    async with call.tx() as tx:
        found = await kernel.held(
            tx, org_id=call.principal.org, after=place.name if place else "", take=call.query.limit + 1
        )
    return pages.page(found, limit=call.query.limit, show=_shown, place=lambda lock: LockPlace(lock.name))


async def get(call: Call[None, None]) -> Lock:
    name = names.check_key(call.path["name"], what="the lock's name")
    async with call.tx() as tx:
        found = await kernel.check(tx, org_id=call.principal.org, name=name)
    if found is None:
        raise errors.NotFound(f"nobody holds the lock {name!r}")
    return _shown(found)


async def release(call: Call[None, ReleaseQuery]) -> None:
    name, who = names.check_key(call.path["name"], what="the lock's name"), call.principal
    if (call.query.token is None) is (not call.query.force):
        raise errors.InvalidInput("give the lock's token, or force=true to release it whoever holds it (admins only)")
    if call.query.force:
        try:
            policy.require(who, _FORCE.action)
        except errors.Forbidden:
            await call.service.denials.record(who, _FORCE)
            raise
    async with call.tx() as tx:
        if call.query.token is not None:
            await kernel.release(tx, org_id=who.org, name=name, token=call.query.token)
            await record.record(
                tx, org_id=who.org, actor=who.actor, action="lock.release", object_type="lock", object_id=name
            )
        else:
            await kernel.force(tx, org_id=who.org, name=name, actor=who.actor)


def _shown(lock: HeldLock) -> Lock:
    return Lock(
        name=lock.name, owner=lock.owner, acquired_at=lock.acquired_at, expires_at=lock.expires_at, metadata=lock.metadata
    )


_EXAMPLE = {
    "name": "nightly", "owner": "report-1", "acquired_at": "2026-01-05T09:30:00Z", "expires_at": "2026-01-05T09:31:00Z",
    "metadata": {},
}  # fmt: skip

_RELEASE = Operation(
    "DELETE", "/v1/locks/{name:path}", action="lock.write", handler=release, summary="Release a lock",
    description="With its token or, for admins, with `force=true`; its holder learns of it when it extends or releases.",
    query=ReleaseQuery, status=204, errors=("NOT_FOUND", "INVALID_NAME", "LOCK_LOST"),
    example={"token": "0f8fad5b-d9cb-469f-a165-70867728950e"},
)  # fmt: skip
_FORCE = dataclasses.replace(_RELEASE, action="lock.force")

OPERATIONS = (
    Operation(
        "GET", "/v1/locks", action="lock.read", handler=page, summary="Locks that are held, by name", query=pages.Paging,
        answer=pages.Page[Lock], answer_example={"items": [_EXAMPLE], "next_cursor": None},
    ),
    Operation(
        "GET", "/v1/locks/{name:path}", action="lock.read", handler=get, summary="Who holds a lock", answer=Lock,
        errors=("NOT_FOUND", "INVALID_NAME"), answer_example=_EXAMPLE,
    ),
    _RELEASE,
)  # fmt: skip
