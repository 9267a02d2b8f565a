"""Enqueue: how fast one producer on one connection commits tasks, one by one and in bulk.

The producer times itself, from before its first call to after its last one returned, so that starting an
interpreter is not counted; the harness checks that every task is in the database afterwards.
"""

import json

import psycopg

from bench.errors import Stalled
from bench.scenarios.measurement import Measurement
from bench.system import Contender


def measure(contender: Contender, *, url: str, tasks: int, phase: str) -> list[Measurement]:
    """Enqueue `tasks` by `phase` and return the committed rate."""
    contender.run("setup", url=url)
    seconds = json.loads(contender.run(phase, tasks, url=url))["seconds"]
    with psycopg.connect(url, autocommit=True) as connection:
        stored = connection.execute(contender.system.unfinished).fetchone()[0]
    if stored != tasks:
        raise Stalled(f"{contender.name} stored {stored} tasks, expected {tasks}")
    return [Measurement({"tasks": tasks, "seconds": seconds, "per_second": tasks / seconds})]
