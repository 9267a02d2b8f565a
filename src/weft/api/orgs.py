"""`/v1/orgs`: an org sees itself; whoever runs the installation sees, makes and limits all of them."""

import datetime as dt
import uuid
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any

import msgspec

from weft.access import keys as access
from weft.access import orgs as kernel
from weft.access.tiers import Tier
from weft.api import fields, pages, policy
from weft.api.operation import Call, Operation
from weft.api.shown import given, shown
from weft.base import errors
from weft.db.tx import Tx

Amount = Annotated[int, msgspec.Meta(ge=0, le=kernel.MOST)]
Some = Annotated[int, msgspec.Meta(ge=1, le=kernel.MOST)]
Weight = Annotated[int, msgspec.Meta(ge=1, le=kernel.MOST_WEIGHT)]
Settings = dict[str, Any]


class NewOrg(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An org to make. A quota that is left out is its tier's; null: no limit."""

    name: fields.Name
    slug: fields.Slug
    tier: Tier = "standard"
    settings: Settings = {}
    max_jobs: Amount | msgspec.UnsetType | None = msgspec.UNSET
    max_concurrent: Amount | msgspec.UnsetType | None = msgspec.UNSET
    request_rate: Some | msgspec.UnsetType | None = msgspec.UNSET
    request_burst: Some | msgspec.UnsetType | None = msgspec.UNSET
    weight: Weight | msgspec.UnsetType = msgspec.UNSET
    retention: fields.Span | None = None
    admin_key: fields.Name | None = None
    """Makes an admin key of this name for the new org; it is in the answer and never again."""


class OrgChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to change; what is left out stays. An admin may change the name of its own org, an operator everything."""

    name: fields.Name | msgspec.UnsetType = msgspec.UNSET
    tier: Tier | msgspec.UnsetType = msgspec.UNSET
    settings: Settings | msgspec.UnsetType = msgspec.UNSET
    max_jobs: Amount | msgspec.UnsetType | None = msgspec.UNSET
    max_concurrent: Amount | msgspec.UnsetType | None = msgspec.UNSET
    request_rate: Some | msgspec.UnsetType | None = msgspec.UNSET
    request_burst: Some | msgspec.UnsetType | None = msgspec.UNSET
    weight: Weight | msgspec.UnsetType = msgspec.UNSET
    retention: fields.Span | msgspec.UnsetType | None = msgspec.UNSET
    suspended: bool | msgspec.UnsetType = msgspec.UNSET


class Org(msgspec.Struct, kw_only=True):
    """An org. Null quotas are no limits; of requests: the server's own."""

    id: uuid.UUID
    name: str
    slug: str
    tier: Tier
    settings: Settings
    max_jobs: int | None
    max_concurrent: int | None
    request_rate: int | None
    """Requests a second, on average."""
    request_burst: int | None
    """Requests at once."""
    weight: int
    retention: float | None
    """Seconds that finished tasks are kept."""
    created_at: dt.datetime
    suspended_at: dt.datetime | None


class MadeOrg(Org, kw_only=True):
    """A new org; `key` is its admin key, if one was asked for, shown here and never again."""

    key: str | None = None


class OrgPlace(msgspec.Struct, frozen=True):
    """Where a page of orgs ended."""

    slug: fields.Slug


async def create(call: Call[NewOrg, None]) -> MadeOrg:
    wanted, actor = call.body, call.principal.actor
    async with call.operator_tx() as tx:
        said = {name: value for name, value in given(wanted).items() if name != "admin_key"}
        made = await kernel.create(tx, actor=actor, **_kernel(said))
        key = None
        if wanted.admin_key is not None:
            policy.must_have(call.principal, "admin")
            _, key = await access.create(tx, org=made.id, name=wanted.admin_key, role="admin", actor=actor)
    return shown(MadeOrg, made, retention=_seconds(made), key=key)


async def page(call: Call[None, pages.Paging]) -> pages.Page[Org]:
    place = call.query.place(OrgPlace)
    after = "" if place is None else place.slug
    async with _tx(call) as tx:
        found = await kernel.page(tx, org=_org(call), after=after, take=call.query.limit + 1)
    return pages.page(found, limit=call.query.limit, show=_shown, place=lambda org: OrgPlace(org.slug))


async def get(call: Call[None, None]) -> Org:
    async with _tx(call) as tx:
        return _shown(await kernel.get(tx, id=call.id, org=_org(call)))


async def change(call: Call[OrgChange, None]) -> Org:
    changes = _kernel(given(call.body))
    org = _org(call)
    if org not in (None, call.id):
        raise errors.NotFound(f"there is no org {call.id}")
    if set(changes) - {"name"}:
        policy.require(call.principal, _WRITE)
    # as the engine: a tenant may be any SQL user, and must not lift its own limits
    async with call.operator_tx() if org is None else call.engine_tx() as tx:
        return _shown(await kernel.change(tx, id=call.id, org=org, actor=call.principal.actor, **changes))


_WRITE = "org.write"


def _org(call: Call[Any, Any]) -> uuid.UUID | None:
    """The org to which the caller is held; None: an operator, who is held to none."""
    return None if call.principal.role == "operator" else call.principal.org


def _tx(call: Call[Any, Any]) -> AbstractAsyncContextManager[Tx]:
    return call.operator_tx() if _org(call) is None else call.tx()


def _kernel(wanted: dict[str, Any]) -> dict[str, Any]:
    """What was said, as the kernel takes it."""
    if wanted.get("retention") is not None:
        wanted["retention"] = dt.timedelta(seconds=wanted["retention"])
    return wanted


def _shown(org: kernel.Org) -> Org:
    return shown(Org, org, retention=_seconds(org))


def _seconds(org: kernel.Org) -> float | None:
    return None if org.retention is None else org.retention.total_seconds()


_EXAMPLE: dict[str, Any] = {
    "id": "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f", "name": "Example Ltd", "slug": "example", "tier": "standard",
    "settings": {}, "max_jobs": None, "max_concurrent": 50, "request_rate": None, "request_burst": None, "weight": 1,
    "retention": 2592000.0, "created_at": "2026-01-05T09:30:00Z", "suspended_at": None,
}  # fmt: skip

OPERATIONS = (
    Operation(
        "POST", "/v1/orgs", action="org.write", handler=create, summary="Make an org",
        description="With `admin_key` the answer has the org's first key, which is shown here and never again.",
        body=NewOrg, answer=MadeOrg, status=201, errors=("INVALID_NAME", "CONFLICT"),
        example={"name": "Example Ltd", "slug": "example", "max_concurrent": 50, "admin_key": "first"},
        answer_example={**_EXAMPLE, "key": "weft_3pZk1x…"},
    ),
    Operation(
        "GET", "/v1/orgs", action="org.read", handler=page, summary="Your org; for operators every org, by slug",
        query=pages.Paging, answer=pages.Page[Org], answer_example={"items": [_EXAMPLE], "next_cursor": None},
    ),
    Operation(
        "GET", "/v1/orgs/{id:uuid}", action="org.read", handler=get, summary="One org", answer=Org,
        errors=("NOT_FOUND",), answer_example=_EXAMPLE,
    ),
    Operation(
        "PATCH", "/v1/orgs/{id:uuid}", action="org.rename", handler=change, summary="Change an org, limit or suspend it",
        description="An admin may change the `name` of its own org; all else takes an operator (`org.write`). A new "
        "`tier` brings its quotas along, but for those that are given too. Of a suspended org no credential is taken, "
        "everywhere within a second, and nothing of it is started: what waits stays, what runs may end.",
        body=OrgChange, answer=Org, errors=("NOT_FOUND", "INVALID_NAME"), example={"name": "Example and Sons"},
        answer_example=_EXAMPLE,
    ),
)  # fmt: skip
