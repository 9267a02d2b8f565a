"""`/v1/login`, `/v1/logout`, `/v1/sessions`: a browser's session, kept in a cookie that no script can read."""

import datetime as dt
import time
import uuid
from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from weft.access import jwt, keys, logins
from weft.access.principal import Principal, Role
from weft.api import browser, credentials, pages, policy
from weft.api.operation import Answer, Call, Operation
from weft.api.shown import shown
from weft.base import errors
from weft.base.memory import Memory
from weft.db.database import Database

Credential = Annotated[
    str,
    msgspec.Meta(min_length=1, max_length=jwt.LONGEST, description="A key (`weft_…`), or a token of the configured issuer."),
]


class NewLogin(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """With what to log in."""

    credential: Credential


class LoggedIn(msgspec.Struct, kw_only=True):
    """Who is logged in. `csrf` is what every change with the cookie must say in the header X-Weft-CSRF."""

    id: uuid.UUID
    org: uuid.UUID
    actor: str
    role: Role
    expires_at: dt.datetime
    csrf: str


class Issuer(msgspec.Struct):
    """Whom people log in with: go to `url` with the browser; it comes back to the page that `next` names."""

    name: str
    url: str


class Options(msgspec.Struct, kw_only=True):
    """How one can log in, and whether the cookie that came along stands for somebody."""

    oidc: Issuer | None
    logged_in: bool


class Session(msgspec.Struct, kw_only=True):
    """An open session."""

    id: uuid.UUID
    actor: str
    agent: str
    """What the browser called itself."""
    created_at: dt.datetime
    expires_at: dt.datetime
    current: bool
    """Whether it is the one that asks."""


class SessionQuery(pages.Paging, forbid_unknown_fields=True, kw_only=True):
    """Whose sessions."""

    everybodys: bool = False
    """Those of the whole org, for its admins; otherwise your own."""


class SessionPlace(msgspec.Struct, frozen=True):
    """Where a page of sessions ended."""

    id: uuid.UUID


class Sessions:
    """From a cookie's text to whom it stands for, remembered for a second as keys are."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._known: Memory[bytes, Principal] = Memory(
            seconds=credentials.REMEMBERED, most=credentials.MOST, clock=clock
        )

    async def principal(self, text: str) -> Principal:
        asked, which = self._known.now(), keys.hashed(text)
        if (known := self._known.get(which)) is not None:
            return known
        # the engine, because the org is what we are asking for
        async with self._database.once() as tx:
            found = await logins.find(tx, text)
        return self._known.keep(which, found, asked=asked)


async def login(call: Call[NewLogin, None]) -> Answer:
    who: Principal = await call.service.credentials.principal(f"Bearer {call.body.credential.strip()}")
    if who.role in ("worker", "attempt"):
        raise errors.Forbidden(f"a {who.role} has nothing to see here; log in with a key of another role")
    # the engine, because nobody's org is known until now; the row names it
    async with call.database.tx(labelled=True) as tx:
        made, text = await logins.open(tx, who, agent=call.headers.get("user-agent", ""))
    told = LoggedIn(
        id=made.id, org=who.org, actor=who.actor, role=who.role, expires_at=made.expires_at, csrf=browser.csrf_token(text)
    )  # fmt: skip
    lasts = int(logins.LASTS.total_seconds())
    return Answer(body=told, headers={"set-cookie": browser.cookie(text, secure=secure(call), max_age=lasts)})


async def options(call: Call[None, None]) -> Options:
    text = browser.session_of(call.headers)
    logged_in = text is not None
    if text is not None:
        try:
            await call.service.sessions(text)
        except errors.Unauthenticated:
            logged_in = False
    flow = call.service.code_flow
    return Options(oidc=None if flow is None else Issuer(flow.name, "/v1/login/oidc"), logged_in=logged_in)


async def logout(call: Call[None, None]) -> Answer:
    text = browser.session_of(call.headers)
    if text is not None:
        # the engine, because tenants cannot read hashes; the org is the caller's
        async with call.engine_tx() as tx:
            id = await logins.of_cookie(tx, text)
            if id is not None:
                await logins.revoke(tx, id=id, org=call.principal.org, by=call.principal.actor, of=None)
    return Answer(headers={"set-cookie": browser.cookie("", secure=secure(call), max_age=0)})


async def page(call: Call[None, SessionQuery]) -> pages.Page[Session]:
    place, query = call.query.place(SessionPlace), call.query
    if query.everybodys:
        policy.require(call.principal, action="session.admin")
    async with call.tx() as tx:
        found = await logins.page(
            tx, org=call.principal.org, actor=None if query.everybodys else call.principal.actor,
            before=place.id if place else None, take=query.limit + 1,
        )  # fmt: skip
    return pages.page(found, limit=query.limit, show=lambda one: _session(one, call), place=lambda one: SessionPlace(one.id))


async def end(call: Call[None, None]) -> Session:
    who = call.principal
    everybodys = policy.allows(who.role, _EVERYBODYS) and policy.within(who.scopes, _EVERYBODYS)
    # the engine, because a tenant may be any SQL user and must not end others' sessions
    async with call.engine_tx() as tx:
        ended = await logins.revoke(tx, id=call.id, org=who.org, by=who.actor, of=None if everybodys else who.actor)
    return _session(ended, call)


def _session(one: logins.Login, call: Call[Any, Any]) -> Session:
    return shown(Session, one, current=one.id == call.principal.session)


_EVERYBODYS = "session.admin"


def secure(call: Call[Any, Any]) -> bool:
    """Whether the browser came over https: by itself, or through a proxy that says so."""
    return call.scheme == "https" or browser.forwarded_https(call.headers)


_EXAMPLE: dict[str, Any] = {
    "id": "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f", "actor": "key:ada", "agent": "Mozilla/5.0",
    "created_at": "2026-01-05T09:30:00Z", "expires_at": "2026-01-05T21:30:00Z",
    "current": True,
}  # fmt: skip

OPERATIONS = (
    Operation(
        "POST", "/v1/login", action="public", handler=login, summary="Log in: a session in a cookie",
        description="The cookie is HttpOnly and SameSite=Strict, over https also Secure, and lasts 12 hours. It is the "
        "credential of requests without an Authorization header; those that change something must also say `csrf` in the "
        "header X-Weft-CSRF. The session may what its key or user may, and ends with them.",
        body=NewLogin, answer=LoggedIn, errors=("UNAUTHENTICATED", "FORBIDDEN"), example={"credential": "weft_3pZk1x…"},
        answer_example={
            "id": _EXAMPLE["id"], "org": "00000000-0000-7000-8000-000000000001", "actor": "key:ada", "role": "writer",
            "expires_at": _EXAMPLE["expires_at"], "csrf": "q1w2…",
        },
    ),
    Operation(
        "GET", "/v1/login/options", action="public", handler=options, summary="How one can log in", answer=Options,
        answer_example={"oidc": None, "logged_in": False},
    ),
    Operation(
        "POST", "/v1/logout", action="session.own", handler=logout, summary="Log out: end this session",
        description="Forgets the cookie too. Without a cookie it changes nothing.", status=204,
    ),
    Operation(
        "GET", "/v1/sessions", action="session.own", handler=page, summary="Your open sessions, newest first",
        query=SessionQuery, answer=pages.Page[Session], answer_example={"items": [_EXAMPLE], "next_cursor": None},
    ),
    Operation(
        "DELETE", "/v1/sessions/{id:uuid}", action="session.own", handler=end, summary="End a session",
        description="Your own; an admin may end any of the org.", answer=Session, errors=("NOT_FOUND",),
        answer_example=_EXAMPLE,
    ),
)  # fmt: skip
