"""`App`: the composition root. Gives your code its parts: declare tasks, enqueue them, await them, run workers.

    app = App()                      # embedded PostgreSQL unless DATABASE_URL is set

    @app.task(max_attempts=5)
    async def send_email(to: str) -> str: ...

    await app.enqueue(send_email, {"to": "a@b.example"})

Everything is async; `app.sync` offers the same calls to code that is not.
"""

import asyncio
import contextlib
import datetime as dt
import os
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, ParamSpec, TypeVar, Unpack, overload

from weft.access import hosts
from weft.api.live_here import InProcess
from weft.base import config, crash, durations, errors, ids
from weft.base.memory import Memory
from weft.base.version import VERSION
from weft.client.client import Client
from weft.client.work import Work
from weft.cluster import nodes
from weft.cluster.model import LEASE
from weft.cluster.pulse import Pulse
from weft.db import migrate
from weft.db.database import Database
from weft.db.notify import Hub
from weft.queue import enqueue, explain, new, tasks
from weft.queue.explain import Explanation
from weft.queue.model import Enqueued, LogLine, TaskView
from weft.queue.new import Options
from weft.sdk import task as declarations
from weft.sdk.query import Queries
from weft.sdk.synchronous import Synchronous
from weft.sdk.task import Registry, Task
from weft.settle import rescue
from weft.upkeep.upkeep import Upkeep
from weft.worker import builtin
from weft.worker.direct import DatabaseEngine
from weft.worker.http import HttpEngine
from weft.worker.worker import Worker

P = ParamSpec("P")
R = TypeVar("R")

_HOSTS_KEPT = 10.0
"""Seconds that an org's allowed hosts are remembered."""
_ORGS_KEPT = 10_000

ROLES = ("gateway", "function", "worker", "scheduler")


