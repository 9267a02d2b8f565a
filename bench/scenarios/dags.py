"""DAGs: what a task of a DAG costs besides its work: a fan-out, a chain, and many small DAGs at once.

No-op tasks, one worker process, wall time per task from the call that starts the run to its result. Prefect and Dagster do
the same in their best local mode, in venvs of their own, in the same round, so that what drifts drifts for all.
"""

import json
import os
import subprocess
import sys
import tempfile

from bench import environments
from bench.errors import BenchError
from bench.scenarios.measurement import Line, Measurement
from bench.system import BENCH, Contender

TITLE = "DAGs: ms of wall time per no-op task"
SHAPES = {"fan": "a fan-out of {fan}", "chain": "a chain of {chain}, per hop", "many": "{many} DAGs of 10 at once"}
AT_LEAST = {"fan": 20, "chain": 3, "many": 20}
PEERS = {"prefect": ("prefect==3.6.20", "fastapi==0.116.1"), "dagster": ("dagster==1.13.28",)}
LARGE = (
    Line("{large} tasks, each after five: accepted and started, ms", "accepted_ms", at_most=10_000),
    Line("  ran, per task", "large_ms", digits=2),
    Line("  its status page while it runs, ms: the slowest", "status_ms", digits=1, at_most=200),
)
LINES = (
    *(
        line
        for name, label in SHAPES.items()
        for line in (
            Line(label, f"{name}_ms", digits=2),
            *(Line(f"  {peer}", f"{peer}_{name}_ms", digits=2) for peer in PEERS),
            *(Line(f"  {peer}, times as much", f"{peer}_{name}_ratio", digits=1, at_least=AT_LEAST[name]) for peer in PEERS),
        )
    ),
    *LARGE,
)
TIMEOUT = 900


def measure(
    contender: Contender, *, url: str, rounds: int, fan: int, chain: int, many: int, large: int
) -> list[Measurement]:
    """Each system once a round."""
    sizes = [str(fan), str(chain), str(many)]
    interpreters = {peer: str(environments.python(peer, requirements=wanted)[0]) for peer, wanted in PEERS.items()}
    subprocess.run([sys.executable, "-m", "weft.cli", "migrate", "up"], check=True, capture_output=True,
                   env={**os.environ, "DATABASE_URL": url}, cwd=BENCH.parent)  # fmt: skip
    measured = []
    for _ in range(rounds):
        values = _run([sys.executable, "-m", "bench.weft_dags", *sizes, str(large)], url=url)
        for peer, interpreter in interpreters.items():
            for shape, size in zip(SHAPES, sizes, strict=True):
                command = [interpreter, str(BENCH / f"peers/{peer}_dags.py"), shape, size]
                took = values[f"{peer}_{shape}_ms"] = _run(command, url=url)["ms"]
                values[f"{peer}_{shape}_ratio"] = took / values[f"{shape}_ms"]
        measured.append(Measurement(values))
    return measured


def _run(command: list[str], *, url: str) -> dict[str, float]:
    env = {**os.environ, "DATABASE_URL": url, "BENCH_DATABASE_URL": url, "PREFECT_LOGGING_LEVEL": "CRITICAL",
           "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
           # Prefect's server answers 503 when its database is slow: then it is asked again
           "PREFECT_CLIENT_MAX_RETRIES": "30", "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
           "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "60",
           "DAGSTER_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}  # fmt: skip
    try:
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run(
                command, env={**env, "PREFECT_HOME": home}, cwd=BENCH.parent, capture_output=True, text=True,
                timeout=TIMEOUT, check=False,
            )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{command[1]} did not end within {TIMEOUT} s") from error
    if done.returncode:
        raise BenchError(f"{command[1]} failed:\n{done.stderr.strip()[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
