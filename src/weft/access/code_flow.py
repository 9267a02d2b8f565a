"""Logging in with the configured issuer: the authorization code flow with PKCE, a state and a nonce.

    begin   a browser is sent to the issuer; what must come back is kept in a cookie of its own
    finish  it comes back with a code and the state: the code and the verifier become an id token, which is checked like
            any token, is meant for us, and names the nonce

Nothing is stored: what is in the cookie is only worth something together with a code that the issuer made for it.
"""

import base64
import dataclasses
import hashlib
import hmac
import secrets
import urllib.parse

import msgspec

from weft.access import jwt
from weft.access.oidc import Issuer, Known, Oidc
from weft.base import base64url, config, errors
from weft.net import issuer

_SCOPE = "openid email profile"


class Pending(msgspec.Struct, frozen=True, array_like=True):
    """A login that has begun."""

    state: str
    nonce: str
    verifier: str
    next: str
    """The page to come back to."""

    def text(self) -> str:
        return base64url.encode(msgspec.json.encode(self))

    @classmethod
    def read(cls, text: str) -> "Pending":
        try:
            return msgspec.json.decode(base64url.decode(text), type=cls)
        except (ValueError, RecursionError):
            raise errors.Unauthenticated("the login took too long, or began in another browser; try again") from None


class CodeFlow:
    """One per server whose issuer knows it as a client."""

    def __init__(self, oidc: Oidc, *, client: str, secret: str | None = None, allow: tuple[str, ...] = ()) -> None:
        self._client = client
        self._secret = secret
        self._allow = allow
        # an id token is meant for the client, not for the API
        self._issuer = Issuer(dataclasses.replace(oidc, audience=client), allow=allow)

    @property
    def name(self) -> str:
        return urllib.parse.urlsplit(self._issuer.oidc.issuer).hostname or "the issuer"

    @property
    def leeway(self) -> float:
        return self._issuer.oidc.leeway

    async def begin(self, *, next: str, back: str) -> tuple[str, Pending]:
        """Where to send the browser, and what to keep until it comes `back`."""
        places = await issuer.places(self._issuer.oidc.issuer, allow=self._allow)
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        pending = Pending(state, nonce, verifier, page(next))
        digest = base64.urlsafe_b64encode(hashlib.sha256(pending.verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code", "client_id": self._client, "redirect_uri": back, "scope": _SCOPE,
            "state": pending.state, "nonce": pending.nonce, "code_challenge": digest, "code_challenge_method": "S256",
        }  # fmt: skip
        joint = "&" if "?" in places.authorization_endpoint else "?"
        return f"{places.authorization_endpoint}{joint}{urllib.parse.urlencode(query)}", pending

    async def finish(self, pending: Pending, *, code: str, state: str, back: str) -> Known:
        """Whom the issuer says it is; Unauthenticated if this is not the login that began here."""
        if not hmac.compare_digest(state.encode(), pending.state.encode()):
            raise errors.Unauthenticated("this is not the login that began in this browser; try again")
        places = await issuer.places(self._issuer.oidc.issuer, allow=self._allow)
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": back, "client_id": self._client,
            "code_verifier": pending.verifier,
        }  # fmt: skip
        text = await issuer.exchange(
            places.token_endpoint, form, client=self._client, secret=self._secret, allow=self._allow
        )
        known = await self._issuer.known(text)
        said = msgspec.json.decode(jwt.read(text).body, type=dict[str, object]).get("nonce")
        if not isinstance(said, str) or not hmac.compare_digest(said.encode(), pending.nonce.encode()):
            raise errors.Unauthenticated("the issuer's token is not for this login; try again")
        return known


def configured(settings: config.Settings, oidc: Oidc | None) -> CodeFlow | None:
    """What the settings say; None if the issuer does not know this server."""
    if oidc is None or settings.oidc_client_id is None:
        return None
    return CodeFlow(
        oidc, client=settings.oidc_client_id, secret=settings.oidc_client_secret, allow=settings.allow_hosts
    )


def page(wanted: str) -> str:
    """A path of our own; anything that a browser could take for another site's address is the first page."""
    ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable() and "\\" not in wanted
    return wanted if ours and len(wanted) <= 2000 else "/"
