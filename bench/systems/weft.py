"""Weft, twice: with everything a product has on, and lean, for the comparison with queues that have less."""

import importlib.metadata
import sys
from functools import partial
from pathlib import Path

from bench.system import COMPARED, OWN, Runtime, Scenario, System

CONCURRENCY = "50"


def prepare(orgs: int) -> Runtime:
    """Use the harness's own interpreter, where Weft is installed."""
    weft = str(Path(sys.executable).with_name("weft"))
    return Runtime(
        command=(sys.executable, "-m", "bench.weft_program"),
        worker_command=(weft, "worker", "bench.weft_app:app", "-c", CONCURRENCY),
        versions={"weft": importlib.metadata.version("weft"), "psycopg": importlib.metadata.version("psycopg")},
        environment={"BENCH_WEFT_ORGS": str(orgs), "BENCH_WEFT_COMMAND": weft},
    )


def system(name: str, *, orgs: int, settings: str, scenarios: tuple[Scenario, ...] = COMPARED) -> System:
    """Describe one mode of Weft."""
    return System(
        name=name,
        settings=settings,
        prepare=partial(prepare, orgs),
        unfinished="select count(*) from weft.tasks",
        completed="select count(*) from weft.task_history where state = 'completed'",
        gate_table="weft.tasks",
        scenarios=scenarios,
    )


SYSTEMS = (
    system(
        "weft",
        orgs=50,
        settings="50 orgs, row-level security, change feed, one limited queue; concurrency 50",
        scenarios=COMPARED + OWN,
    ),
    system("weft-lean", orgs=1, settings="one org, no limits; concurrency 50"),
)
