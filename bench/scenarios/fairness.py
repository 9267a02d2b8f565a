"""Fairness: 50 orgs, one floods; how long does another's trickle wait, compared with being alone?

A producer sends one light org's tasks at a steady rate, from start to end. Beside it, in each round: nothing for a while,
a flood of no-ops, a flood of tasks of 5 ms, nothing again; 47 other orgs come with a hundred tasks each whenever it
floods. So the flood is the only difference, and the ratio is made within a round. Two floods, because they press on
different things: no-ops keep both processors busy, tasks that sleep keep all 50 runners busy.

Each round has a fresh database: what a flood leaves behind doubled the wait alone in the next round, and a worse wait
alone makes a better ratio. The second time alone shows that cost; nothing is divided by it.

A wait is from before the enqueue call to the handler's first line. It counts if it began while the flood was queued. The
part of it that is the enqueue call itself is shown too.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg

from bench import database, loading, processes
from bench.errors import Stalled
from bench.scenarios.measurement import Line, Measurement, percentile
from bench.system import Contender

WARM_UP = 3
REST = 2
POLL = 0.1
LONGEST_FLOOD = 120
ENDLESS = str(10**9)
PAUSE_MILLISECONDS = 5
OTHERS_EACH = 100
FLOODS = {"noop": '{"n": 0}', "pause": f'{{"milliseconds": {PAUSE_MILLISECONDS}}}'}

TITLE = "Fairness: the wait of a light org while another floods, 50 orgs (ms)"
LINES = (
    Line("alone: p50", "alone_p50_ms", digits=2),
    Line("  p99", "alone_p99_ms", digits=2),
    Line("  of it the enqueue call, p99", "alone_enqueue_p99_ms", digits=2),
    Line("during 5 ms tasks: p50", "pause_p50_ms", digits=2),
    Line("  p99", "pause_p99_ms", digits=2),
    Line("  p99, × alone", "pause_ratio", digits=2, at_most=2),
    Line("  of it the enqueue call, p99", "pause_enqueue_p99_ms", digits=2),
    Line("  flood finished, tasks/s", "pause_per_second"),
    Line("during no-ops: p50", "noop_p50_ms", digits=2),
    Line("  p99", "noop_p99_ms", digits=2),
    Line("  p99, × alone", "noop_ratio", digits=2, at_most=2),
    Line("  of it the enqueue call, p99", "noop_enqueue_p99_ms", digits=2),
    Line("  flood finished, tasks/s", "noop_per_second"),
    Line("alone, just after the floods: p50", "after_p50_ms", digits=2),
    Line("  p99", "after_p99_ms", digits=2),
)

ORGS = "select id from weft.orgs where slug like 'bench-%' order by id"
LEFT = """
select exists (
    select from weft.tasks where state = 'ready' and plain and lane = 'default' and org_id = %s
)
"""


@dataclass(frozen=True)
class Waits:
    """Milliseconds from before the call to the handler's start, and to the call's return."""

    start: list[float]
    enqueue: list[float]


def measure(
    contender: Contender, *, url: str, rounds: int, flood: int, rate: int, seconds: int
) -> list[Measurement]:
    """Return each round's waits."""
    measured = []
    for _ in range(rounds):
        with database.fresh(url, name="bench_fairness") as place:
            measured.append(_trickle(contender, url=place, flood=flood, rate=rate, seconds=seconds))
    return measured


def _trickle(contender: Contender, *, url: str, flood: int, rate: int, seconds: int) -> Measurement:
    """Run the trickle through one round."""
    contender.run("setup", url=url)
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        stamps = Path(folder) / "stamps"
        stamps.touch()
        environment = contender.environment(url, BENCH_STAMPS=str(stamps))
        producing = [*contender.runtime.command, "waits", ENDLESS, str(rate)]
        with (
            psycopg.connect(url, autocommit=True) as connection,
            processes.started(contender.worker_command(), label=contender.name, environment=environment) as workers,
            processes.started(producing, label="producer", environment=environment) as producers,
        ):
            _first(stamps, watched=[*workers, *producers])
            time.sleep(WARM_UP)

            def waits(during: Callable[[], tuple[int, int]]) -> Waits:
                first, last = during()
                time.sleep(REST)
                for program in (*workers, *producers):
                    program.check()
                return _between(stamps, first, last)

            return _round(connection, waits, flood=flood, seconds=seconds)


def _round(
    connection: psycopg.Connection, waits: Callable[[Callable[[], tuple[int, int]]], Waits], *, flood: int,
    seconds: int,
) -> Measurement:  # fmt: skip
    values: dict[str, float] = {}
    found = {"alone": waits(lambda: _nothing(seconds))}
    for kind in FLOODS:
        spent: list[float] = []

        def flooding(kind: str = kind, spent: list[float] = spent) -> tuple[int, int]:
            first, last = _flood(connection, kind=kind, count=flood)
            spent.append((last - first) / 1e9)
            return first, last

        found[kind] = waits(flooding)
        values[f"{kind}_per_second"] = flood / spent[0]
    found["after"] = waits(lambda: _nothing(seconds))
    for name, one in found.items():
        values |= {
            f"{name}_samples": len(one.start),
            f"{name}_p50_ms": percentile(one.start, 0.5),
            f"{name}_p99_ms": percentile(one.start, 0.99),
            f"{name}_enqueue_p99_ms": percentile(one.enqueue, 0.99),
        }
    for kind in FLOODS:
        values[f"{kind}_ratio"] = values[f"{kind}_p99_ms"] / values["alone_p99_ms"]
    return Measurement(values)


def _nothing(seconds: int) -> tuple[int, int]:
    first = time.monotonic_ns()
    time.sleep(seconds)
    return first, time.monotonic_ns()


def _flood(connection: psycopg.Connection, *, kind: str, count: int) -> tuple[int, int]:
    """Queue it all in one transaction; return when it was there and when the last of it was last seen waiting."""
    orgs: list[UUID] = [row[0] for row in connection.execute(ORGS)]
    flooder, others = orgs[0], orgs[2:-1]
    with connection.transaction():
        loading.queued(connection, [flooder], count=count, kind=kind, payload=FLOODS[kind])
        loading.queued(connection, others, count=OTHERS_EACH * len(others), kind=kind, payload=FLOODS[kind])
    first = last = time.monotonic_ns()
    while connection.execute(LEFT, (flooder,)).fetchone()[0]:
        last = time.monotonic_ns()
        if last - first > LONGEST_FLOOD * 1e9:
            raise Stalled(f"the flood of {kind} did not end within {LONGEST_FLOOD} s")
        time.sleep(POLL)
    return first, last


def _first(stamps: Path, *, watched: list[processes.Program]) -> None:
    deadline = time.monotonic() + 30
    while not stamps.read_text():
        for program in watched:
            program.check()
        if time.monotonic() > deadline:
            raise Stalled(f"no task of the light org started\n{watched[0].log_tail()}")
        time.sleep(POLL)


def _between(stamps: Path, first: int, last: int) -> Waits:
    """Return the waits of what was sent between two moments."""
    lines = [line.split() for line in stamps.read_text().splitlines()]
    found: dict[str, list[float]] = {"enqueued": [], "started": []}
    for what, sent, then in lines:
        if first <= int(sent) <= last:
            found[what].append((int(then) - int(sent)) / 1e6)
    if not found["started"]:
        raise Stalled("nothing of the light org started during the flood")
    return Waits(start=found["started"], enqueue=found["enqueued"])
