"""What `weft doctor` knows of a database: one statement for each part, read by the owner's own connection."""

import dataclasses
import time
from collections.abc import Callable
from typing import Literal

from weft.base import config, errors
from weft.db import connect, fresh, migrate, pooler, statements
from weft.db.database import Database
from weft.db.migrate import Status
from weft.db.tx import Tx

SQL = statements.load("weft.cli")

HolderKind = Literal["idle", "transaction", "prepared", "slot"]
Stuck = Literal["promotion", "cancellation", "lease", "node", "timeout"]


@dataclasses.dataclass(frozen=True)
class Way:
    """How this process reaches the database."""

    pooled: bool
    """WEFT_POOLED says that a transaction pooler is in between."""
    has_direct: bool
    work_pooler: bool
    """Something stands between: the server's process is not the one that the connection was promised."""
    direct_pooler: bool
    work_refused: str | None = None
    """What the ordinary connection was answered, if it could not be made."""


@dataclasses.dataclass(frozen=True)
class Server:
    """The PostgreSQL, in the order `server` selects it."""

    version: int
    fsync: bool
    full_page_writes: bool
    synchronous_commit: bool
    autovacuum: bool
    read_only: bool
    room: int
    """Connections it allows to those who are not superusers."""
    connections: int
    transaction_age: int
    clock: float


@dataclasses.dataclass(frozen=True)
class Holder:
    """Somebody who keeps dead rows from being removed."""

    kind: HolderKind
    name: str
    who: str
    held: float
    """Seconds; of a slot, transactions."""


@dataclasses.dataclass(frozen=True)
class Installation:
    """Our own tables and roles."""

    missing_roles: list[str]
    member: bool
    tenant_sees_all: bool
    unprotected: list[str]
    missing_partitions: list[str]
    rows_in_default: int
    unvacuumed: list[str]


@dataclasses.dataclass(frozen=True)
class MissingIndex:
    """One of ours that is not there, or not fit for use, and the statement that makes it."""

    name: str
    unfit: bool
    made_by: str


@dataclasses.dataclass(frozen=True)
class Leadership:
    """Seconds since the last leader's lease ended (negative: somebody leads), and how many could lead."""

    vacant: float
    candidates: int


@dataclasses.dataclass(frozen=True)
class Waiting:
    """Queued tasks of one kind in one queue, and the live workers for them."""

    queue: str
    kind: str
    capabilities: str
    tasks: int
    oldest: float
    paused: bool
    of_queue: int
    of_kind: int
    able: int


@dataclasses.dataclass(frozen=True)
class StuckTasks:
    """Tasks that should have moved on."""

    what: Stuck
    tasks: int
    seconds: float
    example: str


@dataclasses.dataclass(frozen=True)
class StalledRuns:
    """Runs that stand still: how many, for how many seconds, and one of them."""

    runs: int
    seconds: float
    example: str


@dataclasses.dataclass(frozen=True)
class Member:
    """A node."""

    id: str
    hostname: str
    pid: int
    status: str
    version: str
    works: bool
    silent: float
    lease: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything the checks judge. What needs our tables is None while they do not fit."""

    way: Way
    server: Server
    skew: float
    """How many seconds this machine's clock is ahead of the database's."""
    holders: list[Holder]
    migrations: list[Status]
    installation: Installation | None = None
    missing_indexes: list[MissingIndex] = dataclasses.field(default_factory=list)
    leadership: Leadership | None = None
    waiting: list[Waiting] = dataclasses.field(default_factory=list)
    stuck: list[StuckTasks] = dataclasses.field(default_factory=list)
    stalled: StalledRuns | None = None
    crew: list[Member] = dataclasses.field(default_factory=list)


async def read(settings: config.Settings, *, clock: Callable[[], float] = time.time) -> Facts:
    """Asks the database of the settings; Unavailable if it cannot be reached at all."""
    database = Database(settings)
    try:
        way, connection = await _reach(database)
        async with connection:
            tx = Tx(connection)
            before = clock()
            server = await _server(tx)
            facts = Facts(
                way=way, server=server, skew=(before + clock()) / 2 - server.clock,
                holders=[Holder(*row) for row in await tx.rows(SQL.holders)],
                migrations=await migrate.status(connection, migrate.ours()),
            )  # fmt: skip
            if any(one.state == "pending" for one in facts.migrations):
                return facts
            return await _ours(tx, facts)
    finally:
        await database.close()


async def _server(tx: Tx) -> Server:
    row = await tx.row(SQL.server)
    assert row is not None
    return Server(*row)


async def _ours(tx: Tx, facts: Facts) -> Facts:
    installation, leadership = await tx.row(SQL.installation), await tx.row(SQL.leadership)
    assert installation is not None and leadership is not None
    indexes = fresh.indexes()
    missing = await tx.rows(SQL.missing_indexes, {"names": list(indexes)})
    return dataclasses.replace(
        facts,
        installation=Installation(*installation),
        missing_indexes=[MissingIndex(name, unfit, indexes[name]) for name, unfit in missing],
        leadership=Leadership(*leadership),
        waiting=[Waiting(*row) for row in await tx.rows(SQL.waiting)],
        stuck=[StuckTasks(*row) for row in await tx.rows(SQL.stuck)],
        stalled=None if (stalled := await tx.row(SQL.stalled)) is None else StalledRuns(*stalled),
        crew=[Member(*row) for row in await tx.rows(SQL.crew)],
    )


async def _reach(database: Database) -> "tuple[Way, pooler.Connection]":
    """The owner's connection, and what stands between us and the server."""
    settings = database.settings
    direct: pooler.Connection | None = None
    try:
        direct = await database.reserve(purpose="owner")
    except errors.Unavailable as refused:
        # a pooler takes no session settings: look at it as one does who knows
        if not pooler.refuses_settings(refused):
            raise
        direct = await connect.connect(await database.url(direct=True), purpose="owner", pooled=True)
    between, refused_work = await pooler.between(direct), None
    if settings.database_url is None or settings.direct_url is None:
        work_between = between
    else:
        try:
            async with await connect.connect(settings.database_url, purpose="owner", pooled=True) as work:
                work_between = await pooler.between(work)
        except errors.Unavailable as refused:
            work_between, refused_work = False, refused.message
    way = Way(
        pooled=database.pooled, has_direct=settings.direct_url is not None, work_pooler=work_between,
        direct_pooler=between, work_refused=refused_work,
    )  # fmt: skip
    return way, direct
