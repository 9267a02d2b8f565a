"""A starting gate that works on any system from outside.

    harness   lock the queue's table ─────────────── all waiting? ── release ── t0
    worker        start, connect, … first claim ── waits on the lock ────────── claims

Every worker process is up, connected and stopped inside its first claim when the clock starts, so neither
start-up time nor a head start of one of two workers is counted, and no system has to cooperate. Which process
waits is read from pg_locks, the backend's client port and the process that owns that port.
"""

import contextlib
import time
from collections.abc import Iterator

import psutil
import psycopg
from psycopg import sql

from bench.errors import Stalled
from bench.processes import Program

ARRIVAL_TIMEOUT = 60

WAITING = """
select activity.client_port
from pg_locks as waiting
join pg_stat_activity as activity on activity.pid = waiting.pid
where not waiting.granted
  and waiting.database = (select oid from pg_database where datname = current_database())
"""


@contextlib.contextmanager
def closed(url: str, *, table: str) -> Iterator[psycopg.Connection]:
    """Hold every claim on `table` back; the gate opens when the block ends or `opened` is called."""
    with psycopg.connect(url) as connection:
        # Exclusive mode still lets start-up code read the table; it holds back `for update` and writes.
        connection.execute(sql.SQL("lock table {} in exclusive mode").format(sql.Identifier(*table.split("."))))
        yield connection


def wait_for(workers: list[Program], *, url: str) -> None:
    """Return once every worker process has a connection waiting at the gate."""
    deadline = time.monotonic() + ARRIVAL_TIMEOUT
    with psycopg.connect(url, autocommit=True) as observer:
        while True:
            ports = {row[0] for row in observer.execute(WAITING)}
            missing = [worker for worker in workers if not ports & _ports(worker)]
            if not missing:
                return
            for worker in workers:
                worker.check()
            if time.monotonic() > deadline:
                raise Stalled(f"{missing[0].label} made no claim within {ARRIVAL_TIMEOUT} s\n{missing[0].log_tail()}")
            time.sleep(0.05)


def opened(gate: psycopg.Connection) -> float:
    """Open the gate and return the moment just before."""
    start = time.monotonic()
    gate.rollback()
    return start


def _ports(worker: Program) -> set[int]:
    ports: set[int] = set()
    for process in worker.tree():
        with contextlib.suppress(psutil.NoSuchProcess):
            ports |= {connection.laddr.port for connection in process.net_connections("tcp") if connection.laddr}
    return ports
