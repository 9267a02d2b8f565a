"""The built-in kinds: `http` calls an endpoint, `shell` runs a command (off unless the worker's settings allow it).

How an HTTP answer ends the attempt:

    2xx, or what `expect` lists                       → completed
    429 or 503 with Retry-After                       → retried when the server says
    408, 425, 429, 5xx, no answer                     → retried by the policy
    any other status, or the guard refuses the URL    → failed for good
"""

import datetime as dt
import email.utils
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from weft.base import errors, json
from weft.base.config import Settings
from weft.net import http as net
from weft.sdk.context import Context
from weft.worker import shell as shells

MAX_BODY = 64 * 1024
"""Bytes of an answer's body in the result."""

_SHOWN = (
    "content-type", "content-length", "date", "etag", "last-modified", "location", "retry-after", "server",
    "x-request-id", "x-correlation-id",
)  # fmt: skip
_TEMPORARY = frozenset({408, 425, 429})
_LONGEST_WAIT = dt.timedelta(days=1)
_LONGEST_CALL = 3600.0
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
# only plain character sets: Python's codecs also decode zip, base64 and punycode
_CHARSET = re.compile(
    r"charset=\"?((?:utf-?(?:8|16|16le|16be)|us-ascii|iso-8859-\d+|windows-12\d\d|shift_jis|euc-(?:jp|kr)|gb2312|gbk|gb18030"
    r"|big5|koi8-[ru])\b)"
)


class HttpFailed(errors.WeftError):
    """The endpoint refused the request; asking again would not help."""

    code = "HTTP_FAILED"


class HttpUnavailable(errors.WeftError):
    """The endpoint cannot answer now."""

    code = "HTTP_UNAVAILABLE"


Hosts = Callable[[str], Awaitable[Sequence[str]]]
"""Private hosts that tasks of an org may call, besides those of the settings."""


async def no_hosts(_org: str) -> Sequence[str]:
    return ()


def builtin_tasks(
    settings: Settings, *, grace: float = 5.0, hosts: Hosts = no_hosts
) -> list[tuple[Callable[..., Any], str, dict[str, Any]]]:
    """The handlers of the built-in kinds as (function, name, options), ready for `Registry.add`."""
    return [
        (_http(settings, hosts), "http", {"fail_on": (HttpFailed, errors.Refused, errors.InvalidInput)}),
        (_shell(settings, grace=grace), "shell", {"fail_on": (errors.Refused, errors.InvalidInput)}),
    ]


def _http(settings: Settings, hosts: Hosts) -> Callable[..., Any]:
    async def http(
        ctx: Context,
        url: str,
        *,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        body: Any = None,
        expect: list[int] | None = None,
        timeout: float = 60.0,
    ) -> dict[str, Any]:
        if not 0 < timeout <= _LONGEST_CALL:
            raise errors.InvalidInput(f"timeout {timeout:g} must be above 0 and at most {_LONGEST_CALL:g} seconds")
        request = _request(ctx, url, method=method.upper(), headers=headers or {}, body=body)
        allow = (*settings.allow_hosts, *await hosts(ctx.org))
        response = await net.call(request, allow=allow, timeout=timeout, max_bytes=MAX_BODY)
        ctx.log(f"{request.method} answered {response.status}", status=response.status, bytes=len(response.body))
        result = answer(response)
        # redacted before it is cut to a few words
        judge(response, expect=expect, said=ctx.redact(str(result["body"])) if result["body"] else None)
        return result

    return http


def _shell(settings: Settings, *, grace: float) -> Callable[..., Any]:
    async def shell(
        ctx: Context,
        command: str | list[str],
        *,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        if not settings.allow_shell:
            raise errors.Refused("this worker runs no shell commands; start it with WEFT_ALLOW_SHELL=1 to allow them")
        if any(ctx.redact(part) != part for part in ([command] if isinstance(command, str) else command)):
            raise errors.Refused("a secret in a command is shown to everybody by `ps`; pass it in `env` instead")
        told = {"WEFT_TASK_ID": ctx.task_id, "WEFT_ATTEMPT": str(ctx.attempt)}
        return await shells.run(command, log=ctx.log, cwd=cwd, env={**told, **(env or {})}, grace=grace, hide=ctx.redact)

    return shell


def judge(response: net.Response, *, expect: list[int] | None, said: Any = None) -> None:
    """Raises what the status means for the attempt, unless it is a success."""
    status = response.status
    if status in expect if expect is not None else 200 <= status < 300:
        return
    words = f"the endpoint answered {status}{f': {str(said)[:500]}' if said else ''}"
    if status in (429, 503) and (delay := retry_after(response)) is not None:
        raise errors.RetryLater(delay, reason=words)
    if status in _TEMPORARY or status >= 500:
        raise HttpUnavailable(words, status=status)
    raise HttpFailed(words, status=status)


def retry_after(response: net.Response) -> dt.timedelta | None:
    """How long the server asks us to wait: seconds, or a date by the server's own clock. At most a day."""
    written = response.headers.get("retry-after", "").strip()
    if written.isascii() and written.isdigit():
        return min(dt.timedelta(seconds=int(written[:9])), _LONGEST_WAIT)
    until = _date(written)
    if until is None:
        return None
    now = _date(response.headers.get("date", "")) or dt.datetime.now(dt.UTC)
    return min(max(until - now, dt.timedelta(0)), _LONGEST_WAIT)


def answer(response: net.Response) -> dict[str, Any]:
    """The response as a result that can be stored: JSON where it is JSON, else text."""
    return {
        "status": response.status,
        "headers": {name: response.headers[name][:1024] for name in _SHOWN if name in response.headers},
        "body": _body(response),
        "truncated": response.truncated,
    }


def _request(ctx: Context, url: str, *, method: str, headers: dict[str, str], body: Any) -> net.Request:
    ours: dict[str, str] = {}
    sent: bytes | None = None
    if isinstance(body, str):
        sent, ours["content-type"] = body.encode(), "text/plain; charset=utf-8"
    elif body is not None:
        sent, ours["content-type"] = json.dumps(body), "application/json"
    if method not in ("GET", "HEAD", "OPTIONS"):
        # a retry is the same request: an endpoint that knows this header does the work once
        ours["idempotency-key"] = ctx.task_id
    given = {name.lower() for name in headers}
    merged = {**{name: value for name, value in ours.items() if name not in given}, **headers}
    return net.Request(url=url, method=method, headers=merged, body=sent)


def _body(response: net.Response) -> Any:
    kind = response.headers.get("content-type", "").lower()
    if "json" in kind and not response.truncated:
        try:
            found = json.loads(response.body)
            json.text(found, what="the answer")
            return found
        except (ValueError, RecursionError, OverflowError, errors.InvalidPayload):
            pass  # not JSON, or not storable as such: shown as text
    charset = _CHARSET.search(kind)
    try:
        text = response.body.decode(charset[1] if charset else "utf-8", "replace")
    except (LookupError, ValueError):
        text = response.body.decode("utf-8", "replace")
    # each control character would take six bytes of JSON; so replaced, 64 KiB always fit into a result
    return _CONTROL.sub("\ufffd", text)


def _date(written: str) -> dt.datetime | None:
    try:
        found = email.utils.parsedate_to_datetime(written)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)
