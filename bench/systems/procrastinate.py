"""procrastinate (PyPI): psycopg pool and uvloop, 50 jobs at a time. It claims and completes one job per statement."""

from bench import environments
from bench.system import BENCH, Runtime, System

REQUIREMENTS = ("procrastinate==3.10.0", "psycopg[binary]==3.3.8", "uvloop==0.23.0")


def prepare() -> Runtime:
    """Install procrastinate in its own venv."""
    interpreter, versions = environments.python("procrastinate", requirements=REQUIREMENTS)
    return Runtime(command=(str(interpreter), str(BENCH / "peers/procrastinate_worker.py")), versions=versions)


SYSTEMS = (
    System(
        name="procrastinate",
        settings="concurrency 50, uvloop, logging off",
        prepare=prepare,
        unfinished="select count(*) from procrastinate_jobs where status in ('todo', 'doing')",
        completed="select count(*) from procrastinate_jobs where status = 'succeeded'",
        gate_table="procrastinate_jobs",
        drain_share=0.02,
    ),
)