class App:
    """Your tasks and the database they live in. Cheap to make; connects on first use."""

    def __init__(self, *, database_url: str | None = None, settings: config.Settings | None = None) -> None:
        self.settings = settings or config.load(database_url=database_url)
        self.registry = Registry()
        self.sync = Synchronous(self)
        self.queries = Queries()
        self.query = self.queries.add
        self.live = InProcess(self.open, self._listening, self.queries)
        self.node_id: uuid.UUID | None = None
        self._database: Database | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._hub: Hub | None = None
        self._hub_task: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self._allowed: Memory[str, tuple[str, ...]] = Memory(seconds=_HOSTS_KEPT, most=_ORGS_KEPT)

    # declaring

    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...
    @overload
    def task(
        self, *, name: str | None = None, version: str | int | None = None, **options: Any
    ) -> Callable[[Callable[P, R]], Task[P, R]]: ...
    def task(  # type: ignore[misc]
        self, function: Any = None, /, *, name: str | None = None, version: Any = None, **options: Any
    ) -> Any:
        """Declares a task. Options: see `weft.sdk.task.Options`, e.g. `queue=`, `max_attempts=`, `retry=`, `timeout=`."""

        def declare(declared: Callable[..., Any]) -> Task[Any, Any]:
            return self.registry.add(declared, name=name, version=version, **options)

        return declare if function is None else declare(function)

    # enqueueing

    async def enqueue(
        self, task: "Task[Any, Any] | str", payload: dict[str, Any] | None = None, *, tx: Any = None,
        check: bool = True, **options: Unpack[Options],
    ) -> Enqueued:  # fmt: skip
        """Enqueues one task. `tx=` a psycopg or SQLAlchemy connection makes it part of your own transaction.

        A kind that neither this app nor any live worker knows is refused; `check=False` enqueues it all the same.
        """
        kind, declared = self._declared(task)
        arguments = new.arguments(kind, payload if payload is not None else {}, declared=declared, options=options)
        if tx is not None:
            return await enqueue.one_on(tx, arguments)
        database = await self.open()
        if declared is None and check:
            await self._must_be_served(kind)
        crash.point("enqueue: before")
        async with database.once() as own:
            made = await enqueue.one(own, arguments)
        crash.point("enqueue: committed")
        return made

    async def enqueue_many(
        self, task: "Task[Any, Any] | str", payloads: Sequence[dict[str, Any]], *, tx: Any = None, check: bool = True,
        dedupe_keys: Sequence[str] | None = None, **options: Unpack[Options],
    ) -> list[Enqueued]:  # fmt: skip
        """Enqueues many tasks of one kind: all of them or, if one is not valid, none."""
        kind, declared = self._declared(task)
        for name in ("dedupe_key", "dedupe", "concurrency_key", "concurrency", "heartbeat_timeout"):
            if name in options:
                raise errors.InvalidInput(f"enqueue_many does not take {name}; enqueue those one by one")
        common = new.common(kind, declared=declared, options=options)
        pieces = enqueue.chunks(payloads, dedupe_keys=dedupe_keys)
        if tx is not None:
            return await enqueue.many_on(tx, common, pieces=pieces)
        database = await self.open()
        if declared is None and check:
            await self._must_be_served(kind)
        async with database.once() if len(pieces) == 1 else database.tx() as own:
            made = await enqueue.many(own, common, pieces=pieces)
            crash.point("bulk enqueue: before commit")
        crash.point("bulk enqueue: committed")
        return made

    def _declared(self, task: "Task[Any, Any] | str") -> tuple[str, declarations.Options | None]:
        if isinstance(task, Task):
            return task.kind, task.options
        if not isinstance(task, str):
            raise errors.UnknownKind(f"enqueue takes a task or its name, not {task!r}; decorate it with @app.task")
        found = self.registry.get(task) or next((one for one in self._handlers() if one.kind == task), None)
        return task, found.options if found is not None else None

    async def _must_be_served(self, kind: str) -> None:
        async with (await self.open()).once() as tx:
            if not await enqueue.kind_is_served(tx, kind):
                raise errors.UnknownKind(
                    f"no task named {kind!r} is declared here or served by any live worker; "
                    f"declare it with @app.task, start its worker, or pass check=False",
                    kind=kind,
                )

    # looking and steering

    async def get(self, id: uuid.UUID | str, *, org: uuid.UUID = ids.DEFAULT_ORG) -> TaskView:
        """A task, unfinished or finished; NotFound if there is none."""
        async with (await self.open()).once() as tx:
            return await tasks.get(tx, id=_id(id), org=org)

    async def result(
        self, id: uuid.UUID | str, *, timeout: dt.timedelta | float | str | None = None,
        org: uuid.UUID = ids.DEFAULT_ORG,
    ) -> Any:  # fmt: skip
        """Waits for a task and answers its result; raises TaskFailed, TaskCancelled, TaskTimedOut or ResultTimeout."""
        limit = None if timeout is None else durations.parse(timeout, name="timeout").total_seconds()
        changed = asyncio.Event()
        hub = await self._listening()
        remove = hub.add("weft_changes", lambda _payload: changed.set())
        try:
            async with asyncio.timeout(limit):
                pause = 0.01
                while True:
                    changed.clear()
                    async with (await self.open()).once() as tx:
                        ended = await tasks.ending(tx, id=_id(id), org=org)
                    if ended is not None:
                        return _unwrap(ended, id)
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(pause):
                            await changed.wait()
                    pause = min(pause * 1.5, 0.5)
        except TimeoutError:
            await self.get(id, org=org)
            raise errors.ResultTimeout(f"task {id} has not ended within {timeout}") from None
        finally:
            remove()

    async def cancel(self, id: uuid.UUID | str, *, org: uuid.UUID = ids.DEFAULT_ORG) -> str:
        """Cancels a task: 'cancelled' (it was queued), 'cancelling' (it runs and is told), 'finished' or 'unknown'."""
        async with (await self.open()).tx() as tx:
            answer = await rescue.cancel_one(tx, id=_id(id), org=org)
            crash.point("cancel: before commit")
        crash.point("cancel: committed")
        return answer

    async def explain(self, id: uuid.UUID | str, *, org: uuid.UUID = ids.DEFAULT_ORG) -> Explanation:
        """Why an unfinished task is not running."""
        async with (await self.open()).once() as tx:
            return await explain.explain(tx, id=_id(id), org=org)

    async def logs(self, id: uuid.UUID | str, *, after: int = 0, org: uuid.UUID = ids.DEFAULT_ORG) -> list[LogLine]:
        """What the handler logged, oldest first."""
        async with (await self.open()).once() as tx:
            return await tasks.logs(tx, id=_id(id), org=org, after=after)

    @contextlib.asynccontextmanager
    async def tx(self, *, org: uuid.UUID | None = None) -> AsyncIterator[Any]:
        """A transaction for the functions of `weft.queue`, `weft.cluster` and the like."""
        async with (await self.open()).tx(org=org) as tx:
            yield tx

    # life

    async def open(self) -> Database:
        """Connects, once per event loop. The embedded database is migrated by itself; another must fit."""
        if self._database is not None and self._loop is asyncio.get_running_loop():
            return self._database
        async with self._opening:
            if self._database is None or self._loop is not asyncio.get_running_loop():
                database = Database(self.settings)
                try:
                    await _fit(database)
                    await database.open()
                except BaseException:
                    await database.close()
                    raise
                self._database, self._loop = database, asyncio.get_running_loop()
        return self._database

    async def close(self) -> None:
        if self._hub_task is not None:
            self._hub_task.cancel()
            await asyncio.gather(self._hub_task, return_exceptions=True)
            self._hub = self._hub_task = None
        if self._database is not None:
            await self._database.close()
            self._database = None

    async def __aenter__(self) -> "App":
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    @contextlib.asynccontextmanager
    async def worker(
        self, *, queues: Sequence[str] = (), concurrency: int = 50, capabilities: Sequence[str] = (),
        roles: Sequence[str] = ROLES, target: str | None = None, grace: float = 30.0, max_tasks: int | None = None,
        lease: dt.timedelta = LEASE,
    ) -> AsyncIterator[Worker]:  # fmt: skip
        """A running worker of this process; it drains when the block ends. With role `scheduler` it may lead upkeep.

        `lease` is how long the worker may be out of touch before its tasks are run elsewhere; it beats four times in it.
        """
        database = await self.open()
        hub = await self._listening()
        handlers = self._handlers()
        node = nodes.here(
            version=VERSION, roles=roles, queues=queues, handlers=[task.kind for task in handlers],
            capabilities=capabilities, concurrency=concurrency, lease=lease,
        )  # fmt: skip
        pulse = Pulse(database, node=node, every=lease / 4)
        worker = Worker(
            DatabaseEngine(database, hub=hub, pulse=pulse), handlers=handlers, queues=queues, capabilities=capabilities,
            concurrency=concurrency, target=target, grace=grace, max_tasks=max_tasks,
        )  # fmt: skip
        await pulse.start()
        upkeep = asyncio.create_task(Upkeep(database, pulse, retention=self._retention()).run())
        working = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            pulse.drain()
            worker.drain()
            await asyncio.gather(working, return_exceptions=True)
            upkeep.cancel()
            await asyncio.gather(upkeep, return_exceptions=True)
            await pulse.stop()
        # a worker that broke must be heard of
        if not working.cancelled() and (broken := working.exception()) is not None:
            raise broken

    @contextlib.asynccontextmanager
    async def http_worker(
        self, url: str, *, key: str, name: str | None = None, queues: Sequence[str] = (), concurrency: int = 50,
        capabilities: Sequence[str] = (), target: str | None = None, grace: float = 30.0, max_tasks: int | None = None,
    ) -> AsyncIterator[Worker]:  # fmt: skip
        """A running worker that has no database, only a server's address and a worker key; the same handlers run.

        `name` must be unlike any other worker's of the org; unset, it is made from the host, the process and chance.
        """
        name = name or f"{socket.gethostname()}-{os.getpid()}-{ids.token().hex[:6]}"
        async with Client(url, key, tries=1) as client:
            engine = HttpEngine(Work(client, worker=name))
            await engine.arrive()
            worker = Worker(
                engine, handlers=self._handlers(), queues=queues, capabilities=capabilities, concurrency=concurrency,
                target=target, grace=grace, max_tasks=max_tasks,
            )  # fmt: skip
            working = asyncio.create_task(worker.run())
            try:
                yield worker
            finally:
                worker.drain()
                await engine.drain()
                await asyncio.gather(working, return_exceptions=True)
                await engine.leave()
        if not working.cancelled() and (broken := working.exception()) is not None:
            raise broken

    @contextlib.asynccontextmanager
    async def node(self, *, roles: Sequence[str] = ("gateway",), http_port: int = 0) -> AsyncIterator[Hub]:
        """A node of this process that runs no tasks, as a server is; with role `scheduler` it may lead upkeep.

        Answers what hears the database's notifications.
        """
        database = await self.open()
        hub = await self._listening()
        pulse = Pulse(database, node=nodes.here(version=VERSION, roles=roles, http_port=http_port))
        self.node_id = uuid.UUID(str(pulse.node.id))
        await pulse.start()
        upkeep = asyncio.create_task(Upkeep(database, pulse, retention=self._retention()).run())
        try:
            yield hub
        finally:
            upkeep.cancel()
            await asyncio.gather(upkeep, return_exceptions=True)
            await pulse.stop()

    def _handlers(self) -> list[Task[Any, Any]]:
        """What this app declares, and the built-in kinds it does not declare itself."""
        theirs = Registry()
        for function, name, options in builtin.builtin_tasks(self.settings, hosts=self._hosts):
            theirs.add(function, name=name, version=None, **options)
        return [*self.registry, *(task for task in theirs if self.registry.get(task.kind) is None)]

    async def _hosts(self, org: str) -> tuple[str, ...]:
        """Private hosts that an org's tasks may call; a worker that has no database knows of none."""
        if self._database is None:
            return ()
        asked, known = self._allowed.now(), self._allowed.get(org)
        if known is None:
            async with self._database.once() as tx:
                known = self._allowed.keep(org, await hosts.of(tx, uuid.UUID(org)), asked=asked)
        return known

    def _retention(self) -> dt.timedelta | None:
        days = self.settings.retention_days
        return None if days is None else dt.timedelta(days=days)

    async def _listening(self) -> Hub:
        database = await self.open()
        if self._hub is None:
            self._hub = Hub(database)
            self._hub_task = asyncio.create_task(self._hub.run())
        return self._hub


