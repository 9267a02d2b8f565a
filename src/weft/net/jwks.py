"""An issuer's public keys, fetched through the guard. The configured issuer's own host may be private: it was configured."""

import urllib.parse

import msgspec

from weft.base import errors
from weft.net import http
from weft.net.http import Request

_TIMEOUT = 5.0
_MAX_BYTES = 256 * 1024


class _Discovery(msgspec.Struct):
    issuer: str
    jwks_uri: str


async def fetch(issuer: str, jwks_url: str | None, *, allow: tuple[str, ...] = ()) -> bytes:
    """The JWKS at `jwks_url`, or where the issuer's discovery document says. Unreachable or Refused if there is none."""
    allowed = (*allow, *(host(url) for url in (issuer, jwks_url) if url is not None))
    if jwks_url is None:
        found = await _get(f"{issuer.rstrip('/')}/.well-known/openid-configuration", allow=allowed)
        try:
            told = msgspec.json.decode(found, type=_Discovery)
        except (ValueError, RecursionError):
            raise errors.Refused(f"{issuer} has no discovery document; set WEFT_OIDC_JWKS_URL") from None
        if told.issuer != issuer:
            raise errors.Refused(f"the discovery document of {issuer} is another issuer's: {told.issuer[:200]!r}")
        jwks_url = told.jwks_uri
    return await _get(jwks_url, allow=allowed)


async def _get(url: str, *, allow: tuple[str, ...]) -> bytes:
    request = Request(url=url, headers={"accept": "application/json"})
    answer = await http.call(request, timeout=_TIMEOUT, max_bytes=_MAX_BYTES, allow=allow, redirects=0)
    if answer.status != 200 or answer.truncated:
        raise errors.Refused(f"{url} answered {answer.status}" + (", too much" if answer.truncated else ""))
    return answer.body


def host(url: str) -> str:
    """Host and port as the guard's list of allowed ones has them."""
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
