"""`/v1/login/oidc`: logging in with the configured issuer, by way of the browser."""

import logging
import urllib.parse
from typing import Annotated

import msgspec

from weft.access import logins, oidc
from weft.access.code_flow import CodeFlow, Pending
from weft.api import browser, login
from weft.api.operation import Answer, Call, Operation
from weft.base import errors
from weft.net.guard import Unreachable

log = logging.getLogger("weft.api")

_BACK = "/v1/login/oidc/back"
_LASTS = 600
"""Seconds that somebody may take at the issuer's."""


class BeginQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which page to come back to."""

    next: Annotated[str, msgspec.Meta(max_length=2000)] = "/"


class BackQuery(msgspec.Struct, kw_only=True):
    """What the issuer sends back; it may say more."""

    code: Annotated[str, msgspec.Meta(max_length=4096)] = ""
    state: Annotated[str, msgspec.Meta(max_length=256)] = ""
    error: Annotated[str, msgspec.Meta(max_length=256)] = ""


async def begin(call: Call[None, BeginQuery]) -> Answer:
    flow = _flow(call)
    try:
        where, pending = await flow.begin(next=call.query.next, back=_back(call))
    except (Unreachable, errors.Refused) as error:
        log.warning("nobody can log in with %s: %s", flow.name, error)
        raise errors.Unavailable("the issuer cannot be reached now; try again, or log in with a key") from None
    cookie = browser.pending_cookie(pending.text(), secure=login.secure(call), max_age=_LASTS)
    return Answer(status=302, headers={"location": where, "set-cookie": cookie})


async def back(call: Call[None, BackQuery]) -> Answer:
    """Somebody comes from another site's page, so what goes wrong is told by one of ours."""
    flow, query = _flow(call), call.query
    try:
        if query.error or not query.code:
            raise errors.Unauthenticated(f"the issuer said no: {query.error[:80]!r}")
        pending = Pending.read(browser.pending_of(call.headers) or "")
        known = await flow.finish(pending, code=query.code, state=query.state, back=_back(call))
        # the engine, because nobody's org is known until now; the row names it
        async with call.database.tx(labelled=True) as tx:
            who = await oidc.find(tx, known, leeway=flow.leeway)
            _, text = await logins.open(tx, who, agent=call.headers.get("user-agent", ""))
    except (errors.WeftError, Unreachable) as error:
        log.warning("a login with %s failed: %s", flow.name, error)
        code = error.code.lower() if isinstance(error, errors.Unauthenticated) else "unavailable"
        return Answer(status=302, headers={"location": f"/login?{urllib.parse.urlencode({'error': code})}"})
    lasts = int(logins.LASTS.total_seconds())
    cookie = browser.cookie(text, secure=login.secure(call), max_age=lasts)
    return Answer(status=302, headers={"location": pending.next, "set-cookie": cookie})


def _flow(call: Call[None, BeginQuery] | Call[None, BackQuery]) -> CodeFlow:
    flow: CodeFlow | None = call.service.code_flow
    if flow is None:
        raise errors.NotFound("no issuer is set up for logging in here (WEFT_OIDC_CLIENT_ID); log in with a key")
    return flow


def _back(call: Call[None, BeginQuery] | Call[None, BackQuery]) -> str:
    """Our own address, as the browser knows it; the issuer sends people only to those it was told."""
    return f"{'https' if login.secure(call) else 'http'}://{call.headers.get('host', '')}{_BACK}"


OPERATIONS = (
    Operation(
        "GET", "/v1/login/oidc", action="public", handler=begin, summary="Log in with the configured issuer",
        description="For browsers: goes to the issuer (authorization code with PKCE), which sends them back here.",
        query=BeginQuery, status=302, errors=("NOT_FOUND", "UNAVAILABLE"), example={"next": "/runs"},
    ),
    Operation(
        "GET", _BACK, action="public", handler=back, summary="Where the issuer sends people back to",
        description="Opens a session and goes on to the page where the login began; if it failed, to /login?error=…",
        query=BackQuery, status=302, errors=("NOT_FOUND",), example={"code": "c", "state": "s"},
    ),
)  # fmt: skip