async def _fit(database: Database) -> None:
    """The embedded database is brought up to date; another one must already be."""
    if database.settings.database_url is None:
        async with await database.reserve(purpose="owner") as connection:
            await migrate.up(connection, migrate.ours())
            await connection.execute("alter role weft_engine login")
        return
    async with await database.reserve(purpose="owner") as connection:
        found = await migrate.status(connection, migrate.ours())
    migrate.refuse(found)
    if pending := [one.name for one in found if one.state == "pending"]:
        raise errors.MigrationError(f"the database lacks {', '.join(pending)}; run `weft migrate up`")


def _id(id: uuid.UUID | str) -> uuid.UUID:
    try:
        return id if isinstance(id, uuid.UUID) else uuid.UUID(id)
    except (ValueError, AttributeError, TypeError):
        raise errors.InvalidInput(f"{id!r} is not a task id (a UUID)") from None


def _unwrap(ended: tasks.Ending, id: uuid.UUID | str) -> Any:
    if ended.state == "completed":
        return ended.result
    kind = {"cancelled": errors.TaskCancelled, "timed_out": errors.TaskTimedOut}.get(ended.state, errors.TaskFailed)
    message = (ended.error or {}).get("message") or ended.reason or ended.state
    raise kind(f"task {id} {ended.state}: {message}", error=ended.error, reason=ended.reason)
