"""Every operation there is: the route files, in the order the documentation shows them, and where their paths begin.

A server loads all of them. A command asks an application in its own process for one thing, and loads the files of that area
only: it would wait longer for the others than for its answer.
"""

import importlib
from collections.abc import Iterable

from weft.api.operation import Operation

FILES: dict[str, tuple[str, ...]] = {
    "tasks": ("/v1/tasks",),
    "task_pages": ("/v1/tasks",),
    "task_output": ("/v1/tasks",),
    "jobs": ("/v1/jobs",),
    "executions": ("/v1/executions", "/v1/jobs"),
    "job_backfills": ("/v1/backfills", "/v1/jobs"),
    "job_views": ("/v1/jobs",),
    "cron": ("/v1/cron",),
    "queues": ("/v1/queues",),
    "dead": ("/v1/dead",),
    "graphs": ("/v1/dags", "/v1/runs"),
    "dags": ("/v1/dags",),
    "dag_runs": ("/v1/dag-runs",),
    "runs": ("/v1/runs",),
    "workflows": ("/v1/workflows",),
    "run_steering": ("/v1/runs",),
    "run_repair": ("/v1/runs",),
    "run_views": ("/v1/runs",),
    "overview": ("/v1/overview",),
    "search": ("/v1/search",),
    "flows": ("/v1/flows",),
    "runners": ("/v1/runners",),
    "nodes": ("/v1/nodes",),
    "locks": ("/v1/locks",),
    "worker_protocol": ("/internal/task-fetch", "/v1/task"),
    "work_secrets": ("/v1/task",),
    "live_events": ("/v1/live",),
    "login": ("/v1/login", "/v1/logout", "/v1/sessions"),
    "login_oidc": ("/v1/login",),
    "keys": ("/v1/keys",),
    "orgs": ("/v1/orgs",),
    "users": ("/v1/me", "/v1/users"),
    "roles": ("/v1/roles",),
    "secrets": ("/v1/secrets",),
    "audit": ("/v1/audit",),
    "openapi": ("/v1/openapi.json",),
    "demo": ("/v1/demo",),
    "health": ("/health", "/ready"),
    "metrics": ("/metrics",),
}
"""The areas of each: what the paths of its operations begin with."""

TELLS_OF_ALL = "openapi"


def operations(files: Iterable[str] = FILES) -> list[Operation]:
    return [operation for file in files for operation in importlib.import_module(f"weft.api.{file}").OPERATIONS]


def area(path: str) -> str:
    """The first two words of a path, which say what it is about."""
    return "/".join(path.split("/")[:3])


def near(path: str) -> list[str]:
    """The files that may have an operation at a path; all of them for the one that lists all operations."""
    found = [file for file, areas in FILES.items() if area(path) in areas]
    return list(FILES) if TELLS_OF_ALL in found else found
