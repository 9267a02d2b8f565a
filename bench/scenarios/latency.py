"""Latency: a producer enqueues at a steady rate, one idle worker runs; from before the enqueue call to handler start.

Both ends read the machine's monotonic clock: the task carries the producer's reading, the handler appends the
difference to a file.
"""

import tempfile
import time
from pathlib import Path

from bench import processes
from bench.errors import Stalled
from bench.scenarios.measurement import Measurement, percentile
from bench.system import Contender

WARM_UP = 100
"""Tasks that are not counted: each of 50 orgs comes twice."""
SETTLE = 1.0
DELIVERY_TIMEOUT = 30
PERCENTILES = (50, 90, 95, 99)


def measure(contender: Contender, *, url: str, rate: int, seconds: int) -> list[Measurement]:
    """Return the percentiles of the delay, and every delay."""
    count = rate * seconds
    contender.run("setup", url=url)
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        stamps = Path(folder) / "stamps"
        stamps.touch()
        running = processes.started(
            contender.worker_command(),
            label=contender.name,
            environment=contender.environment(url, BENCH_STAMPS=str(stamps)),
        )
        with running as programs:
            contender.run("produce", WARM_UP, rate, url=url)
            _delivered(stamps, programs, count=WARM_UP)
            time.sleep(SETTLE)
            contender.run("produce", count, rate, url=url)
            delays = _delivered(stamps, programs, count=WARM_UP + count)[WARM_UP:]
    values = {f"p{share}_ms": percentile(delays, share / 100) for share in PERCENTILES}
    return [Measurement({"tasks": count, **values, "max_ms": max(delays)}, samples=tuple(delays))]


def _delivered(stamps: Path, programs: list[processes.Program], *, count: int) -> list[float]:
    """Wait until `count` handlers have started and return their delays in milliseconds."""
    deadline = time.monotonic() + DELIVERY_TIMEOUT
    while True:
        lines = stamps.read_text().splitlines()
        if len(lines) >= count:
            return [int(line) / 1e6 for line in lines]
        for program in programs:
            program.check()
        if time.monotonic() > deadline:
            raise Stalled(f"{len(lines)} of {count} tasks started\n{programs[0].log_tail()}")
        time.sleep(0.1)
