"""Drain: N no-op tasks wait, worker processes start, the clock stops at the last committed completion.

The clock starts when the gate opens (see `bench/gate.py`). It stops when a query from outside finds no
unfinished task. That query counts rows, so it is not asked on a fixed beat but when the fastest rate seen so far
says that a third of the rest is done: a handful of queries in all, every SHORTEST_PAUSE only at the very end.
"""

import time

import psycopg

from bench import cpu, database, gate, processes
from bench.errors import Stalled
from bench.scenarios.measurement import Measurement
from bench.system import Contender

SHORTEST_PAUSE = 0.01
LONGEST_PAUSE = 0.25
STALL_TIMEOUT = 60


def measure(contender: Contender, *, url: str, tasks: int, workers: int) -> list[Measurement]:
    """Drain `tasks` with `workers` processes and return the committed rate and the processor time."""
    system = contender.system
    tasks = max(1, round(tasks * system.drain_share))
    contender.run("setup", url=url)
    contender.run("enqueue-many", tasks, url=url)
    database.settle(url)
    running = processes.started(
        contender.worker_command(),
        label=contender.name,
        environment=contender.environment(url),
        copies=workers,
    )
    with psycopg.connect(url, autocommit=True) as observer, gate.closed(url, table=system.gate_table) as entrance:
        queued = _count(observer, system.unfinished)
        if queued != tasks:
            raise Stalled(f"{contender.name} has {queued} tasks queued, expected {tasks}")
        with running as programs:
            gate.wait_for(programs, url=url)
            before = cpu.sample(programs, observer=observer)
            start = gate.opened(entrance)
            end = _emptied(contender, programs, observer=observer, start=start, tasks=tasks)
            used = cpu.sample(programs, observer=observer).since(before)
        _check_success(contender, observer=observer, tasks=tasks)
    seconds = end - start
    values = {
        "tasks": tasks,
        "seconds": seconds,
        "per_second": tasks / seconds,
        "worker_cpu_us_per_task": used.worker / tasks * 1e6,
    }
    if used.server is not None:
        values["server_cpu_us_per_task"] = used.server / tasks * 1e6
    return [Measurement(values)]


def _emptied(
    contender: Contender, programs: list[processes.Program], *, observer: psycopg.Connection, start: float, tasks: int
) -> float:
    """Return the moment of the first query that found nothing unfinished."""
    remaining, progressed, fastest = tasks, start, 0.0
    while True:
        asked = time.monotonic()
        left = _count(observer, contender.system.unfinished)
        if left == 0:
            return asked
        if left < remaining:
            fastest = max(fastest, (remaining - left) / (asked - progressed))
            remaining, progressed = left, asked
        elif asked - progressed > STALL_TIMEOUT:
            raise Stalled(f"{contender.name} left {left} of {tasks} tasks undone\n{programs[0].log_tail()}")
        for program in programs:
            program.check()
        pause = left / fastest / 3 if fastest else SHORTEST_PAUSE
        time.sleep(min(max(pause, SHORTEST_PAUSE), LONGEST_PAUSE))


def _check_success(contender: Contender, *, observer: psycopg.Connection, tasks: int) -> None:
    query = contender.system.completed
    if query is None:
        return
    completed = _count(observer, query)
    if completed != tasks:
        raise Stalled(f"{contender.name} completed {completed} of {tasks} tasks; the others ended otherwise")


def _count(observer: psycopg.Connection, query: str) -> int:
    return observer.execute(query).fetchone()[0]
