"""Calling a URL somebody wrote. Only here, in `session` and in `mounted` is the HTTP library imported.

Each hop is its own connection to a checked address: a shared pool would be keyed by that address, and so hand one
host's TLS connection to another host behind the same one.
"""

import asyncio
import dataclasses
import functools
import re
import ssl
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Final

import httpx2

from weft.base import errors
from weft.net import guard
from weft.net.guard import Resolver, Target, Unreachable

MAX_REDIRECTS: Final = 5
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# what frames the message or names the host is ours to say
_OURS = frozenset(
    {
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect",
        "proxy-authorization", "proxy-connection",
    }
)  # fmt: skip
# what may follow a redirect to another origin: anything else might be a credential
_HARMLESS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONNECT_TIMEOUT = 10.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What to send."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    body: bytes | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Response:
    """What came back. `headers` have lower-case names; `body` is as sent (no content coding is asked for)."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool
    """The body is longer than `max_bytes`; the rest was not read."""


async def call(
    request: Request,
    *,
    timeout: float,
    max_bytes: int,
    allow: Sequence[str] = (),
    redirects: int = MAX_REDIRECTS,
    resolver: Resolver = guard.resolve,
    tls: ssl.SSLContext | None = None,
) -> Response:
    """Sends the request and follows checked redirects, all within `timeout` seconds.

    Refused: the guard said no. InvalidInput: the request cannot be sent. Unreachable: try again later.
    """
    _validate(request)
    try:
        async with asyncio.timeout(timeout):
            target = await guard.check(request.url, allow=allow, resolver=resolver)
            for _ in range(redirects + 1):
                response = await _send(request, target, max_bytes=max_bytes, tls=tls or _default_tls())
                if response.status not in _REDIRECTS or "location" not in response.headers or redirects == 0:
                    return response
                request, target = await _follow(request, target, response=response, allow=allow, resolver=resolver)
    except TimeoutError:
        raise Unreachable(f"no complete answer within {timeout:g} s", timeout=timeout) from None
    raise errors.Refused(f"more than {redirects} redirects; call the final URL instead")


async def _send(request: Request, target: Target, *, max_bytes: int, tls: ssl.SSLContext) -> Response:
    """Tries the checked addresses in turn until one takes the connection."""
    refusal: Exception | None = None
    for address in target.addresses:
        try:
            return await _exchange(request, target, address=address, max_bytes=max_bytes, tls=tls)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            refusal = error
        except httpx2.LocalProtocolError as error:
            raise errors.InvalidInput(f"the request cannot be sent: {error}") from error
        except (httpx2.TransportError, OSError) as error:
            raise Unreachable(f"{target.url.public}: {_said(error)}") from error
    raise Unreachable(f"{target.url.public} cannot be connected to: {_said(refusal)}") from refusal


async def _exchange(request: Request, target: Target, *, address: str, max_bytes: int, tls: ssl.SSLContext) -> Response:
    url = target.url
    outgoing = httpx2.Request(
        request.method,
        httpx2.URL(scheme=url.scheme, host=address, port=url.port, raw_path=url.target.encode("ascii")),
        headers={
            "user-agent": "weft", "accept": "*/*", "accept-encoding": "identity",
            **{name.lower(): value for name, value in request.headers.items()},
            "host": url.authority, "connection": "close",
        },
        content=request.body,
        extensions={"sni_hostname": url.host, "timeout": httpx2.Timeout(None, connect=_CONNECT_TIMEOUT).as_dict()},
    )  # fmt: skip
    transport = httpx2.AsyncHTTPTransport(verify=tls, trust_env=False)
    async with transport:
        response = await transport.handle_async_request(outgoing)
        try:
            body, truncated = await _read(response, max_bytes=max_bytes)
        finally:
            await response.aclose()
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(url=str(url), status=response.status_code, headers=headers, body=body, truncated=truncated)


async def _read(response: httpx2.Response, *, max_bytes: int) -> tuple[bytes, bool]:
    """At most `max_bytes`. Raw, so that a small compressed body cannot grow into a large one here."""
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > max_bytes:
            return bytes(body[:max_bytes]), True
    return bytes(body), False


async def _follow(
    request: Request, target: Target, *, response: Response, allow: Sequence[str], resolver: Resolver
) -> tuple[Request, Target]:
    """The next request after a redirect, checked like a first one."""
    location = response.headers["location"]
    try:
        joined = urllib.parse.urljoin(str(target.url), location)
    except ValueError:
        raise errors.Refused(f"{target.url.public} redirects to something that is not a URL") from None
    following = await guard.check(joined, allow=allow, resolver=resolver)
    if target.url.scheme == "https" and following.url.scheme == "http":
        raise errors.Refused(
            f"{target.url.public} redirects from https to {following.url.public}, which is not encrypted"
        )
    method, body, headers = request.method, request.body, dict(request.headers)
    if method != "HEAD" and (response.status == 303 or (response.status in (301, 302) and method == "POST")):
        method, body = "GET", None
        headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
    if following.url.origin != target.url.origin:
        headers = {name: value for name, value in headers.items() if name.lower() in _HARMLESS}
    return Request(url=str(following.url), method=method, headers=headers, body=body), following


def _validate(request: Request) -> None:
    if request.method not in METHODS:
        raise errors.InvalidInput(f"method {request.method!r} is not one of {', '.join(sorted(METHODS))}")
    for name, value in request.headers.items():
        if not _TOKEN.fullmatch(name):
            raise errors.InvalidInput(f"the header name {name!r} is not valid")
        if name.lower() in _OURS:
            raise errors.InvalidInput(f"the header {name} cannot be set: it follows from the URL and the body")
        if any((ord(char) < 32 and char != "\t") or ord(char) == 127 for char in value) or value != value.strip():
            raise errors.InvalidInput(f"the value of the header {name} has control characters or spaces around it")


@functools.cache
def _default_tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


def _said(error: Exception | None) -> str:
    return str(error) or type(error).__name__
