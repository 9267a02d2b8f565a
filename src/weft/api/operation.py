"""`Operation`: one thing HTTP can ask for; `Call`: what its handler is given.

A route file declares its types, its handlers, and ends with its table:

    class NewLock(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
        name: fields.Name
        ttl: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 30.0

    async def take(call: Call[NewLock, None]) -> Lock:
        async with call.tx() as tx:                         # as weft_tenant, inside the caller's org
            return await locks.take(tx, org=call.principal.org, name=call.body.name, owner=call.principal.actor)

    OPERATIONS = (
        Operation("POST", "/v1/locks", action="lock.write", handler=take, summary="Take a lock", body=NewLock,
                  answer=Lock, status=201, errors=("CONFLICT",), example={"name": "nightly"}),
    )

then `routes.py` names file and areas, `policy.py` says who may do `lock.write`. A handler raises what `base/errors.py` has;
`errors.py` turns its code into a status. It answers something the `answer` type can write; or an `Answer`, to say status
and headers itself; or a `Stream`. Path parameters are `{id:uuid}` or `{name:path}` (names may hold slashes): `call.path`.
A list takes `query=` a subclass of `pages.Paging` and answers `pages.Page[Item]`. `idempotent=True`: a repeat with the same
Idempotency-Key gets the first answer; everything such a handler stores must go through one `call.tx()`.
"""

import contextlib
import dataclasses
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Generic, Literal, Protocol, TypeVar

from weft.access.principal import Principal
from weft.api import standing
from weft.api.standing import Still
from weft.base import errors
from weft.db.database import Database
from weft.db.notify import Hub
from weft.db.tx import Tx

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Power = Literal["tenant", "engine", "operator"]

Body = TypeVar("Body", covariant=True)
Query = TypeVar("Query", covariant=True)

MAX_BODY = 1024 * 1024


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer with a status or headers of its own. `body` is what the operation's `answer` says, or bytes as they are."""

    body: Any = None
    status: int | None = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Stream:
    """An answer that comes in pieces, for as long as it takes."""

    pieces: AsyncIterator[bytes]
    media_type: str = "application/x-ndjson"


class Prepare(Protocol):
    """What the frame wants done in the first transaction of a call, before its handler does anything in it."""

    async def __call__(self, tx: Tx) -> None: ...


@dataclasses.dataclass(kw_only=True)
class Call(Generic[Body, Query]):
    """One request that was let in and understood."""

    principal: Principal
    path: Mapping[str, Any]
    query: Query
    body: Body
    headers: Mapping[str, str]
    database: Database
    hub: Hub | None = None
    """Hears that something changed; None: poll."""
    request_id: str = ""
    operation: "Operation | None" = None
    scheme: str = "http"
    service: Any = None
    """What the server's endpoints share (endpoint.Service): its operations and its traffic, for documents and metrics."""
    still: Still = standing.always
    """Raises if the credential was revoked since the request came: for what takes long."""
    left: Callable[[], Awaitable[None]] | None = None
    """Ends when the client has gone away; only after the body was read."""
    shared: contextlib.AsyncExitStack | None = None
    """Set if the answer is to be kept with the effect: then there is one transaction, and the frame ends it."""
    prepare: Prepare | None = None
    _open: tuple[Tx, Power] | None = None

    @property
    def opened(self) -> Tx | None:
        """The shared transaction, once the handler has opened it."""
        return None if self._open is None else self._open[0]

    @property
    def id(self) -> uuid.UUID:
        """The path's `{id:uuid}`."""
        found: uuid.UUID = self.path["id"]
        return found

    @contextlib.asynccontextmanager
    async def tx(self) -> AsyncIterator[Tx]:
        """A transaction as weft_tenant in the caller's org: row-level security holds whatever the statements say."""
        async with self._tx("tenant") as tx:
            yield tx

    @contextlib.asynccontextmanager
    async def engine_tx(self) -> AsyncIterator[Tx]:
        """A transaction with the engine's rights. Only where the tenant cannot do it; say why, and filter by org yourself.

        The tables of `access/` hold it to the caller's org all the same.
        """
        async with self._tx("engine") as tx:
            yield tx

    @contextlib.asynccontextmanager
    async def operator_tx(self) -> AsyncIterator[Tx]:
        """A transaction over every org, for whoever runs the installation and for nobody else."""
        if self.principal.role != "operator":
            raise errors.Forbidden("only an operator may do this to any org")
        async with self._tx("operator") as tx:
            yield tx

    @contextlib.asynccontextmanager
    async def _tx(self, power: Power) -> AsyncIterator[Tx]:
        org = None if power == "operator" else self.principal.org
        if self.shared is None:
            async with self.database.tx(org=org, engine=power == "engine", labelled=True) as tx:
                yield tx
            return
        if self._open is None:
            opening = self.database.tx(org=org, engine=power == "engine", labelled=True)
            tx = await self.shared.enter_async_context(opening)
            self._open = tx, power
            if self.prepare is not None:
                await self.prepare(tx)
        if self._open[1] != power:
            raise RuntimeError("an idempotent operation has one transaction: as the tenant or as the engine, not both")
        yield self._open[0]


Handler = Callable[[Any], Awaitable[Any]]


@dataclasses.dataclass(frozen=True, eq=False)
class Operation:
    """One row of the table of what HTTP can ask for."""

    method: Method
    path: str
    _: dataclasses.KW_ONLY
    action: str
    """What it is in the policy's table, e.g. `task.read`."""
    handler: Handler
    summary: str
    description: str = ""
    body: Any = None
    """The type of the request's JSON body."""
    query: Any = None
    """The Struct of the query parameters."""
    answer: Any = None
    """The type of the answer's JSON body; None: it has none."""
    status: int = 200
    also: Mapping[int, str] = dataclasses.field(default_factory=dict)
    """Other good statuses, and when."""
    errors: tuple[str, ...] = ()
    """Codes it refuses with, besides those that every operation of its kind has."""
    example: Any = None
    """A request body that is accepted; without a body: a query."""
    answer_example: Any = None
    media_type: str = "application/json"
    stream: bool = False
    etag: bool = False
    """Answers carry an ETag, and If-None-Match is answered with 304."""
    idempotent: bool = False
    """Takes an Idempotency-Key."""
    max_body: int = MAX_BODY
    optional_body: bool = False
    """No body is as good as an empty object."""

    @property
    def name(self) -> str:
        return f"{self.method} {self.template}"

    @property
    def template(self) -> str:
        """The path as people and OpenAPI write it: `/v1/tasks/{id}`."""
        return "/".join(
            "{" + part[1:].partition(":")[0].rstrip("}") + "}" if part.startswith("{") else part
            for part in self.path.split("/")
        )

    @property
    def parameters(self) -> dict[str, str]:
        """The path's parameters and their kinds: `{"id": "uuid"}`."""
        parts = (part[1:-1].partition(":") for part in self.path.split("/") if part.startswith("{"))
        return {name: kind or "str" for name, _, kind in parts}
