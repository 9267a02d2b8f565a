"""`/v1/keys`: an org's keys, for its admins."""

import datetime as dt
import uuid
from typing import Annotated, Any

import msgspec

from weft.access import keys as kernel
from weft.access.keys import KeyRole
from weft.api import fields, pages, policy
from weft.api.operation import Call, Operation
from weft.api.shown import shown

Scope = Annotated[
    str,
    msgspec.Meta(
        max_length=65, description="An action, or all of a thing.", extra_json_schema={"enum": list(policy.scopes())}
    ),
]  # fmt: skip
Rate = Annotated[int, msgspec.Meta(ge=1, le=kernel.MOST_RATE)]


class NewKey(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A key to make. A `worker` key claims and runs tasks and can do nothing else."""

    name: fields.Name
    role: KeyRole
    expires_in: fields.Span | None = None
    scopes: Annotated[list[Scope], msgspec.Meta(max_length=kernel.MOST_SCOPES)] = []
    """Actions it is held to, of those its role allows; none: all of them."""
    request_rate: Rate | None = None
    """Requests a second, on average."""
    request_burst: Rate | None = None
    """Requests at once."""


class Key(msgspec.Struct, kw_only=True):
    """A key, without its secret."""

    id: uuid.UUID
    name: str
    role: KeyRole
    scopes: list[str]
    request_rate: int | None
    request_burst: int | None
    prefix: str
    created_by: str
    created_at: dt.datetime
    expires_at: dt.datetime | None
    revoked_at: dt.datetime | None
    last_used_at: dt.datetime | None
    """To the minute."""


class MadeKey(Key, kw_only=True):
    """A new key; `key` is shown here and never again."""

    key: str


class KeyPlace(msgspec.Struct, frozen=True):
    """Where a page of keys ended."""

    id: uuid.UUID


async def create(call: Call[NewKey, None]) -> MadeKey:
    wanted = call.body
    policy.check_scopes(wanted.scopes)
    policy.must_have(call.principal, wanted.role, wanted.scopes)
    lasts = None if wanted.expires_in is None else dt.timedelta(seconds=wanted.expires_in)
    # the engine, because a tenant may be any SQL user and must not make keys
    async with call.engine_tx() as tx:
        made, text = await kernel.create(
            tx, org=call.principal.org, name=wanted.name, role=wanted.role, actor=call.principal.actor, lasts=lasts,
            scopes=wanted.scopes, request_rate=wanted.request_rate, request_burst=wanted.request_burst,
            maker=call.principal.key,
        )  # fmt: skip
    return shown(MadeKey, made, key=text)


async def page(call: Call[None, pages.Paging]) -> pages.Page[Key]:
    place = call.query.place(KeyPlace)
    async with call.tx() as tx:
        found = await kernel.page(
            tx, org=call.principal.org, before=place.id if place else None, take=call.query.limit + 1
        )
    return pages.page(found, limit=call.query.limit, show=_shown, place=lambda key: KeyPlace(key.id))


async def revoke(call: Call[None, None]) -> Key:
    async with call.engine_tx() as tx:
        return _shown(await kernel.revoke(tx, id=call.id, org=call.principal.org, actor=call.principal.actor))


def _shown(key: kernel.Key) -> Key:
    return shown(Key, key)


_EXAMPLE: dict[str, Any] = {
    "id": "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f", "name": "deploy", "role": "writer", "scopes": [],
    "request_rate": None, "request_burst": None, "prefix": "weft_3pZk1x",
    "created_by": "key:root", "created_at": "2026-01-05T09:30:00Z", "expires_at": None, "revoked_at": None,
    "last_used_at": None,
}  # fmt: skip

OPERATIONS = (
    Operation(
        "POST", "/v1/keys", action="key.write", handler=create, summary="Make a key",
        description="The key is in the answer and never again. There is no Idempotency-Key here: an answer with a secret "
        "is not kept. Nobody gives away more than they have: an operator's key takes an operator, a key with scopes "
        "makes keys within them, and one that expires makes none that outlive it.",
        body=NewKey, answer=MadeKey, status=201, errors=("INVALID_NAME",),
        example={"name": "deploy", "role": "writer", "scopes": ["task.*"]},
        answer_example={**_EXAMPLE, "key": "weft_3pZk1x…"},
    ),
    Operation(
        "GET", "/v1/keys", action="key.read", handler=page, summary="An org's keys, newest first", query=pages.Paging,
        answer=pages.Page[Key], answer_example={"items": [_EXAMPLE], "next_cursor": None},
    ),
    Operation(
        "DELETE", "/v1/keys/{id:uuid}", action="key.write", handler=revoke, summary="Revoke a key",
        description="It is refused everywhere within a second. Revoking it again changes nothing.",
        answer=Key, errors=("NOT_FOUND",), answer_example={**_EXAMPLE, "revoked_at": "2026-01-06T08:00:00Z"},
    ),
)  # fmt: skip
