"""What is asked of a configured OIDC issuer while somebody logs in: where things are, and a token for a code."""

import base64
import urllib.parse

import msgspec

from weft.base import errors
from weft.net import http
from weft.net.http import Request
from weft.net.jwks import host

_TIMEOUT = 10.0
_MAX_BYTES = 256 * 1024


class Places(msgspec.Struct):
    """What an issuer's discovery document says."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str


class _Tokens(msgspec.Struct):
    id_token: str


async def places(issuer: str, *, allow: tuple[str, ...] = ()) -> Places:
    """Unreachable, or Refused if the document is none or another issuer's."""
    request = Request(
        url=f"{issuer.rstrip('/')}/.well-known/openid-configuration", headers={"accept": "application/json"}
    )
    answer = await http.call(request, timeout=_TIMEOUT, max_bytes=_MAX_BYTES, allow=(*allow, host(issuer)), redirects=0)
    try:
        told = msgspec.json.decode(answer.body, type=Places)
    except (ValueError, RecursionError):
        raise errors.Refused(f"{issuer} has no discovery document that says where people log in") from None
    if answer.status != 200 or told.issuer != issuer:
        raise errors.Refused(f"the discovery document of {issuer} is another issuer's: {told.issuer[:200]!r}")
    return told


async def exchange(
    url: str, form: dict[str, str], *, client: str, secret: str | None, allow: tuple[str, ...] = ()
) -> str:
    """The id token for a code; Unauthenticated if the issuer does not give one."""
    headers = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
    if secret is not None:
        pair = f"{urllib.parse.quote(client, safe='')}:{urllib.parse.quote(secret, safe='')}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    request = Request(url=url, method="POST", headers=headers, body=urllib.parse.urlencode(form).encode())
    answer = await http.call(request, timeout=_TIMEOUT, max_bytes=_MAX_BYTES, allow=(*allow, host(url)), redirects=0)
    try:
        if answer.status != 200:
            raise ValueError(f"status {answer.status}")
        return msgspec.json.decode(answer.body, type=_Tokens).id_token
    except (ValueError, RecursionError):
        raise errors.Unauthenticated("the issuer gave no token for the login; try again") from None
