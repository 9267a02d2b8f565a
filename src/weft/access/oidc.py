"""People who come with a token of the configured issuer: whose keys these are, and whom the token stands for.

    token ─ jwt.verify with the issuer's keys ─▶ claims ─ weft.users by subject ─▶ Principal

The keys are fetched through the guard of `net/`, kept for five minutes, and fetched again when a token names one that is
not among them, but not more often than every ten seconds, however many such tokens come. If the issuer is away, the keys
we have serve for an hour.
"""

import asyncio
import dataclasses
import datetime as dt
import logging
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, get_args

from weft.access import jwt, principal, roles
from weft.access.jwt import Algorithm, Claims, Verify
from weft.access.principal import Principal
from weft.base import config, errors
from weft.db import statements
from weft.db.tx import Tx
from weft.net import jwks
from weft.net.address import LOOPBACK
from weft.net.guard import Unreachable

SQL = statements.load("weft.access")
log = logging.getLogger("weft.access")

FRESH = 300.0
AGAIN = 10.0
STALE = 3600.0

Fetch = Callable[[], Awaitable[bytes]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Oidc:
    """What is configured."""

    issuer: str
    audience: str
    jwks_url: str | None = None
    algorithm: Algorithm = "RS256"
    leeway: float = 30.0
    org_claim: str | None = None


@dataclasses.dataclass(frozen=True)
class Known:
    """A token whose signature, issuer and audience are right; its time and its person are yet to be looked at."""

    claims: Claims
    org: str | None
    """The slug of the org it names, if tokens are to name one."""


def configured(settings: config.Settings) -> Oidc | None:
    """What the settings say; ConfigError for what makes no sense or is not safe."""
    if settings.oidc_issuer is None:
        return None
    if settings.oidc_audience is None:
        raise errors.ConfigError("WEFT_OIDC_ISSUER needs WEFT_OIDC_AUDIENCE: what tokens for this server name as `aud`")
    if settings.oidc_algorithm not in get_args(Algorithm):
        known = ", ".join(get_args(Algorithm))
        raise errors.ConfigError(f"WEFT_OIDC_ALGORITHM={settings.oidc_algorithm!r} is not one of {known}")
    for name, url in (("WEFT_OIDC_ISSUER", settings.oidc_issuer), ("WEFT_OIDC_JWKS_URL", settings.oidc_jwks_url)):
        if url is not None and not _safe(url):
            raise errors.ConfigError(f"{name}={url!r} must be an https address (http only on this machine)")
    return Oidc(
        issuer=settings.oidc_issuer, audience=settings.oidc_audience, jwks_url=settings.oidc_jwks_url,
        algorithm=settings.oidc_algorithm, leeway=float(settings.oidc_leeway), org_claim=settings.oidc_org_claim,  # type: ignore[arg-type]
    )  # fmt: skip


class Issuer:
    """The configured issuer and its keys. One per server."""

    def __init__(
        self, oidc: Oidc, *, allow: tuple[str, ...] = (), fetch: Fetch | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.oidc = oidc
        self._fetch = fetch or (lambda: jwks.fetch(oidc.issuer, oidc.jwks_url, allow=allow))
        self._clock = clock
        self._keys: Mapping[str | None, Verify] = {}
        self._fetched = -float("inf")
        self._tried = -float("inf")
        self._fetching = asyncio.Lock()

    async def known(self, text: str) -> Known:
        """What a token proves; Unauthenticated, saying why, if nothing."""
        token = jwt.read(text)
        oidc = self.oidc
        try:
            said = jwt.verify(token, await self._current(), algorithm=oidc.algorithm)
        except jwt.UnknownKey:
            await self._refresh()
            said = jwt.verify(token, self._keys, algorithm=oidc.algorithm)
        return Known(jwt.claims(said, issuer=oidc.issuer, audience=oidc.audience), self._org(said))

    def _org(self, said: Mapping[str, Any]) -> str | None:
        if self.oidc.org_claim is None:
            return None
        slug = said.get(self.oidc.org_claim)
        if not isinstance(slug, str) or not slug:
            raise errors.Unauthenticated(f"the token names no org: it has no claim {self.oidc.org_claim!r}")
        return slug

    async def _current(self) -> Mapping[str | None, Verify]:
        age = self._clock() - self._fetched
        # whoever comes while somebody fetches goes on with what there is
        if age > FRESH and not (self._keys and self._fetching.locked()):
            await self._refresh()
        if self._clock() - self._fetched > STALE:
            raise errors.Unavailable("the issuer's keys cannot be read now; try again, or come with a key of ours")
        return self._keys

    async def _refresh(self) -> None:
        """Fetches the keys, unless that was tried a moment ago. If it fails, those we have stay."""
        async with self._fetching:
            if self._clock() - self._tried < AGAIN:
                return
            self._tried = self._clock()
            try:
                self._keys = jwt.keys(await self._fetch(), algorithm=self.oidc.algorithm)
            except (Unreachable, errors.Unavailable, errors.Refused) as error:
                log.warning("the keys of %s cannot be read: %s", self.oidc.issuer, error)
                return
            self._fetched = self._clock()
            if not self._keys:
                log.warning("%s shows no key for %s", self.oidc.issuer, self.oidc.algorithm)


async def find(tx: Tx, known: Known, *, leeway: float) -> Principal:
    """Whom a verified token stands for; Unauthenticated outside its time, or if it is nobody of ours."""
    rows = await tx.rows(SQL.find_subject, {"external_id": known.claims.sub, "slug": known.org})
    now: dt.datetime = rows[0][0]
    jwt.judge(known.claims, now=now.timestamp(), leeway=leeway)
    if len(rows) > 1:
        raise errors.Unauthenticated(
            "the token's subject is a user of several orgs; let the issuer name the org (WEFT_OIDC_ORG_CLAIM)"
        )
    _now, id, org, subject, email, role, slugs, suspended, *org_rate = rows[0]
    if id is None:
        raise errors.Unauthenticated("the token is good, but its subject is no user here; ask an admin of your org")
    if suspended:
        raise errors.Unauthenticated("the user's org is suspended; ask whoever runs this server")
    return Principal(
        org=org, actor=f"user:{email or subject}", role=role, user=id, org_rate=principal.rate(*org_rate),
        org_roles=frozenset(f"{roles.PREFIX}{slug}" for slug in slugs),
    )  # fmt: skip


def _safe(url: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(url)
        return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK))
    except ValueError:
        return False
