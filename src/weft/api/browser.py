"""What browsers make necessary: whose page may ask, what a page may do, and how a session's cookie is kept.

    Host      must be one of ours: a name that an attacker points at this machine is not (DNS rebinding)
    Origin    of what changes something must be our own page
    session   comes in a cookie that no script reads; what changes something also needs X-Weft-CSRF, which only our own
              page can compute a request with: another site can make a browser send the cookie, but not this header
    headers   every answer forbids to be framed, sniffed or run; pages get `PAGE`, which runs our own files only

Programs with a key are asked for none of this but the Host.
"""

import dataclasses
import hashlib
import hmac
import urllib.parse
from collections.abc import Mapping

from weft.base import base64url, errors
from weft.net import address

CSRF_HEADER = "x-weft-csrf"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN_PATHS = frozenset({"/health", "/ready"})
"""Asked by machines that know only an address."""

_SECURE = "__Host-weft"
_PLAIN = "weft-session"

_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The policy of the UI's own pages: nothing inline, nothing from elsewhere."""

_HEADERS: Mapping[bytes, bytes] = {
    b"content-security-policy": _NOTHING.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_HTTPS_ONLY = (b"strict-transport-security", b"max-age=31536000")


@dataclasses.dataclass(frozen=True)
class Rules:
    """By which names browsers reach us; None: by any."""

    hosts: frozenset[str] | None = None

    def check_host(self, headers: Mapping[str, str], *, path: str) -> None:
        """Refused, unless the Host is one of ours."""
        if self.hosts is None or path in OPEN_PATHS:
            return
        name = _name(headers.get("host", ""))
        if name not in self.hosts:
            raise errors.Refused(
                f"this server is not called {name[:80]!r}; use its own name, or add this one to WEFT_HOSTS"
            )

    def check_origin(self, headers: Mapping[str, str], *, method: str, socket: bool = False) -> None:
        """Refused, if another site's page asks for a change or a socket. Programs send no Origin."""
        if method in SAFE and not socket:
            return
        origin = headers.get("origin")
        if origin is not None and not self._ours(origin, host=headers.get("host", "")):
            raise errors.Refused(f"a page of {origin[:80]!r} may not do this; only our own pages may")
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise errors.Refused("another site's page may not do this; only our own pages may")

    def _ours(self, origin: str, *, host: str) -> bool:
        try:
            parts = urllib.parse.urlsplit(origin)
            name = parts.hostname
        except ValueError:
            return False
        if parts.scheme not in ("http", "https") or not name or parts.path or parts.query or parts.fragment:
            return False
        return parts.netloc.lower() == host.lower() or (self.hosts is not None and name in self.hosts)


def hosts(bound: str, *, told: tuple[str, ...]) -> frozenset[str] | None:
    """The names of a server: those it was told; if none, those of loopback where it listens only there."""
    if told:
        return frozenset(_name(host) for host in told) | (address.LOOPBACK if address.is_loopback(bound) else frozenset())
    return address.LOOPBACK if address.is_loopback(bound) else None


def session_of(headers: Mapping[str, str]) -> str | None:
    """The text of the session's cookie, if there is one."""
    return _said(headers, *_names(headers))


def cookie(session: str, *, secure: bool, max_age: int) -> str:
    """The Set-Cookie of a session: no script reads it, no other site sends it. 0 seconds: forget it."""
    name = _SECURE if secure else _PLAIN
    attributes = ["Path=/", f"Max-Age={max_age}", "HttpOnly", "SameSite=Strict", *(["Secure"] if secure else [])]
    return "; ".join([f"{name}={session}", *attributes])


def pending_cookie(text: str, *, secure: bool, max_age: int) -> str:
    """The Set-Cookie of a login that has begun. Lax, because it is another site's page that leads back to us."""
    attributes = ["Path=/", f"Max-Age={max_age}", "HttpOnly", "SameSite=Lax", *(["Secure"] if secure else [])]
    return "; ".join([f"{_SECURE if secure else _PLAIN}-login={text}", *attributes])


def pending_of(headers: Mapping[str, str]) -> str | None:
    """What the cookie of a login that has begun says."""
    return _said(headers, *(f"{name}-login" for name in _names(headers)))


def csrf_token(session: str) -> str:
    """What our page sends with every change. It follows from the session, which only the server and the browser know."""
    return base64url.encode(hmac.new(session.encode(), b"weft csrf", hashlib.sha256).digest())


def check_csrf(headers: Mapping[str, str], *, method: str, session: str) -> None:
    """Forbidden, if a change comes with a session's cookie but without its token."""
    if method in SAFE:
        return
    if not hmac.compare_digest(headers.get(CSRF_HEADER, "").encode(), csrf_token(session).encode()):
        raise errors.Forbidden("a change with a session needs its token in the header X-Weft-CSRF; reload the page")


def secured(headers: list[tuple[bytes, bytes]], *, scheme: str) -> list[tuple[bytes, bytes]]:
    """An answer's headers and those that are missing among them."""
    there = {name.lower() for name, _ in headers}
    added = [(name, value) for name, value in _HEADERS.items() if name not in there]
    return [*headers, *added, *([_HTTPS_ONLY] if scheme == "https" else [])]


def forwarded_https(headers: Mapping[str, str]) -> bool:
    """Whether a proxy says that the browser came to it over https."""
    return headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower() == "https"


def _names(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Over https only the name that no other host of the site can set: a session that somebody else put there is none."""
    return (_SECURE,) if forwarded_https(headers) else (_SECURE, _PLAIN)


def _said(headers: Mapping[str, str], *names: str) -> str | None:
    """What the first of these cookies says that is there.

    Read by hand: other programs on the same host (localhost, say) share the browser's jar, and one odd cookie of theirs
    makes the standard library's reader give up on all.
    """
    jar: dict[str, str] = {}
    for one in headers.get("cookie", "")[:65536].split(";"):
        name, _, value = one.strip().partition("=")
        jar.setdefault(name, value.strip('"'))
    return next((jar[name] for name in names if jar.get(name)), None)


def _name(host: str) -> str:
    """A Host header without its port, in lower case; '' for what is none."""
    try:
        return (urllib.parse.urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""
