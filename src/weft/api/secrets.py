"""`/v1/secrets`: an org's secrets, for its admins. Values go in and never come out."""

import datetime as dt
from typing import Annotated

import msgspec

from weft.access import keyring
from weft.access import secrets as kernel
from weft.api import fields, pages
from weft.api.operation import Call, Operation
from weft.api.shown import shown

Value = Annotated[
    str,
    msgspec.Meta(
        min_length=kernel.SHORTEST, max_length=kernel.LONGEST, extra_json_schema={"writeOnly": True},
        description=f"{kernel.SHORTEST} characters at least, {kernel.LONGEST // 1024} KiB at most. Never shown again.",
    ),
]  # fmt: skip


class NewSecret(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A value to keep. `remote`: workers over HTTP may be given it; left out, it stays as it was, at first false."""

    value: Value
    remote: bool | None = None

    def __repr__(self) -> str:
        return "NewSecret(…)"


class Secret(msgspec.Struct, kw_only=True):
    """A secret, without its value."""

    name: str
    version: int
    """How often it was set."""
    remote: bool
    created_at: dt.datetime
    updated_at: dt.datetime
    updated_by: str


class SecretPlace(msgspec.Struct, frozen=True):
    """Where a page of secrets ended."""

    name: fields.SecretName


async def put(call: Call[NewSecret, None]) -> Secret:
    name = kernel.check(call.path["name"])
    ring = keyring.load(call.database.settings, create=True)
    # the engine, because a tenant may be any SQL user and must not write secrets
    async with call.engine_tx() as tx:
        return _shown(await kernel.put(
            tx, ring, org=call.principal.org, name=name, value=call.body.value, remote=call.body.remote,
            actor=call.principal.actor,
        ))  # fmt: skip


async def page(call: Call[None, pages.Paging]) -> pages.Page[Secret]:
    place = call.query.place(SecretPlace)
    after = "" if place is None else place.name
    async with call.tx() as tx:
        found = await kernel.page(tx, org=call.principal.org, after=after, take=call.query.limit + 1)
    return pages.page(found, limit=call.query.limit, show=_shown, place=lambda one: SecretPlace(one.name))


async def delete(call: Call[None, None]) -> None:
    async with call.engine_tx() as tx:
        await kernel.delete(tx, org=call.principal.org, name=call.path["name"], actor=call.principal.actor)


def _shown(secret: kernel.Secret) -> Secret:
    return shown(Secret, secret)


_EXAMPLE = {
    "name": "SMTP_PASSWORD", "version": 3, "remote": False, "created_at": "2026-01-05T09:30:00Z",
    "updated_at": "2026-02-01T08:00:00Z", "updated_by": "key:root",
}  # fmt: skip

OPERATIONS = (
    Operation(
        "PUT", "/v1/secrets/{name}", action="secret.write", handler=put, summary="Keep a secret",
        description="Sealed at once with the server's key. A task's payload names it as `${secrets.NAME}`.",
        body=NewSecret, answer=Secret, errors=("INVALID_NAME", "NO_SECRET_KEY"),
        example={"value": "correct horse battery staple"}, answer_example=_EXAMPLE,
    ),
    Operation(
        "GET", "/v1/secrets", action="secret.read", handler=page, summary="An org's secrets by name, without their values",
        query=pages.Paging, answer=pages.Page[Secret],
        answer_example={"items": [_EXAMPLE], "next_cursor": None},
    ),
    Operation(
        "DELETE", "/v1/secrets/{name}", action="secret.write", handler=delete, summary="Forget a secret",
        description="Tasks that name it fail from now on, by their retry policy.", status=204,
        errors=("NOT_FOUND", "INVALID_NAME"),
    ),
)  # fmt: skip
