"""graphile-worker (npm): 24 jobs at a time from a local queue of 500, completions batched."""

from bench import environments
from bench.system import BENCH, Runtime, System

REQUIREMENTS = ("graphile-worker@0.18.0",)


def prepare() -> Runtime:
    """Install graphile-worker in its own folder."""
    node, home, versions = environments.node_modules("graphile-worker", requirements=REQUIREMENTS)
    return Runtime(
        command=(str(node), str(BENCH / "peers/graphile_worker.mjs")),
        versions=versions,
        environment={"BENCH_MODULES": f"{home}/"},
    )


SYSTEMS = (
    System(
        name="graphile-worker",
        settings="concurrency 24, local queue 500, completions batched",
        prepare=prepare,
        # Success deletes the job and failure keeps it for a retry, so an empty table means that all succeeded.
        unfinished="select count(*) from graphile_worker._private_jobs",
        completed=None,
        gate_table="graphile_worker._private_jobs",
    ),
)
