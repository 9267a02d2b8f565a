"""The processes an app can be: a worker, a worker without a database, a server."""

import asyncio
import contextlib
import datetime as dt
import os
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from weft.access import hosts
from weft.base import config, errors, ids
from weft.base.memory import Memory
from weft.base.version import VERSION
from weft.client.client import Client
from weft.client.work import Work
from weft.cluster import nodes
from weft.cluster.model import LEASE
from weft.cluster.pulse import Pulse
from weft.contrib.aiopslab import chores as aiopslab
from weft.dagfile.payload import STARTS
from weft.db.database import Database
from weft.db.notify import Hub
from weft.db.tx import Tx
from weft.flows.advance import Hands
from weft.parts import starting
from weft.parts.connected import Connected
from weft.parts.dags import Dags, Runs
from weft.parts.eager import Eager
from weft.parts.jobs import Jobs
from weft.sdk.task import Registry, Task
from weft.sdk.workflow import Declared
from weft.upkeep.upkeep import Upkeep
from weft.worker import builtin
from weft.worker.afl import afl_tasks
from weft.worker.direct import DatabaseEngine
from weft.worker.http import HttpEngine
from weft.worker.naming import Naming
from weft.worker.worker import Worker
from weft.worker.workflows import Executor

ROLES = ("gateway", "function", "worker", "scheduler")

_HOSTS_KEPT = 10.0
"""Seconds that an org's allowed hosts are remembered."""
_ORGS_KEPT = 10_000


class Processes(Connected):
    """The part of `App` that runs things; what is run, the app declares."""

    declared: Declared
    dags: Dags
    jobs: Jobs
    runs: Runs

    def __init__(self, settings: config.Settings) -> None:
        super().__init__(settings)
        self.registry = Registry()
        self.shorts: dict[str, Task[Any, Any]] = {}
        """Handlers by the last part of the kinds that they handle: an agent's."""
        self.node_id: uuid.UUID | None = None
        self._eager = Eager()
        self._allowed: Memory[str, tuple[str, ...]] = Memory(seconds=_HOSTS_KEPT, most=_ORGS_KEPT)

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
        await self.jobs.declare()
        await self.dags.save()
        hub = await self._listening()
        handlers = self._handlers()
        node = nodes.here(
            version=VERSION, roles=roles, queues=queues, capabilities=capabilities, concurrency=concurrency, lease=lease,
            handlers=[*(task.kind for task in handlers), *self.declared.workflows],
        )  # fmt: skip
        pulse = Pulse(database, node=node, every=lease / 4, hub=hub)
        executor = Executor(database, self.declared, node_id=node.id, threads=concurrency)
        await executor.declare()
        engine = DatabaseEngine(database, hub=hub, pulse=pulse)
        worker = Worker(
            engine, handlers=[*handlers, *executor.handlers()], queues=queues,
            capabilities=capabilities, concurrency=concurrency, target=target, grace=grace, max_tasks=max_tasks,
            shorts=self.shorts,
        )  # fmt: skip
        await pulse.start()
        naming = asyncio.create_task(Naming(database, engine, pulse, shorts=self.shorts).run())
        taker = engine.taker
        leading = self._upkeep(database, pulse, hub, ready=taker.nudge)
        taker.relieved = lambda: leading.calm
        upkeep = asyncio.create_task(leading.run())
        working = asyncio.create_task(worker.run())
        try:
            with self._eager.working(taker):
                yield worker
        finally:
            naming.cancel()
            pulse.drain()
            worker.drain()
            await asyncio.gather(working, return_exceptions=True)
            executor.close()
            upkeep.cancel()
            await asyncio.gather(upkeep, naming, return_exceptions=True)
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
            engine = HttpEngine(Work(client, worker=name), shorts=list(self.shorts))
            await engine.arrive()
            worker = Worker(
                engine, handlers=self._handlers(started=False), queues=queues, capabilities=capabilities,
                concurrency=concurrency, target=target, grace=grace, max_tasks=max_tasks, shorts=self.shorts,
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
        pulse = Pulse(database, node=nodes.here(version=VERSION, roles=roles, http_port=http_port), hub=hub)
        self.node_id = uuid.UUID(str(pulse.node.id))
        await pulse.start()
        upkeep = asyncio.create_task(self._upkeep(database, pulse, hub).run())
        try:
            yield hub
        finally:
            upkeep.cancel()
            await asyncio.gather(upkeep, return_exceptions=True)
            await pulse.stop()

    @contextlib.asynccontextmanager
    async def _beginning(self) -> AsyncIterator[tuple[Tx, Hands | None]]:
        """A transaction in which a run begins, and a worker of this process that may have what is ready at once."""
        async with self._eager.beginning(await self.open()) as begun:
            yield begun

    def _handlers(self, *, started: bool = True) -> list[Task[Any, Any]]:
        """What this app declares, and the built-in kinds it does not declare itself; runs are `started` by a database."""
        theirs = Registry()
        for function, name, options in (*builtin.builtin_tasks(self.settings, hosts=self._hosts), *afl_tasks(self.settings)):
            theirs.add(function, name=name, version=None, **options)
        if started:
            theirs.add(starting.starts(self), name=STARTS, version=None, fail_on=(errors.TaskFailed,))
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

    def _upkeep(self, database: Database, pulse: Pulse, hub: Hub, *, ready: Callable[[], None] = lambda: None) -> Upkeep:
        return Upkeep(
            database, pulse, retention=self._retention(), more=aiopslab.CHORES, stirs=[aiopslab.STIRS], hub=hub, ready=ready
        )

    def _retention(self) -> dt.timedelta | None:
        days = self.settings.retention_days
        return None if days is None else dt.timedelta(days=days)
