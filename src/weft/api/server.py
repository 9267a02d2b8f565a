"""The ASGI application: every operation of `routes.py` under the policy, in one frame.

The frame gives each request an id, counts and times it, and turns whatever goes wrong into the envelope.
"""

import functools
import logging
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Protocol

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.access import code_flow, oidc
from weft.access.principal import Principal
from weft.api import browser, policy, reply, request, routes, work_desk
from weft.api.browser import Rules
from weft.api.credentials import Credentials, Resolver
from weft.api.demo import Stage
from weft.api.denials import Denials
from weft.api.dialect import WEFT, Application, Dialect
from weft.api.endpoint import Endpoint, Service
from weft.api.limiter import Limiter, Shares
from weft.api.live_ledger import Ledger
from weft.api.live_socket import PATH, Socket
from weft.api.live_watch import Live
from weft.api.login import Sessions
from weft.api.operation import Operation
from weft.api.strangers import Strangers
from weft.api.unlocked import Unlocked
from weft.api.waiting import Streams, Waiting
from weft.base import errors, ids
from weft.db import database as databases
from weft.db.database import Database
from weft.db.notify import Hub
from weft.queue import tokens
from weft.sdk.query import Queries

log = logging.getLogger("weft.api")

MOST_STREAMS = 200
"""Logs that one server follows at once; each asks the database once or twice a second."""

_GONE = 499
"""The status of a request whose client left, in the log and in the metrics."""

_GOOD_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Pages(Protocol):
    """The UI's files (`web/`): an application of its own, which says what it has."""

    def has(self, path: str, *, accept: str) -> bool: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


def build(
    database: Database, *, hub: Hub | None = None, local: Principal | None = None,
    operations: Sequence[Operation] | None = None, schemes: Mapping[str, Resolver] | None = None,
    rules: Rules | None = None, sessions: Resolver | None = None, shares: Shares | None = None, dialect: Dialect = WEFT,
    applications: Sequence[Application] = (),
    queries: Queries | None = None, node: uuid.UUID | None = None, pages: Pages | None = None,
    demo: Stage | None = None,
) -> Starlette:  # fmt: skip
    """The application. ConfigError if an operation is under no policy.

    `hub` makes waiting requests wake at once; without it they poll. `local` is whoever asks, without a credential: only
    for an application inside one process. `schemes` resolve credentials that are no keys, by their prefix; `sessions` what
    a browser's cookie says. `rules` are for browsers, `shares` say whose rate limits are what. `applications` are served
    beside Weft's own operations; with `operations` and `dialect` one is served alone. `queries` are the app's live queries,
    `node` is the server's own. `pages` are shown where there is no operation. `demo` are
    workers that may be crashed.
    """
    table = routes.operations() if operations is None else list(operations)
    policy.check(table, exempt=dialect.public)
    for one in applications:
        policy.check(one.operations, exempt=one.dialect.public)
    waiting = Waiting(database, hub=hub)
    desk = work_desk.open(database, hub=hub, closed=waiting.closed)
    known = {tokens.PREFIX: desk.tokens.principal, **(schemes or {})}
    configured = oidc.configured(database.settings)
    issuer = None if configured is None else oidc.Issuer(configured, allow=database.settings.allow_hosts)
    service = Service(
        database=database, credentials=Credentials(database, schemes=known, issuer=issuer), denials=Denials(database),
        operations=table, waiting=waiting, streams=Streams(MOST_STREAMS), desk=desk, hub=hub, local=local,
        limiter=Limiter(database, shares=shares), strangers=Strangers(database), rules=rules or Rules(),
        sessions=sessions or Sessions(database).principal, live=Live(database, hub=hub, queries=queries),
        ledger=Ledger(database, node=node or ids.token()),
        dialect=dialect, applications=tuple(applications), unlocked=Unlocked(database), demo=demo,
        code_flow=code_flow.configured(database.settings, configured),
    )  # fmt: skip
    by_path: dict[str, list[Operation]] = {}
    for operation in [*table, *(one for application in applications for one in application.mounted())]:
        by_path.setdefault(operation.path, []).append(operation)
    # what is spelled out comes before what a parameter would swallow
    paths = sorted(by_path, key=lambda path: (path.count("{"), ":path}" in path, -len(path)))
    app = Starlette(
        routes=[
            WebSocketRoute(PATH, endpoint=Socket(service)),
            *(Route(path, endpoint=Endpoint(service, by_path[path])) for path in paths),
        ],
        middleware=[Middleware(Frame, service=service)],
    )
    app.router.redirect_slashes = False
    app.router.default = functools.partial(_nowhere, service, pages)
    app.state.service = service
    return app


