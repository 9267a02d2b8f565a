"""AFL: a flow of many no-op event facets beside as many plain tasks, and a foreach over very many elements.

One worker process; flow and tasks take turns in the same run, and are looked at in the same way.
"""

import json
import os
import subprocess
import sys

from bench.errors import BenchError
from bench.scenarios.measurement import Line, Measurement
from bench.system import BENCH, Contender

TITLE = "AFL runs"
LINES = (
    Line("a flow of {facets} event facets, tasks/s", "per_second"),
    Line("as many plain tasks, tasks/s", "kernel_per_second"),
    Line("  the flow against the tasks", "ratio", digits=2, at_least=0.5),
    Line("the flow, started by another process, tasks/s", "other_per_second"),
    Line("  against the tasks", "other_ratio", digits=2),
    Line("foreach over {elements}, elements/s", "elements_per_second"),
    Line("  memory the worker grew by, MiB", "grew_mib", digits=1, at_most=64),
    Line("  memory the largest backend grew by, MiB", "backends_grew_mib", digits=1, at_most=64),
)
TIMEOUT = 1800


def measure(contender: Contender, *, url: str, rounds: int, facets: int, elements: int) -> list[Measurement]:
    """Once a round."""
    del contender
    env = {**os.environ, "DATABASE_URL": url}
    migrate = [sys.executable, "-m", "weft.cli", "migrate", "up"]
    subprocess.run(migrate, check=True, capture_output=True, env=env, cwd=BENCH.parent)
    found = []
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, "-m", "bench.weft_afl", str(facets), str(elements)], env=env, cwd=BENCH.parent,
            capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise BenchError(f"bench.weft_afl failed: {done.stderr[-2000:]}")
        found.append(Measurement(json.loads(done.stdout.splitlines()[-1])))
    return found
