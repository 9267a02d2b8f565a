"""Idle: what a worker with nothing to do asks the database, and how many statements a busy one needs.

Two workers on one database: the first leads, the second stands by. Each has a counting proxy of its own (`bench/wire.py`).
The database's own counters, which know transactions and not whose, are read beside them as a check.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import psycopg

from bench import gate, processes, wire
from bench.errors import Stalled
from bench.scenarios.measurement import Line, Measurement
from bench.system import Contender

SETTLE = 15
"""Seconds after which a leader that had nothing to do is calm (`upkeep/sight.py`)."""
DRAIN_TIMEOUT = 120

TITLE = "Idle: statements of one worker process"
LINES = (
    Line("idle standby, per second", "standby_per_second", digits=2, below=1),
    Line("idle leader (worker and upkeep), per second", "leader_per_second", digits=2, below=1),
    Line("both, transactions per second by pg_stat_database", "transactions_per_second", digits=2),
    Line("busy, product defaults, per 1,000 tasks", "busy_per_thousand", digits=1),
)

TRANSACTIONS = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"
LEADERS = "select count(*) from weft.leaders where lease_until > weft.now()"


def measure(contender: Contender, *, url: str, rounds: int, seconds: int, tasks: int) -> list[Measurement]:
    """Count once: a second window would say the same."""
    contender.run("setup", url=url)
    return [Measurement({**_idle(contender, url=url, seconds=seconds), **_busy(contender, url=url, tasks=tasks)})]


def _idle(contender: Contender, *, url: str, seconds: int) -> dict[str, float]:
    with (
        psycopg.connect(url, autocommit=True) as observer,
        wire.counted(url) as leader,
        wire.counted(url) as standby,
        _worker(contender, url=leader.url) as first,
    ):
        _leads(observer, first)
        with _worker(contender, url=standby.url) as second:
            time.sleep(SETTLE)
            began = time.monotonic()
            before = (leader.statements, standby.statements, observer.execute(TRANSACTIONS).fetchone()[0])
            time.sleep(seconds)
            after = (leader.statements, standby.statements, observer.execute(TRANSACTIONS).fetchone()[0])
            spent = time.monotonic() - began
            for program in (*first, *second):
                program.check()
    names = ("leader_per_second", "standby_per_second", "transactions_per_second")
    return {name: (late - early) / spent for name, early, late in zip(names, before, after, strict=True)}


def _busy(contender: Contender, *, url: str, tasks: int) -> dict[str, float]:
    """Count from the first claim to the last committed completion."""
    contender.run("enqueue-many", tasks, url=url)
    with (
        psycopg.connect(url, autocommit=True) as observer,
        wire.counted(url) as proxy,
        gate.closed(url, table="weft.tasks") as entrance,
        _worker(contender, url=proxy.url) as programs,
    ):
        _until(lambda: bool(observer.execute(gate.WAITING).fetchall()), programs, what="claimed nothing")
        before = proxy.statements
        gate.opened(entrance)
        _until(lambda: not observer.execute(contender.system.unfinished).fetchone()[0], programs, what="did not end")
        return {"busy_tasks": tasks, "busy_per_thousand": (proxy.statements - before) / tasks * 1000}


def _worker(contender: Contender, *, url: str) -> AbstractContextManager[list[processes.Program]]:
    return processes.started(contender.worker_command(), label=contender.name, environment=contender.environment(url))


def _leads(observer: psycopg.Connection, programs: list[processes.Program]) -> None:
    _until(lambda: bool(observer.execute(LEADERS).fetchone()[0]), programs, what="took no lead")


def _until(happened: Callable[[], bool], programs: list[processes.Program], *, what: str) -> None:
    deadline = time.monotonic() + DRAIN_TIMEOUT
    while not happened():
        for program in programs:
            program.check()
        if time.monotonic() > deadline:
            raise Stalled(f"{programs[0].label} {what} within {DRAIN_TIMEOUT} s\n{programs[0].log_tail()}")
        time.sleep(0.02)
