"""Durable workflows: how many no-op ones a second, of one step and of ten, and how long a single one takes.

One process each, concurrent runs, every step durable before the next begins. DBOS and Absurd do the same in venvs of their
own, in the same round. Then what only Weft is asked: many runs that sleep, what they cost worker and server in memory, and
how fast those that are due at once go on.
"""

import json
import os
import subprocess
import sys

from bench import environments, processes
from bench.scenarios.measurement import Line, Measurement
from bench.system import BENCH, Contender

TITLE = "Durable workflows of no-op steps, one process each"
PEERS = {"dbos": ("dbos==3.3.0",), "absurd": ("absurd-sdk==0.5.1", "absurdctl==0.5.1")}
AT_LEAST = {"dbos": 20, "absurd": 6}
SHARE = {"dbos": 10, "absurd": 5}
"""Peers do this part of Weft's number of runs, so that a round ends; a rate is a rate."""
SHAPES = {"one": "{ones} of one step, a second", "ten": "{tens} of ten steps, a second"}
LINES = (
    *(
        line
        for name, label in SHAPES.items()
        for line in (
            Line(label, f"{name}_per_second", digits=0),
            *(Line(f"  {peer}", f"{peer}_{name}_per_second", digits=0) for peer in PEERS),
            *(Line(f"  times {peer}'s", f"{peer}_{name}_ratio", digits=1, at_least=AT_LEAST[peer]) for peer in PEERS),
        )
    ),
    Line("start to result of one step at low load, ms", "latency_ms", digits=1),
    *(Line(f"  {peer}", f"{peer}_latency_ms", digits=1) for peer in PEERS),
    Line("  share of dbos's", "dbos_latency_share", digits=2, at_most=1),
    Line("{sleepers} asleep: the worker's memory grew by, MiB", "worker_grew_mib", digits=0, at_most=64),
    Line("  the server's backends grew by, MiB", "server_grew_mib", digits=0, at_most=64),
    Line("{due} of them due at once: woken and ended a second", "woken_per_second", digits=0, at_least=2000),
)
TIMEOUT = 900


def measure(
    contender: Contender, *, url: str, rounds: int, ones: int, tens: int, calls: int, sleepers: int, due: int
) -> list[Measurement]:
    """Each system once a round; then the sleepers."""
    interpreters = {peer: str(environments.python(peer, requirements=wanted)[0]) for peer, wanted in PEERS.items()}
    subprocess.run([sys.executable, "-m", "weft.cli", "migrate", "up"], check=True, capture_output=True,
                   env={**os.environ, "DATABASE_URL": url}, cwd=BENCH.parent)  # fmt: skip
    measured = []
    for _ in range(rounds):
        values = _run([sys.executable, "-m", "bench.weft_workflows", str(ones), str(tens), str(calls)], url=url)
        for peer, interpreter in interpreters.items():
            sizes = [str(max(8, ones // SHARE[peer])), str(max(8, tens // SHARE[peer])), str(calls)]
            found = _run([interpreter, str(BENCH / f"peers/{peer}_workflows.py"), *sizes], url=url)
            values |= {f"{peer}_{name}": value for name, value in found.items()}
            for name in SHAPES:
                values[f"{peer}_{name}_ratio"] = values[f"{name}_per_second"] / found[f"{name}_per_second"]
        values["dbos_latency_share"] = values["latency_ms"] / values["dbos_latency_ms"]
        values |= _run([sys.executable, "-m", "bench.weft_sleepers", str(sleepers), str(due)], url=url)
        measured.append(Measurement(values))
    return measured


def _run(command: list[str], *, url: str) -> dict[str, float]:
    environment = {"DATABASE_URL": url, "PYTHONPATH": str(BENCH.parent)}
    found: dict[str, float] = json.loads(
        processes.finished(command, label=command[1], environment=environment, timeout=TIMEOUT)
    )
    return found
