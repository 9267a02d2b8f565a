"""What the harness needs to know of a contender. The rest is in the contender's own program.

A program is called with DATABASE_URL in its environment and one of these phases:

    setup                    install the schema in an empty database
    enqueue-one COUNT        enqueue no-op tasks one by one, each committed; print {"seconds": …}
    enqueue-many COUNT       the same by the best bulk call; print {"seconds": …}
    produce COUNT RATE       enqueue "stamp" tasks at RATE a second, each carrying the monotonic clock
    work                     run tasks until told to stop; "stamp" appends its delay in ns to $BENCH_STAMPS
"""

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bench import processes
from bench.errors import BenchError

Scenario = Literal[
    "drain", "enqueue_one", "enqueue_many", "latency", "scale", "fairness", "idle", "limits", "start", "http",
    "live", "pages", "xmin", "jobs", "dags", "afl_compile", "workflows",
]
COMPARED: tuple[Scenario, ...] = ("drain", "enqueue_one", "enqueue_many", "latency")
OWN: tuple[Scenario, ...] = (
    "scale", "fairness", "idle", "limits", "start", "http", "live", "pages", "xmin", "jobs", "dags", "afl_compile",
    "workflows",
)  # fmt: skip
SCENARIOS = COMPARED + OWN
MODULES = ("weft", "pgqueuer", "procrastinate", "graphile_worker", "pg_boss", "floor")

BENCH = Path(__file__).parent


@dataclass(frozen=True)
class Runtime:
    """How a contender's program is called once its environment exists, and what is installed there."""

    command: tuple[str, ...]
    versions: dict[str, str]
    environment: dict[str, str] = field(default_factory=dict)
    worker_command: tuple[str, ...] | None = None


@dataclass(frozen=True)
class System:
    """One contender.

    `unfinished` counts the tasks that are not finished by a committed transaction. `completed` counts those that
    succeeded, so that fast failures are not taken for work; it is None where success leaves nothing to count.
    """

    name: str
    settings: str
    prepare: Callable[[], Runtime]
    unfinished: str
    completed: str | None
    gate_table: str
    scenarios: tuple[Scenario, ...] = COMPARED
    # Share of the tasks that a much slower system drains, so that a run ends; a rate is a rate.
    drain_share: float = 1.0


@dataclass(frozen=True)
class Contender:
    """A system with its environment in place."""

    system: System
    runtime: Runtime

    @property
    def name(self) -> str:
        """The name in tables and results."""
        return self.system.name

    def run(self, phase: str, *arguments: object, url: str, timeout: float = 600) -> str:
        """Run one phase to its end and return its last line of output."""
        return processes.finished(
            [*self.runtime.command, phase, *map(str, arguments)],
            label=f"{self.name} {phase}",
            environment=self.environment(url),
            timeout=timeout,
        )

    def worker_command(self) -> tuple[str, ...]:
        """The command of one worker process."""
        return self.runtime.worker_command or (*self.runtime.command, "work")

    def environment(self, url: str, **extra: str) -> dict[str, str]:
        """The variables a phase is given."""
        path = os.pathsep.join(filter(None, [str(BENCH.parent), os.environ.get("PYTHONPATH")]))
        return {"PYTHONPATH": path, **self.runtime.environment, "DATABASE_URL": url, **extra}


def known() -> dict[str, System]:
    """Return every system that a file in `systems/` offers, by name."""
    modules = [importlib.import_module(f"bench.systems.{name}") for name in MODULES]
    return {system.name: system for module in modules for system in module.SYSTEMS}


def choose(names: list[str] | None) -> list[System]:
    """Return the named systems, or all."""
    systems = known()
    unknown = sorted(set(names or ()) - set(systems))
    if unknown:
        raise BenchError(f"no such system: {', '.join(unknown)}; there are {', '.join(systems)}")
    return [systems[name] for name in names or systems]
