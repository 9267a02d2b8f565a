"""pg-boss (npm): two workers a process, batches of 5000, fetching on while batches are full, woken by NOTIFY.

Its `work` calls back once per batch; the adapter awaits a handler per job inside that call, as the others do.
"""

from bench import environments
from bench.system import BENCH, Runtime, System

# The newest whose dependencies the registry resolves.
REQUIREMENTS = ("pg-boss@12.35.0",)


def prepare() -> Runtime:
    """Install pg-boss in its own folder."""
    node, home, versions = environments.node_modules("pg-boss", requirements=REQUIREMENTS)
    return Runtime(
        command=(str(node), str(BENCH / "peers/pg_boss.mjs")),
        versions=versions,
        environment={"BENCH_MODULES": f"{home}/"},
    )


SYSTEMS = (
    System(
        name="pg-boss",
        settings="two workers, batch 5000 with a handler awaited per job, burst while full, notify",
        prepare=prepare,
        unfinished="select count(*) from pgboss.job where state < 'completed' and name = 'noop'",
        completed="select count(*) from pgboss.job where state = 'completed' and name = 'noop'",
        gate_table="pgboss.job",
    ),
)
