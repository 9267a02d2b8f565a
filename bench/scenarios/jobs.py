"""Jobs: a million that are active, ten thousand of them due in the same second.

The jobs are written past the API, once. In each round some of them are made due at one instant to come; a scheduler that
leads (`weft_jobs.py`) dispatches them: executions committed, tasks claimable. Next to it, in the same process and on the
same database, the floor: as many rows inserted into a copy of the table of tasks with its indexes, by multi-row inserts in
transactions as large as the scheduler's.
"""

import json
import sys

import psycopg

from bench import processes
from bench.scenarios.measurement import Line, Measurement
from bench.system import Contender

TIMEOUT = 600
PER_SECOND = 5_000
SHARE = 0.1

TITLE = "Jobs: due in the same second, dispatched by one scheduler (executions committed, tasks claimable)"
LINES = (
    Line("{active} active, {due} due: dispatched a second", "per_second", digits=0, at_least=PER_SECOND),
    Line("  the floor: rows a second by multi-row insert", "floor_per_second", digits=0),
    Line("  share of the floor", "share", digits=2, at_least=SHARE),
    Line("  the first after it was due, ms", "first_ms", digits=0),
    Line("  all after they were due, ms", "all_ms", digits=0),
    Line("  asking for the next due job, ms", "peek_ms", digits=2),
)

FILL = """
insert into weft.jobs (org_id, name, job_type, cron_expression, timezone, payload, kind, args, retry, next_run_time, due_at)
select '00000000-0000-7000-8000-000000000001', 'job ' || n, 'CRON', (n %% 60) || ' ' || (n %% 24) || ' * * *',
    (array['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata'])[1 + n %% 4],
    '{"task": "noop", "args": {"n": 1}}', 'noop',
    '{"n": 1}', '{"backoff": "exponential", "base": 60}', now() + interval '2 days' + n * interval '1 second',
    now() + interval '2 days' + n * interval '1 second'
from generate_series(1, %s) as n
"""


def measure(contender: Contender, *, url: str, rounds: int, active: int, due: int) -> list[Measurement]:
    """Fill the database, then let them fall due, round after round."""
    contender.run("setup", url=url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(FILL, (active,))
        connection.execute("vacuum analyze weft.jobs")
    return [_round(contender, url=url, due=due) for _ in range(rounds)]


def _round(contender: Contender, *, url: str, due: int) -> Measurement:
    command = [sys.executable, "-m", "bench.weft_jobs", str(due)]
    environment = contender.environment(url)
    return Measurement(json.loads(processes.finished(command, label="jobs", environment=environment, timeout=TIMEOUT)))
