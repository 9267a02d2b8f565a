"""Orgs: made, looked at, changed, suspended. An org's row is the one place its quotas are said."""

import dataclasses
import datetime as dt
import re
import uuid
from typing import Any

from weft.access import tiers
from weft.access.tiers import Quotas, Tier
from weft.base import errors, json, names
from weft.db import statements
from weft.db.tx import Tx
from weft.journal import record

SQL = statements.load("weft.access")

MOST = 1_000_000_000
MOST_WEIGHT = 100
MOST_SETTINGS = 16 * 1024
LONGEST = dt.timedelta(days=3650)
SLUG = "[a-z0-9][a-z0-9-]{0,62}"
_SLUG = re.compile(SLUG)


@dataclasses.dataclass(frozen=True)
class Org:
    """A tenant, a team, a customer."""

    id: uuid.UUID
    name: str
    slug: str
    tier: Tier
    settings: dict[str, Any]
    max_jobs: int | None
    max_concurrent: int | None
    request_rate: int | None
    request_burst: int | None
    weight: int
    retention: dt.timedelta | None
    created_at: dt.datetime
    suspended_at: dt.datetime | None


QUOTAS = tuple(field.name for field in dataclasses.fields(Quotas))
CHANGEABLE = frozenset({"name", "tier", "settings", "retention", "suspended", *QUOTAS})


async def create(
    tx: Tx, *, name: str, slug: str, actor: str, tier: Tier = "standard", settings: dict[str, Any] | None = None,
    retention: dt.timedelta | None = None, **quotas: int | None,
) -> Org:  # fmt: skip
    """A new org. Quotas that are not given are its tier's. Conflict if the slug is taken."""
    arguments = {
        "name": names.check(name, what="org name"), "slug": check_slug(slug, what="org"), "tier": _tier(tier),
        "settings": _settings({} if settings is None else settings), "retention": _retention(retention),
        **_quotas({**dataclasses.asdict(tiers.QUOTAS[tier]), **quotas}),
    }  # fmt: skip
    row = await tx.row(SQL.insert_org, arguments)
    if row is None:
        raise errors.Conflict(f"there is an org {slug!r} already; choose another slug")
    made = Org(*row)
    await _journal(tx, made, actor=actor, action="org.create", before=None)
    return made


async def page(tx: Tx, *, org: uuid.UUID | None, after: str = "", take: int = 50) -> list[Org]:
    """Orgs by slug: this one, or (None) every one."""
    return [Org(*row) for row in await tx.rows(SQL.list_orgs, {"org_id": org, "after": after, "take": take})]


async def get(tx: Tx, *, id: uuid.UUID, org: uuid.UUID | None) -> Org:
    """An org, if it is this one or (None) whichever it is."""
    row = await tx.row(SQL.get_org, {"id": id, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no org {id}")
    return Org(*row)


async def change(tx: Tx, *, id: uuid.UUID, actor: str, org: uuid.UUID | None = None, **changes: Any) -> Org:
    """Changes what is named: name, tier, settings, retention, suspended, or a quota. A new tier brings its quotas."""
    if unknown := set(changes) - CHANGEABLE:
        raise errors.InvalidInput(f"an org has no {', '.join(sorted(unknown))} to change")
    row = await tx.row(SQL.lock_org, {"id": id, "org_id": org})
    if row is None:
        raise errors.NotFound(f"there is no org {id}")
    before = Org(*row)
    suspended = changes.pop("suspended", before.suspended_at is not None)
    wanted = {name: getattr(before, name) for name in ("name", "tier", "settings", "retention", *QUOTAS)}
    if changes.get("tier", before.tier) != before.tier:
        wanted |= dataclasses.asdict(tiers.QUOTAS[_tier(changes["tier"])])
    wanted |= changes
    arguments = {
        "id": id, "suspended": bool(suspended), "name": names.check(wanted["name"], what="org name"),
        "tier": _tier(wanted["tier"]), "settings": _settings(wanted["settings"]),
        "retention": _retention(wanted["retention"]), **_quotas({name: wanted[name] for name in QUOTAS}),
    }  # fmt: skip
    if "max_concurrent" in changes or arguments["max_concurrent"] != before.max_concurrent:
        await tx.run(SQL.limit_org, {"id": id, "max_concurrent": arguments["max_concurrent"]})
    changed = await tx.row(SQL.change_org, arguments)
    assert changed is not None  # it is locked
    after = Org(*changed)
    await _journal(tx, after, actor=actor, action="org.change", before=_plain(before))
    return after


async def find(tx: Tx, slug: str) -> uuid.UUID:
    """The id of the org called so."""
    found: uuid.UUID | None = await tx.value(SQL.find_org, {"slug": slug})
    if found is None:
        raise errors.NotFound(f"there is no org {slug!r}")
    return found


def check_slug(slug: object, *, what: str) -> str:
    """InvalidName for what cannot be in a path, a token or a list of roles."""
    if not isinstance(slug, str) or not _SLUG.fullmatch(slug):
        raise errors.InvalidName(
            f"the {what}'s slug {str(slug)[:80]!r} is not valid: use 1-63 of a-z, 0-9 and -, and begin with no -"
        )
    return slug


def _tier(tier: Any) -> Tier:
    if tier not in tiers.QUOTAS:
        raise errors.InvalidInput(f"there is no tier {str(tier)[:80]!r}; tiers are {', '.join(tiers.QUOTAS)}")
    found: Tier = tier
    return found


def _quotas(given: dict[str, Any]) -> dict[str, int | None]:
    for name, value in given.items():
        if name not in QUOTAS:
            raise errors.InvalidInput(f"an org has no quota {name}; quotas are {', '.join(QUOTAS)}")
        least = 0 if name in ("max_jobs", "max_concurrent") else 1
        most = MOST_WEIGHT if name == "weight" else MOST
        if value is None and name != "weight":
            continue
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise errors.InvalidInput(f"{name} must be a whole number from {least} to {most:,}, not {value!r}")
    return given


def _settings(settings: Any) -> str:
    if not isinstance(settings, dict):
        raise errors.InvalidInput("settings must be a JSON object")
    text = json.text(settings, what="settings")
    if len(text.encode()) > MOST_SETTINGS:
        raise errors.InvalidInput(f"settings take more than {MOST_SETTINGS:,} bytes")
    return text


def _retention(retention: Any) -> dt.timedelta | None:
    if retention is None:
        return None
    if not isinstance(retention, dt.timedelta) or not dt.timedelta(0) < retention <= LONGEST:
        raise errors.InvalidInput("retention must be longer than nothing and at most ten years")
    return retention


def _plain(org: Org) -> dict[str, Any]:
    """An org as the journal shows it."""
    return {
        "name": org.name, "tier": org.tier, "settings": org.settings, "suspended": org.suspended_at is not None,
        "retention": None if org.retention is None else org.retention.total_seconds(),
        **{name: getattr(org, name) for name in QUOTAS},
    }  # fmt: skip


async def _journal(tx: Tx, org: Org, *, actor: str, action: str, before: dict[str, Any] | None) -> None:
    await record.record(
        tx, org_id=org.id, actor=actor, action=action, object_type="org", object_id=str(org.id), before=before,
        after=_plain(org),
    )  # fmt: skip
