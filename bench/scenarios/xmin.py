"""Xmin: tasks come in and go out at a steady rate while somebody holds one old transaction open.

Nothing that dies meanwhile can be vacuumed away: the queue's rows and, worse, their index entries. A queue that looks for
work from the beginning of its index walks over all of them with every claim. So: a rate for a while, then the same with a
REPEATABLE READ transaction held open beside it, and again a while after it ended. A trickle of one org tells what a claim
costs: its wait, from before the enqueue call to the handler's first line.

The producer keeps `rate` a second and no more than a little queued, so on a machine that cannot do that rate the workers
are what is measured. What was finished is read from the statistics of the history's tables: counting them would be a load.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from bench import processes
from bench.errors import Stalled
from bench.scenarios.fairness import Waits, _between, _first
from bench.scenarios.measurement import Line, Measurement, percentile
from bench.system import Contender

TRICKLE = 20
WARM_UP = 5
REST = 3
WINDOWS = 6
"""The time with the transaction held is told in so many parts; the last is the worst, if it gets worse."""

TITLE = "Xmin: {rate}/s in and out, a transaction held open for {held} s"
LINES = (
    Line("before: tasks/s", "before_per_second"),
    Line("held: tasks/s, all of it", "held_per_second"),
    Line("  the last part", "last_per_second"),
    Line("  the last part, × before", "last_ratio", digits=2, at_least=0.6),
    Line("  the worst part, × before", "worst_ratio", digits=2, at_least=0.6),
    Line("after it ended: × before", "after_ratio", digits=2),
    Line("wait of a trickle, p99 ms: before", "before_p99_ms", digits=1),
    Line("  held, the last part", "last_p99_ms", digits=1),
    Line("dead rows of the queue at the end of it", "dead_rows"),
)

FINISHED = """
select coalesce(sum(n_tup_ins), 0)::bigint
from pg_stat_user_tables
where schemaname = 'weft' and relname like 'task\\_history%'
"""
DEAD = "select n_dead_tup from pg_stat_user_tables where schemaname = 'weft' and relname = 'tasks'"
FRESH_STATISTICS = "select pg_stat_clear_snapshot()"


def measure(contender: Contender, *, url: str, rounds: int, rate: int, before: int, held: int) -> list[Measurement]:
    """Once, however many rounds: it takes as long as it takes."""
    contender.run("setup", url=url)
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        stamps = Path(folder) / "stamps"
        stamps.touch()
        environment = contender.environment(url, BENCH_STAMPS=str(stamps))
        command = contender.runtime.command
        trickle = [*command, "waits", str(10**9), str(TRICKLE)]
        with (
            psycopg.connect(url, autocommit=True) as observer,
            processes.started(contender.worker_command(), label=contender.name, environment=environment) as workers,
            processes.started([*command, "feed", str(rate)], label="producer", environment=environment) as feeding,
            processes.started(trickle, label="trickle", environment=environment) as few,
        ):
            watched = [*workers, *feeding, *few]
            _first(stamps, watched=watched)
            time.sleep(WARM_UP)

            def window(seconds: float) -> tuple[float, Waits]:
                return _window(observer, stamps, watched, seconds=seconds)

            return [Measurement(_values(url, observer, window, before=before, held=held))]


def _values(
    url: str, observer: psycopg.Connection, window: Callable[[float], tuple[float, Waits]], *, before: int, held: int
) -> dict[str, float]:
    rate, waits = window(before)
    values = {"before_per_second": rate, "before_p99_ms": percentile(waits.start, 0.99)}
    with _holding(url):
        parts = [window(held / WINDOWS) for _ in range(WINDOWS)]
        values["dead_rows"] = observer.execute(DEAD).fetchone()[0]
    rates = [one for one, _ in parts]
    values |= {f"part_{number}_per_second": one for number, one in enumerate(rates, start=1)}
    values |= {
        "held_per_second": sum(rates) / len(rates), "last_per_second": rates[-1], "last_ratio": rates[-1] / rate,
        "worst_ratio": min(rates) / rate, "last_p99_ms": percentile(parts[-1][1].start, 0.99),
    }  # fmt: skip
    after, _ = window(before)
    return {**values, "after_ratio": after / rate}


@contextmanager
def _holding(url: str) -> Iterator[None]:
    """Somebody who began to read and does not end."""
    with psycopg.connect(url) as holder:
        holder.execute("set transaction isolation level repeatable read")
        holder.execute("select count(*) from weft.queues")
        yield


def _window(
    observer: psycopg.Connection, stamps: Path, watched: list[processes.Program], *, seconds: float
) -> tuple[float, Waits]:
    began, first, done = time.monotonic(), time.monotonic_ns(), _finished(observer)
    time.sleep(seconds)
    rate = (_finished(observer) - done) / (time.monotonic() - began)
    last = time.monotonic_ns()
    time.sleep(REST)
    for program in watched:
        program.check()
    if rate <= 0:
        raise Stalled(f"nothing was finished for {seconds:.0f} s\n{watched[0].log_tail()}")
    return rate, _between(stamps, first, last)


def _finished(observer: psycopg.Connection) -> int:
    observer.execute(FRESH_STATISTICS)
    return int(observer.execute(FINISHED).fetchone()[0])
