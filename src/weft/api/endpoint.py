"""One path: who is asking, may they, what do they want, do it, answer."""

import dataclasses
import functools
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from weft.access.code_flow import CodeFlow
from weft.access.principal import Principal
from weft.api import browser, credentials, denials, idempotency, policy, reply, request, standing
from weft.api.browser import Rules
from weft.api.credentials import Credentials, Resolver
from weft.api.demo import Stage
from weft.api.dialect import WEFT, Application, Dialect
from weft.api.limiter import Limiter
from weft.api.live_ledger import Ledger
from weft.api.live_watch import Live
from weft.api.metrics import Remembered
from weft.api.operation import Call, Operation
from weft.api.strangers import Strangers
from weft.api.traffic import Traffic
from weft.api.unlocked import Unlocked
from weft.api.waiting import Streams, Waiting
from weft.api.work_desk import Desk
from weft.base import errors
from weft.db.database import Database
from weft.db.notify import Hub
from weft.live.asking import Scope as Rights

NOBODY = Principal(org=uuid.UUID(int=0), actor="nobody", role="attempt")
"""Who asks for what is open to everybody."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Service:
    """What all endpoints of a server share."""

    database: Database
    credentials: Credentials
    denials: denials.Denials
    operations: Sequence[Operation]
    waiting: Waiting
    streams: Streams
    desk: Desk
    """Where HTTP workers come to."""
    limiter: Limiter
    strangers: Strangers
    rules: Rules
    live: Live
    ledger: Ledger
    traffic: Traffic = dataclasses.field(default_factory=Traffic)
    metrics: Remembered = dataclasses.field(default_factory=Remembered)
    hub: Hub | None = None
    began: float = dataclasses.field(default_factory=time.monotonic)
    sessions: Resolver | None = None
    """From the text of a session's cookie to whom it stands for."""
    dialect: Dialect = WEFT
    applications: tuple[Application, ...] = ()
    """What is served beside the operations, each under its prefix and in its own words."""
    unlocked: Unlocked | None = None
    code_flow: CodeFlow | None = None
    """How people log in with the configured issuer."""
    demo: Stage | None = None
    """Workers that may be crashed, in `weft dev`."""
    local: Principal | None = None
    """Whoever asks is this one: for a server inside one process, which nobody else can reach."""

    def spoken(self, path: str) -> Dialect:
        """In whose words whatever is at a path is answered."""
        return next((one.dialect for one in self.applications if one.has(path)), self.dialect)

    def beside(self, operation: Operation) -> Sequence[Operation]:
        """The operations of the application that an operation belongs to."""
        for one in self.applications:
            if one.has(operation.path):
                return one.mounted()
        return self.operations


class Endpoint:
    """The operations of one path, by method."""

    def __init__(self, service: Service, operations: Sequence[Operation]) -> None:
        self._service = service
        self._operations = {operation.method: operation for operation in operations}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        operation = self._operations.get("GET" if method == "HEAD" else method)
        if operation is None:
            allow = sorted(self._operations)
            raise errors.MethodNotAllowed(f"{method} is not possible here; use {' or '.join(allow)}", allow=allow)
        scope["weft.operation"] = operation
        headers = Headers(scope=scope)
        answer = await self._answer(operation, scope=scope, receive=receive, headers=headers)
        await reply.send(answer, receive, send, accept_encoding=headers.get("accept-encoding", ""), head=method == "HEAD")

    async def _answer(
        self, operation: Operation, *, scope: Scope, receive: Receive, headers: Mapping[str, str]
    ) -> reply.Reply:
        principal = await self._let_in(operation, scope=scope, headers=headers)
        still, began = self._still(operation, scope["method"], headers, first=principal), time.monotonic()
        raw = await request.read(receive, headers=headers, most=operation.max_body)
        call: Call[Any, Any] = Call(
            principal=principal, path=scope.get("path_params", {}), query=request.query(operation, scope["query_string"]),
            body=request.body(operation, raw, headers=headers), headers=headers, database=self._service.database,
            operation=operation, hub=self._service.hub, request_id=scope["weft.request_id"], service=self._service,
            scheme=scope["scheme"],
            left=lambda: request.left(receive), still=still,
        )  # fmt: skip
        try:
            answer = await self._handle(operation, call, scope=scope, raw=raw)
        except errors.Forbidden as refused:
            # what is wanted may need more than the operation itself
            if "action" in refused.details:
                await self._service.denials.record(principal, operation, action=refused.details["action"])
            raise
        if not isinstance(answer.body, bytes):
            answer.body = standing.pieces(answer.body, still)
        elif operation.method == "GET" and time.monotonic() - began >= credentials.REMEMBERED:
            await still()  # it has waited
        return answer

    async def _handle(self, operation: Operation, call: Call[Any, Any], *, scope: Scope, raw: bytes) -> reply.Reply:
        headers = call.headers
        key = headers.get(idempotency.HEADER) if operation.idempotent else None
        if key is not None:
            asked = idempotency.fingerprint(operation, path=scope["path"], query=scope["query_string"], body=raw)
            return await idempotency.once(
                operation, call, key=key, request=asked, write=lambda answer: reply.of(answer, operation)
            )  # fmt: skip
        written = reply.of(await operation.handler(call), operation)
        return reply.tagged(written, if_none_match=headers.get("if-none-match")) if operation.etag else written

    async def _let_in(self, operation: Operation, *, scope: Scope, headers: Mapping[str, str]) -> Principal:
        """Whoever asks, if the policy and the rate limits let them; a denial is written down."""
        if operation.action == policy.PUBLIC:
            return NOBODY
        service = self._service
        principal = service.local or await self._anybody(operation, scope["path"], headers)
        principal = principal or await who(service, scope["method"], headers)
        scope["weft.org"] = principal.org
        try:
            policy.require(principal, operation.action)
        except errors.Forbidden:
            await service.denials.record(principal, operation)
            raise
        # what was handed out may always be reported: its claim was counted
        if service.local is None and operation.action != "work.report":
            await service.limiter.admit(principal, tell=functools.partial(scope.__setitem__, "weft.standing"))
        return principal

    async def _anybody(self, operation: Operation, path: str, headers: Mapping[str, str]) -> Principal | None:
        """Whoever asks without a credential where that is allowed, and no lock was made yet."""
        service = self._service
        if service.unlocked is None or "authorization" in headers or not service.spoken(path).unlocked:
            return None
        return await service.unlocked.principal(operation)

    def _still(
        self, operation: Operation, method: str, headers: Mapping[str, str], *, first: Principal
    ) -> standing.Still:
        if operation.action == policy.PUBLIC or self._service.local is not None:
            return standing.always

        async def still() -> None:
            if await self._anybody(operation, operation.path, headers) is None:
                now = await who(self._service, method, headers)
                policy.require(now, operation.action)
                # what a stream shows was chosen by the rights of whoever opened it
                if operation.stream and Rights.of(now) != Rights.of(first):
                    raise errors.Unauthenticated("the credential's rights have changed; come back")

        return still


async def who(service: Service, method: str, headers: Mapping[str, str]) -> Principal:
    """Whoever asks: by a credential or, for browsers, by a session's cookie."""
    sessions = service.sessions
    if sessions is not None and "authorization" not in headers and (session := browser.session_of(headers)):
        browser.check_csrf(headers, method=method, session=session)
        return await sessions(session)
    return await service.credentials.principal(headers.get("authorization"))
