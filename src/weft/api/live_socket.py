"""`/v1/live`, the WebSocket: who comes in is decided before the connection is accepted, and asked again all the time."""

import asyncio
import contextlib
import logging
import urllib.parse
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from weft.access.principal import Principal
from weft.api import browser, credentials, endpoint, policy, reply
from weft.api.endpoint import Service
from weft.api.live_connection import Close, Connection
from weft.base import errors, ids
from weft.base.memory import Memory
from weft.live import protocol, sessions

log = logging.getLogger("weft.live")

PATH = "/v1/live"
MOST = 2000
"""Connections of one server."""
_LEFT = frozenset({1000, 1001, 1005})
"""Codes with which a client says goodbye; others mean that the connection broke."""
_FAREWELL = 1.0


def check() -> None:
    """ConfigError if a message that clients can send is under no policy."""
    for kind in protocol.FromClient.__args__:
        if protocol.ACTIONS.get(kind) not in policy.ACTIONS:
            raise errors.ConfigError(f"the message {kind.__name__} is under no policy; add it to live/protocol.py")


class Standing:
    """Whom the credentials of open sockets stand for, asked again and again: each once for all who came with it.

    A thousand sockets of one key that all asked by themselves would wait for each other longer than an answer holds.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._asking: dict[tuple[str, str], asyncio.Task[Principal]] = {}
        # that which is asked remembers too; together they stay far below the 5 seconds that are promised
        self._known: Memory[tuple[str, str], Principal] = Memory(
            seconds=credentials.REMEMBERED / 2, most=credentials.MOST
        )  # fmt: skip

    async def who(self, headers: Mapping[str, str]) -> Principal:
        which = headers.get("authorization", ""), headers.get("cookie", "")
        asked = self._known.now()
        if (known := self._known.get(which)) is not None:
            return known
        if (asking := self._asking.get(which)) is None:
            asking = self._asking[which] = asyncio.create_task(endpoint.who(self._service, "GET", headers))
            asking.add_done_callback(lambda done: self._answered(which, done))
        return self._known.keep(which, await asyncio.shield(asking), asked=asked)

    def _answered(self, which: tuple[str, str], done: asyncio.Task[Principal]) -> None:
        self._asking.pop(which, None)
        if not done.cancelled():
            done.exception()  # whoever still waits is told; nobody need be


class Socket:
    """The endpoint."""

    def __init__(self, service: Service) -> None:
        check()
        self._service = service
        self._standing = Standing(service)
        self.open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        request_id = f"req-{ids.token().hex[:20]}"
        await receive()  # websocket.connect
        try:
            who = await self._let_in(scope, headers)
            session = await self._session(scope, who)
            held = self._service.live.feed.held()
            await held.__aenter__()
        except errors.WeftError as error:
            await self._refuse(error, scope=scope, send=send, request_id=request_id)
            return
        self.open += 1
        try:
            await self._serve(scope, receive, send, who=who, session=session, headers=headers)
        finally:
            self.open -= 1
            await held.__aexit__(None, None, None)

    async def _let_in(self, scope: Scope, headers: Mapping[str, str]) -> Principal:
        service = self._service
        service.rules.check_host(headers, path=scope["path"])
        service.rules.check_origin(headers, method="GET", socket=True)
        who = service.local or await endpoint.who(service, "GET", headers)
        policy.require(who, "live.read")
        if service.local is None:
            await service.limiter.admit(who, tell=lambda _: None)
        if self.open >= MOST:
            raise errors.RateLimited(f"this server has {MOST} live connections already; try again later", retry_after=5)
        return who

    async def _session(self, scope: Scope, who: Principal) -> uuid.UUID:
        """A new one, or that which the client had before, if it is theirs."""
        given = urllib.parse.parse_qs(scope["query_string"].decode("latin-1")).get("session", [""])[0]
        with contextlib.suppress(ValueError):
            wanted = uuid.UUID(given)
            async with self._service.database.once(org=who.org) as tx:
                if await sessions.resumable(tx, wanted, org=who.org, actor=who.actor):
                    return wanted
        return ids.token()

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, *, who: Principal, session: uuid.UUID, headers: Mapping[str, str]
    ) -> None:
        service = self._service
        await send({"type": "websocket.accept", "headers": browser.secured([], scheme="http")})

        async def again() -> Principal:
            return service.local or await self._standing.who(headers)

        async def text(said: str) -> None:
            await send({"type": "websocket.send", "text": said})

        connection = Connection(service.live, service.ledger, who=again, first=who, session=session, send=text)
        service.ledger.open(sessions.New(session, who.org, who.actor))
        connection.tell(protocol.Hello(session=session, cursor=service.live.feed.position))
        code: int | None = 1006
        try:
            code = await _living(connection, receive, closed=service.waiting.closed)
        finally:
            status: sessions.Status = "disconnected" if code is None or code in _LEFT or code > 4000 else "reconnecting"
            service.ledger.end(session, status)
            await connection.close()
        if code is not None and code not in (1005, 1006):
            await _farewell(send, code, abort=scope.get("weft.abort"))

    async def _refuse(self, error: errors.WeftError, *, scope: Scope, send: Send, request_id: str) -> None:
        """The envelope, as HTTP; or a bare refusal, if the server in front cannot say more."""
        refusal = reply.refusal(error, request_id=request_id)
        client = scope.get("client")
        if refusal.status in (401, 403):
            with contextlib.suppress(errors.DatabaseError):
                await self._service.strangers.record(error, asked=f"GET {PATH}", client=client[0] if client else "")
        log.info("GET %s %d", PATH, refusal.status)
        if "websocket.http.response" not in (scope.get("extensions") or {}):
            await send({"type": "websocket.close", "code": 1008})
            return
        raw = [(name.encode(), value.encode("latin-1")) for name, value in refusal.headers.items()]
        raw = browser.secured([*raw, (b"x-request-id", request_id.encode())], scheme="http")
        await send({"type": "websocket.http.response.start", "status": refusal.status, "headers": raw})
        await send({"type": "websocket.http.response.body", "body": refusal.body, "more_body": False})


async def _living(connection: Connection, receive: Receive, *, closed: asyncio.Event) -> int | None:
    """Until one side has enough; answers the code to close with, or None if the client has closed."""

    async def hearing() -> int:
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return int(message.get("code") or 1005)
            text = message.get("text")
            await connection.hear(text if text is not None else message.get("bytes") or b"")

    async def stopping() -> int:
        await closed.wait()
        return 1001

    hears = asyncio.create_task(hearing())
    parts: list[asyncio.Task[Any]] = [
        hears, asyncio.create_task(stopping()), asyncio.create_task(connection.sending()),
        asyncio.create_task(connection.guarding()), asyncio.create_task(connection.overflowing()),
    ]  # fmt: skip
    try:
        done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        if hears in done and hears.exception() is None:
            code = hears.result()
            return None if code in _LEFT else 1006
        for one in done:
            code = one.result()
        return int(code)
    except Close as close:
        return close.code
    except (errors.Unauthenticated, errors.Forbidden):
        return 4401
    finally:
        for one in parts:
            one.cancel()
        await asyncio.gather(*parts, return_exceptions=True)


async def _farewell(send: Send, code: int, *, abort: Callable[[], None] | None) -> None:
    """Says why, if the client listens; who does not is hung up on, so that nothing is kept for it."""

    async def say() -> None:
        await send({"type": "websocket.close", "code": code, "reason": protocol.CLOSED.get(code, "")})

    saying: Awaitable[None] = say()
    try:
        async with asyncio.timeout(_FAREWELL):
            await saying
    except TimeoutError:
        if abort is not None:
            abort()


