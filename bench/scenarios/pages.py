"""Pages: how long lists, filters and counts take with a million tasks queued, five million finished, and a million runs.

The database is filled past the API (`archive.py`), once. Then every page is asked for in turn, again and again, by the
org that has three fifths of everything and by one that has little (`weft_pages.py`). The first call of each is in the
numbers: it plans its statements and reads what nobody has read before.
"""

import json
import sys

import psycopg

from bench import archive, archive_runs, processes
from bench.scenarios.measurement import Line, Measurement, percentile
from bench.system import Contender

CALLS = 7
TIMEOUT = 300
TARGET_MS = 200
"""For every single call."""

NOBODY = "00000000-0000-7000-8000-0000000000ff"

PATHS = {
    "all": "/v1/tasks",
    "all_500": "/v1/tasks?limit=500",
    "deep": "/v1/tasks?created_before={middle}",
    "queued": "/v1/tasks?state=queued",
    "scheduled": "/v1/tasks?state=scheduled",
    "blocked": "/v1/tasks?state=blocked",
    "running": "/v1/tasks?state=running",
    "completed": "/v1/tasks?state=completed",
    "failed": "/v1/tasks?state=failed",
    "unsuccessful": "/v1/tasks?state=failed&state=timed_out&state=cancelled",
    "failed_kind": "/v1/tasks?state=failed&kind=kind-3",
    "failed_kind_none": "/v1/tasks?state=failed&kind=none",
    "kind": "/v1/tasks?kind=kind-3",
    "kind_rare": "/v1/tasks?kind=kind-39",
    "kind_none": "/v1/tasks?kind=none",
    "kind_none_completed": "/v1/tasks?kind=none&state=completed",
    "queue": "/v1/tasks?queue=queue-3",
    "queue_none": "/v1/tasks?queue=none",
    "tag": "/v1/tasks?tag=tag-3",
    "tag_none": "/v1/tasks?tag=none",
    "correlation": "/v1/tasks?correlation_id={correlation}",
    "correlation_none": "/v1/tasks?correlation_id=none",
    "run_none": f"/v1/tasks?run_id={NOBODY}",
    "job_none": f"/v1/tasks?job_id={NOBODY}",
    "parent_none": f"/v1/tasks?parent_id={NOBODY}",
    "created": "/v1/tasks?created_after={middle}&created_before={later}&kind=kind-3",
    "dead": "/v1/dead",
    "dead_error": "/v1/dead?error_type=Error1&kind=kind-3",
    "dead_none": "/v1/dead?error_type=none",
    "counts": "/v1/tasks/counts",
    "queues": "/v1/queues",
    "queue_one": "/v1/queues/queue-0",
    "nodes": "/v1/nodes",
    "locks": "/v1/locks",
    "overview": "/v1/overview",
    "overview_month": "/v1/overview?from={middle}&to={later}&points=500",
    "search_word": "/v1/search?q=kind",
    "search_id": "/v1/search?q={run}",
    "runs": "/v1/runs",
    "runs_500": "/v1/runs?limit=500",
    "runs_deep": "/v1/runs?created_before={middle}",
    "runs_active": "/v1/runs?state=running&state=waiting",
    "runs_failed": "/v1/runs?state=failed",
    "runs_ended": "/v1/runs?state=failed&state=cancelled&state=completed&limit=500",
    "runs_blocked": "/v1/runs?state=blocked",
    "runs_dag": "/v1/runs?kind=dag",
    "runs_flow": "/v1/runs?kind=flow",
    "runs_named": "/v1/runs?name=dag-3",
    "runs_named_rare": "/v1/runs?name=flow-57",
    "runs_named_failed": "/v1/runs?name=dag-3&state=failed&kind=dag",
    "runs_named_none": "/v1/runs?name=none",
    "runs_prefix": "/v1/runs?name_prefix=dag",
    "runs_prefix_none": "/v1/runs?name_prefix=none",
    "runs_tag": "/v1/runs?tag=tag-3",
    "runs_tag_none": "/v1/runs?tag=none",
    "runs_tag_none_failed": "/v1/runs?tag=none&state=failed",
    "runs_since": "/v1/runs?created_after={middle}&created_before={later}&kind=workflow&state=failed",
    "runs_kind_none": "/v1/runs?kind=flow&state=blocked&tag=tag-3",
    "dag_runs": "/v1/dags/large-2000/runs",
    "run": "/v1/runs/{run}",
    "run_2000": "/v1/runs/{large_2000}",
    "run_2000_steps": "/v1/runs/{large_2000}/steps?limit=500",
    "run_2000_graph": "/v1/runs/{large_2000}/graph",
    "run_2000_explain": "/v1/runs/{large_2000}/explain",
    "run_2000_events": "/v1/runs/{large_2000}/events",
    "run_10000_steps": "/v1/runs/{large_10000}/steps?limit=500",
    "run_10000_graph": "/v1/runs/{large_10000}/graph",
    "run_10000_explain": "/v1/runs/{large_10000}/explain",
}
WATCHED = {"runs": {}, "run": {"id": "{large_10000}"}, "dead": {}, "counts": {}, "jobs": {}, "overview": {}, "queues": {}}
"""What pages watch: how long one look takes."""
SMALL = ("all", "kind_none", "failed", "counts", "queues", "dead", "runs", "runs_failed", "runs_tag_none", "overview")
"""Asked by an org with little among many, too."""

TITLE = "Pages: milliseconds of a request in process, 50 orgs, one of them with 60 % of everything"
ORGS = "select id from weft.orgs where slug like 'bench-%' order by id"


def _lines() -> tuple[Line, ...]:
    asked = [(name, path) for name, path in PATHS.items()]
    asked += [(f"small_{name}", f"{PATHS[name]}, by a small org") for name in SMALL]
    asked += [(f"look_{name}", f"a look at the live subject {name}") for name in WATCHED]
    label = "{queued} queued, {finished} finished, {runs} runs: the slowest call of all"
    lines = [Line(label, "slowest_ms", digits=1, below=TARGET_MS)]
    for name, path in asked:
        shown = path.replace("{", "{{").replace("}", "}}")
        lines.append(Line(f"GET {shown}: p50", f"{name}_p50_ms", digits=1))
        lines.append(Line("  max", f"{name}_max_ms", digits=1, below=TARGET_MS, every=True))
    return tuple(lines)


LINES = _lines()


def measure(contender: Contender, *, url: str, rounds: int, queued: int, finished: int, runs: int) -> list[Measurement]:
    """Fill the database, then ask for every page a few times in each round."""
    contender.run("setup", url=url)
    with psycopg.connect(url) as connection:
        orgs = [row[0] for row in connection.execute(ORGS)]
    archive.fill(url, orgs, queued=queued, finished=finished)
    archive_runs.fill(url, orgs, runs=runs)
    return [_round(contender, url=url) for _ in range(rounds)]


def _round(contender: Contender, *, url: str) -> Measurement:
    command = [sys.executable, "-m", "bench.weft_pages", str(CALLS)]
    environment = contender.environment(url)
    printed = json.loads(processes.finished(command, label="pages", environment=environment, timeout=TIMEOUT))
    values: dict[str, float] = {}
    for name, taken in printed["times"].items():
        values |= {f"{name}_p50_ms": percentile(taken, 0.5), f"{name}_max_ms": max(taken)}
        values[f"{name}_items"] = printed["items"][name]
    values["slowest_ms"] = max(max(taken) for taken in printed["times"].values())
    return Measurement(values)
