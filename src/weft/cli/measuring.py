"""Weft measured on the database of the settings: how fast it is, and what it asks of that database.

Statements are not counted where no extension may be needed; transactions are, by pg_stat_database, which sees everything
in the database. So measure where nothing else is at work, or `others` tells how much else there was.
"""

import asyncio
import dataclasses
import time
from collections.abc import Callable

from weft.app import App
from weft.db import statements
from weft.sdk.task import Task

SQL = statements.load("weft.cli")

KIND = "weft.bench"
QUEUE = "weft-bench"
CHUNK = 2000
_PROBES = 200
_REST = 3.0
"""Seconds for which sessions may keep their counts to themselves."""
_CALM = 22.0
"""Seconds after which a leader rests that has found nothing to do (`upkeep/sight.py`), and what its idle sessions counted
before is told."""
_GLANCE = 5.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measured:
    """The numbers. Times in seconds."""

    tasks: int
    enqueue_per_second: float
    drain_per_second: float
    latency_median: float
    latency_99: float
    transactions_per_thousand: float
    """While a worker with the product's defaults drains the tasks, upkeep included."""
    idle_transactions_per_second: float
    """Of one worker that also leads, with nothing to do."""
    others_per_second: float
    """What the database does before anything of ours runs."""


async def measure(app: App, *, tasks: int, seconds: float, say: Callable[[str], None]) -> Measured:
    """Runs everything; leaves `tasks` and some finished tasks in the history."""
    noop: Task[[], None] = app.task(_noop, name=KIND, queue=QUEUE)  # type: ignore[call-overload]
    say("what the database does by itself")
    others = await _rate(app, seconds=min(seconds, 3.0))
    say(f"enqueueing {tasks:,} tasks")
    began = time.perf_counter()
    for start in range(0, tasks, CHUNK):
        await app.enqueue_many(noop, [{}] * min(CHUNK, tasks - start))
    enqueued = tasks / (time.perf_counter() - began)
    before = await _transactions(app)
    async with app.worker(queues=(QUEUE,)) as worker:
        say(f"running {tasks:,} tasks")
        began = time.perf_counter()
        while worker.settled < tasks:
            await asyncio.sleep(0.005)
        took = time.perf_counter() - began
        await asyncio.sleep(_REST)
        busy, watched = await _transactions(app) - before, time.perf_counter() - began
        awake = await _rate(app, seconds=_REST / 2)
        say("latency of single tasks")
        delays = sorted([await _delay(app, noop) for _ in range(_PROBES)])
        say(f"idle for {seconds:g} s")
        # who wants only a glance does not want to wait for a leader to rest
        await asyncio.sleep(_CALM if seconds > _GLANCE else _REST)
        idle = await _rate(app, seconds=seconds)
    # what went on while we waited for the counts is not the tasks'
    busy_only = max(busy - awake * (watched - took), 0.0)
    return Measured(
        tasks=tasks, enqueue_per_second=enqueued, drain_per_second=tasks / took,
        latency_median=delays[len(delays) // 2], latency_99=delays[int(len(delays) * 0.99)],
        transactions_per_thousand=1000 * busy_only / tasks, idle_transactions_per_second=max(idle - others, 0.0),
        others_per_second=others,
    )  # fmt: skip


async def _noop() -> None:
    """Does nothing."""


async def _delay(app: App, noop: "Task[[], None]") -> float:
    """From before the enqueue to the end of the task, as whoever waits for it sees it."""
    began = time.perf_counter()
    enqueued = await app.enqueue(noop)
    await app.result(enqueued.id, timeout=30)
    return time.perf_counter() - began


async def _rate(app: App, *, seconds: float) -> float:
    before, began = await _transactions(app), time.perf_counter()
    await asyncio.sleep(seconds)
    # asking is a transaction too
    return max(await _transactions(app) - before - 1, 0) / (time.perf_counter() - began)


async def _transactions(app: App) -> int:
    async with app.tx() as tx:
        return int(await tx.value(SQL.transactions))
