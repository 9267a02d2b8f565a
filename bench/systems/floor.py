"""The floor: what plain psycopg and PostgreSQL can do with the rows and indexes of Weft, and nothing else."""

import importlib.metadata
import sys

from bench.system import Runtime, System


def prepare() -> Runtime:
    """Use the harness's own interpreter."""
    return Runtime(
        command=(sys.executable, "-m", "bench.floor"),
        versions={"psycopg": importlib.metadata.version("psycopg")},
    )


SYSTEMS = (
    System(
        name="floor",
        settings="claim 500, finish 500, one connection; floor.sql",
        prepare=prepare,
        unfinished="select count(*) from floor.tasks",
        completed="select count(*) from floor.task_history where state = 'completed'",
        gate_table="floor.tasks",
        scenarios=("drain", "enqueue_one", "enqueue_many"),
    ),
)
