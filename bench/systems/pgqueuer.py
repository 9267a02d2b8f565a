"""pgqueuer (PyPI): an asyncpg pool and uvloop, batches of 500 for claims and completions."""

from bench import environments
from bench.system import BENCH, Runtime, System

REQUIREMENTS = ("pgqueuer==1.6.0", "asyncpg==0.32.0", "uvloop==0.23.0")


def prepare() -> Runtime:
    """Install pgqueuer in its own venv."""
    interpreter, versions = environments.python("pgqueuer", requirements=REQUIREMENTS)
    return Runtime(command=(str(interpreter), str(BENCH / "peers/pgqueuer_worker.py")), versions=versions)


SYSTEMS = (
    System(
        name="pgqueuer",
        settings="batch 500, asyncpg pool of 4, uvloop",
        prepare=prepare,
        unfinished="select count(*) from pgqueuer",
        completed="select count(*) from pgqueuer_log where status = 'successful'",
        gate_table="pgqueuer",
    ),
)