class Frame:
    """Around every request."""

    def __init__(self, app: ASGIApp, *, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        id = _id(headers.get("x-request-id"))
        scope["weft.request_id"] = id
        token = databases.request.set(id)
        began, status = time.perf_counter(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                standing = scope.get("weft.standing")
                told = [] if standing is None else standing.headers()
                said = [*message["headers"], *told, (b"x-request-id", id.encode())]
                message["headers"] = browser.secured(said, scheme=scope["scheme"])
            await send(message)

        try:
            self._service.rules.check_host(headers, path=scope["path"])
            self._service.rules.check_origin(headers, method=scope["method"])
            await self._app(scope, receive, sent)
        except errors.WeftError as error:
            refusal = reply.refusal(error, request_id=id, dialect=self._service.spoken(scope["path"]))
            if "weft.org" not in scope and refusal.status in (401, 403):
                await self._deny(error, scope=scope)
            if refusal.status >= 500:
                log.error("%s: %s", _asked(scope), error, exc_info=refusal.status == 500)
            if status == 0:
                await self._refuse(refusal, scope=scope, send=sent)
        except request.Gone:
            status = _GONE
        except Exception:
            log.exception("%s failed", _asked(scope))
            if status == 0:
                broken = reply.broken(request_id=id, dialect=self._service.spoken(scope["path"]))
                await self._refuse(broken, scope=scope, send=sent)
        finally:
            took = time.perf_counter() - began
            log.info("%s %d %.1f ms", _asked(scope), status, took * 1000)
            operation: Operation | None = scope.get("weft.operation")
            # a path that is not ours is one name, however many there are
            name = "unknown" if operation is None else operation.name
            self._service.traffic.count(name, org=scope.get("weft.org"), status=status, seconds=took)
            databases.request.reset(token)

    async def _deny(self, error: errors.WeftError, *, scope: Scope) -> None:
        """Writes down that a stranger was refused; that this may fail must not change what they are told."""
        client = scope.get("client")
        try:
            await self._service.strangers.record(error, asked=_asked(scope), client=client[0] if client else "")
        except errors.WeftError as failure:
            log.warning("a denial could not be written down: %s", failure)

    async def _refuse(self, refusal: reply.Reply, *, scope: Scope, send: Send) -> None:
        await reply.send(refusal, _no_more, send, accept_encoding="", head=scope["method"] == "HEAD")


class LogRequestId(logging.Filter):
    """Gives every log record the id of the request it belongs to: `%(request_id)s`."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = databases.request.get() or "-"
        return True


async def _no_more() -> Message:
    return {"type": "http.disconnect"}


async def _nowhere(service: Service, pages: Pages | None, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        return
    path, accept = scope["path"], Headers(scope=scope).get("accept", "")
    ours = path.startswith("/v1/") or any(one.has(path) for one in service.applications)
    if pages is not None and not ours and scope["method"] in ("GET", "HEAD") and pages.has(path, accept=accept):
        await pages(scope, receive, send)
        return
    if path == PATH:
        raise errors.NotFound(f"{path} is a WebSocket (ws://… or wss://…); over plain HTTP there is {path}/sse")
    lists = service.spoken(scope["path"]).lists
    raise errors.NotFound(f"there is nothing at this path (ids are UUIDs); GET {lists} lists what there is")


def _asked(scope: Scope) -> str:
    """Method and path for a line of the log, in which a path must not begin another."""
    path: str = scope["path"]
    return f"{scope['method']} {path if path.isprintable() else ascii(path)}"


def _id(given: str | None) -> str:
    return given if given and _GOOD_ID.fullmatch(given) else f"req-{uuid.uuid4().hex[:20]}"
