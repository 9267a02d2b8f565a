"""HTTP: one server process and one HTTP worker process, which has no database.

Drain: no-op tasks wait, the gate opens when the server stands in its first claim, the clock stops at the last committed
completion. Latency: from before the enqueue call (straight into the database) to the start of the handler, which is
woken through the server.
"""

import contextlib
import json
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg

from bench import database, gate, loading, processes
from bench.errors import Stalled
from bench.scenarios import latency
from bench.scenarios.measurement import Line, Measurement, percentile
from bench.system import Contender

TITLE = "HTTP workers: one server process, one worker process without a database"
LINES = (
    Line("no-op tasks/s, to the last committed completion", "per_second", at_least=5000),
    Line("worker CPU µs/task", "worker_cpu_us_per_task"),
    Line("server CPU µs/task (the Weft server, not PostgreSQL)", "server_cpu_us_per_task"),
    Line("enqueue to handler start, ms, median", "p50_ms", digits=1),
    Line("enqueue to handler start, ms, 99th percentile", "p99_ms", digits=1),
)

DEFAULT_ORG = UUID("00000000-0000-7000-8000-000000000001")
NOWHERE = "postgresql://nowhere.invalid/none"
TIMEOUT = 60
WARM_UP = 10


@dataclass(frozen=True)
class Place:
    """A server that is up."""

    url: str
    key: str
    weft: str
    program: processes.Program


def measure(contender: Contender, *, url: str, rounds: int, tasks: int, rate: int, seconds: int) -> list[Measurement]:
    """Drain as often as there are rounds, then measure the delay once."""
    contender.run("setup", url=url)
    found: list[dict[str, float]] = []
    with _server(contender, url=url) as place:
        for _ in range(rounds):
            found.append(_drain(contender, place, url=url, tasks=tasks))
        delays = _delays(contender, place, url=url, rate=rate, count=rate * seconds)
    slow = {"p50_ms": percentile(delays, 0.50), "p99_ms": percentile(delays, 0.99), "max_ms": max(delays)}
    # once, because it was measured once: the same number in every round would look like rounds that agree
    return [Measurement({**found[0], **slow}), *map(Measurement, found[1:])]


def _drain(contender: Contender, place: Place, *, url: str, tasks: int) -> dict[str, float]:
    with psycopg.connect(url, autocommit=True) as observer:
        loading.queued(observer, [DEFAULT_ORG], count=tasks)
        before = _count(observer, "select count(*) from weft.task_history")
        database.settle(url)
        with gate.closed(url, table="weft.tasks") as entrance, _worker(contender, place) as programs:
            gate.wait_for([place.program], url=url)
            used = [_cpu(programs[0]), _cpu(place.program)]
            start = gate.opened(entrance)
            end = _emptied(observer, [*programs, place.program])
            used = [_cpu(programs[0]) - used[0], _cpu(place.program) - used[1]]
        done = _count(observer, "select count(*) from weft.task_history where state = 'completed'") - before
    if done != tasks:
        raise Stalled(f"{done} of {tasks} tasks completed; the others ended otherwise")
    return {
        "tasks": tasks, "seconds": end - start, "per_second": tasks / (end - start),
        "worker_cpu_us_per_task": used[0] / tasks * 1e6, "server_cpu_us_per_task": used[1] / tasks * 1e6,
    }  # fmt: skip


def _delays(contender: Contender, place: Place, *, url: str, rate: int, count: int) -> list[float]:
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        stamps = Path(folder) / "stamps"
        stamps.touch()
        with _worker(contender, place, BENCH_STAMPS=str(stamps)) as programs:
            everybody = [*programs, place.program]
            _produce(contender, WARM_UP, rate, url=url)
            latency._delivered(stamps, everybody, count=WARM_UP)
            time.sleep(latency.SETTLE)
            _produce(contender, count, rate, url=url)
            return latency._delivered(stamps, everybody, count=WARM_UP + count)[WARM_UP:]


def _produce(contender: Contender, count: int, rate: int, *, url: str) -> None:
    processes.finished(
        [*contender.runtime.command, "produce", str(count), str(rate)],
        label=f"{contender.name} produce",
        environment=contender.environment(url, BENCH_WEFT_ORGS="1"),
        timeout=TIMEOUT,
    )


@contextlib.contextmanager
def _server(contender: Contender, *, url: str) -> Iterator[Place]:
    weft = str(Path(sys.executable).with_name("weft"))
    environment = contender.environment(url)
    made = processes.finished(
        ["sh", "-c", '"$0" key create bench --role worker --json | tr -d "\\n"', weft],
        label="weft key create", environment=environment, timeout=TIMEOUT,
    )  # fmt: skip
    key = json.loads(made)["key"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [weft, "server", "--port", str(port), "--log-level", "warning"]
    with processes.started(command, label="weft server", environment=environment) as [program]:
        _reachable(port, program)
        yield Place(f"http://127.0.0.1:{port}", key, weft, program)


def _worker(contender: Contender, place: Place, **extra: str) -> contextlib.AbstractContextManager[list[processes.Program]]:
    return processes.started(
        [*contender.worker_command(), "--http", place.url],
        label=f"{contender.name} over HTTP",
        environment=contender.environment(NOWHERE, WEFT_KEY=place.key, **extra),
    )


def _reachable(port: int, program: processes.Program) -> None:
    deadline = time.monotonic() + TIMEOUT
    while True:
        program.check()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if time.monotonic() > deadline:
            raise Stalled(f"the server did not start\n{program.log_tail()}")
        time.sleep(0.05)


def _emptied(observer: psycopg.Connection, programs: list[processes.Program]) -> float:
    """The moment of the first query that found nothing unfinished."""
    left, progressed = -1, time.monotonic()
    while True:
        asked = time.monotonic()
        now = _count(observer, "select count(*) from weft.tasks")
        if now == 0:
            return asked
        if now != left:
            left, progressed = now, asked
        elif asked - progressed > TIMEOUT:
            raise Stalled(f"{left} tasks are left undone\n{programs[0].log_tail()}\n{programs[-1].log_tail()}")
        for program in programs:
            program.check()
        time.sleep(0.1 if now > 5000 else 0.02)


def _cpu(program: processes.Program) -> float:
    times = [process.cpu_times() for process in program.tree()]
    return statistics.fsum(one.user + one.system for one in times)


def _count(observer: psycopg.Connection, query: str) -> int:
    return int(observer.execute(query).fetchone()[0])
