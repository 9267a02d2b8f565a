"""Start: how long the command line and the import take, also the processor, and how many packages a base install brings.

The packages are counted in a venv of their own, made anew when pyproject.toml changes. The times are of the harness's own
environment, where the source is as it is now.
"""

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench import environments
from bench.scenarios.measurement import Line, Measurement
from bench.system import BENCH, Contender

TITLE = "Start"
LINES = (
    Line("`weft --help`, ms", "help_ms", below=150),
    Line("`import weft; weft.App`, ms more than an empty program", "import_ms"),
    Line("an empty program, ms", "empty_ms"),
    Line("`weft queues list` on the local database, ms", "local_ms"),
    Line("the same, ms of processor time", "local_cpu_ms"),
    Line("packages that a base install brings beside Weft", "packages", below=30),
)

NOT_OURS = ("pip", "setuptools", "wheel", "weft")


def measure(contender: Contender, *, url: str, rounds: int, calls: int) -> list[Measurement]:
    """Take turns between the commands and return the medians."""
    contender.run("setup", url=url)
    weft = str(Path(sys.executable).with_name("weft"))
    commands = {
        "help": [weft, "--help"],
        "import": [sys.executable, "-c", "import weft; weft.App"],
        "empty": [sys.executable, "-c", "pass"],
        "local": [weft, "queues", "list", "--profile", "local"],
    }
    env = {**os.environ, "DATABASE_URL": url}
    taken: dict[str, list[float]] = {name: [] for name in commands}
    worked: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(calls):
        for name, command in commands.items():
            start, before = time.perf_counter(), _worked()
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, cwd=BENCH, env=env)
            taken[name].append((time.perf_counter() - start) * 1000)
            worked[name].append((_worked() - before) * 1000)
    middle = {name: statistics.median(times) for name, times in taken.items()}
    installed = environments.base(BENCH.parent)
    return [
        Measurement(
            {
                "help_ms": middle["help"],
                "import_ms": middle["import"] - middle["empty"],
                "empty_ms": middle["empty"],
                "local_ms": middle["local"],
                "local_cpu_ms": statistics.median(worked["local"]),
                "packages": len([package for package in installed if package not in NOT_OURS]),
            }
        )
    ]


def _worked() -> float:
    """Seconds of processor time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
