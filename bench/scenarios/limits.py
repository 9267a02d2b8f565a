"""Limits: eight worker processes at once against a limit of ten. Never may eleven handlers run together.

The handlers count themselves in a file (`bench/occupancy.py`), independently of everything the database believes. The
tasks become visible in one commit, when all eight workers are up, so that all of them go for the ten places at once. It
ends with the last task or when the time is up.
"""

import contextlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from bench import database, loading, occupancy, processes
from bench.errors import Stalled
from bench.scenarios.measurement import Line, Measurement
from bench.system import Contender

WORKERS = 8
LIMIT = 10
HANDLER_MILLISECONDS = 10
START_TIMEOUT = 60
KINDS = {"queue": "queue max_running", "org": "org max_concurrent", "key": "concurrency key"}

TITLE = f"Limits: {WORKERS} worker processes, a limit of {LIMIT}, handlers of {HANDLER_MILLISECONDS} ms"
LINES = tuple(
    line
    for name, label in KINDS.items()
    for line in (
        Line(f"{label}: most handlers at once", f"{name}_highest", at_most=LIMIT, every=True),
        Line("  most running in the database", f"{name}_highest_leased", at_most=LIMIT, every=True),
        Line("  tasks/s", f"{name}_per_second"),
        Line("  share of what ten places could do", f"{name}_share", digits=2),
    )
)

DEFAULT_ORG = "00000000-0000-7000-8000-000000000001"
PAYLOAD = f'{{"milliseconds": {HANDLER_MILLISECONDS}}}'
ACTIVE = "select count(*) from weft.nodes where status = 'active'"
STATES = "select count(*), count(*) filter (where state = 'running') from weft.tasks"


@dataclass(frozen=True)
class Seen:
    """What was seen during one run."""

    highest: int
    highest_leased: int
    per_second: float


def measure(contender: Contender, *, url: str, rounds: int, tasks: int, seconds: int) -> list[Measurement]:
    """Try every kind of limit once a round, each in its own database."""
    measured = []
    for _ in range(rounds):
        values: dict[str, float] = {"tasks": tasks}
        for name in KINDS:
            with database.fresh(url, name=f"bench_limits_{name}") as place:
                seen = _run(contender, name, url=place, tasks=tasks, seconds=seconds)
            values |= {
                f"{name}_highest": seen.highest,
                f"{name}_highest_leased": seen.highest_leased,
                f"{name}_per_second": seen.per_second,
                f"{name}_share": seen.per_second / (LIMIT * 1000 / HANDLER_MILLISECONDS),
            }
        measured.append(Measurement(values))
    return measured


def _run(contender: Contender, kind: str, *, url: str, tasks: int, seconds: int) -> Seen:
    contender.run("setup", url=url)
    with _counted() as counted, psycopg.connect(url, autocommit=True) as connection:
        environment = contender.environment(url, BENCH_OCCUPANCY=counted)
        running = processes.started(
            contender.worker_command(), label=contender.name, environment=environment, copies=WORKERS
        )
        _limit(connection, kind)
        with running as programs:
            _all_up(connection, programs)
            _enqueue(contender, connection, kind=kind, url=url, tasks=tasks)
            leased = _watch(connection, programs, seconds=seconds)
            seen = occupancy.read(counted)
    if not seen.left:
        raise Stalled(f"no handler ran within {seconds} s")
    return Seen(seen.highest, leased, seen.left / ((seen.last_ns - seen.first_ns) / 1e9))


@contextlib.contextmanager
def _counted() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        path = Path(folder) / "occupancy"
        path.touch()
        yield str(path)


def _limit(connection: psycopg.Connection, kind: str) -> None:
    if kind == "queue":
        connection.execute(loading.LIMIT_QUEUE, (DEFAULT_ORG, "default", LIMIT))
    elif kind == "org":
        connection.execute("update weft.orgs set max_concurrent = %s where id = %s", (LIMIT, DEFAULT_ORG))


def _enqueue(contender: Contender, connection: psycopg.Connection, *, kind: str, url: str, tasks: int) -> None:
    if kind == "key":
        contender.run("keyed", tasks, LIMIT, HANDLER_MILLISECONDS, url=url)
    else:
        loading.queued(connection, [DEFAULT_ORG], count=tasks, kind="occupy", payload=PAYLOAD)


def _all_up(connection: psycopg.Connection, programs: list[processes.Program]) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while connection.execute(ACTIVE).fetchone()[0] < WORKERS:
        for program in programs:
            program.check()
        if time.monotonic() > deadline:
            raise Stalled(f"not all {WORKERS} workers were up within {START_TIMEOUT} s\n{programs[0].log_tail()}")
        time.sleep(0.1)


def _watch(connection: psycopg.Connection, programs: list[processes.Program], *, seconds: int) -> int:
    """Wait until all is finished or the time is up; return the most that were running by the database's word."""
    highest, deadline = 0, time.monotonic() + seconds
    while True:
        left, running = connection.execute(STATES).fetchone()
        highest = max(highest, running)
        if left == 0 or time.monotonic() > deadline:
            return highest
        for program in programs:
            program.check()
        time.sleep(0.05)
