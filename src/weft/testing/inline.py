"""Running what is ready right here, without a worker that goes on."""

from typing import Protocol

from weft.base.config import Settings
from weft.base.version import VERSION
from weft.cluster import nodes
from weft.cluster.pulse import Pulse
from weft.db.database import Database
from weft.db.notify import Hub
from weft.flows import chores as runs
from weft.flows import workflows as durable
from weft.queue import promote
from weft.sdk.task import Registry
from weft.sdk.workflow import Declared
from weft.worker.afl import afl_tasks
from weft.worker.direct import DatabaseEngine
from weft.worker.stepping import Fault
from weft.worker.worker import Worker
from weft.worker.workflows import Executor


class Runs(Protocol):
    """An App."""

    registry: Registry
    declared: Declared
    settings: Settings

    async def open(self) -> Database: ...


async def run_pending(app: Runs, *, concurrency: int = 10, fault: Fault | None = None) -> int:
    """Claims and runs everything that is ready or due, and whatever that makes ready, until nothing is.

    Answers how many attempts ended, retries included. It is a worker in every respect, but for one thing: it ends. What
    is due later (a retry with a pause, a snooze) stays: move the clock and call again. Only tasks the app declares
    are run, and AFL's scripts and prompts. Their errors are not raised here; await the result to see them.
    """
    database = await app.open()
    theirs = Registry()
    for function, name, options in afl_tasks(app.settings):
        theirs.add(function, name=name, version=None, **options)
    handlers = [*app.registry, *(task for task in theirs if app.registry.get(task.kind) is None)]
    workflows = list(app.declared.workflows)
    node = nodes.here(version=VERSION, handlers=[*(task.kind for task in handlers), *workflows], concurrency=concurrency)
    pulse = Pulse(database, node=node)
    executor = Executor(database, app.declared, node_id=node.id, threads=concurrency, fault=fault)
    await executor.declare()
    worker = Worker(
        DatabaseEngine(database, hub=Hub(database), pulse=pulse), handlers=[*handlers, *executor.handlers()],
        concurrency=concurrency,
    )  # fmt: skip

    async def let_in() -> None:
        """What the leader's upkeep does elsewhere."""
        async with database.tx() as tx:
            while await promote.once(tx) == promote.BATCH:
                pass
            await promote.unblock(tx)
            await runs.sweep(tx)
            await runs.admit(tx)
            await durable.sweep(tx)

    await pulse.start()
    try:
        return await worker.run_ready(let_in)
    finally:
        executor.close()
        await pulse.stop()
