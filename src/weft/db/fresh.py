"""The schema as it is today: every folder's files, in the order they need each other.

Databases are made by migrations only; a test shows that both ways give the same schema.
"""

import importlib.resources
import re

FILES = (
    "db/schema.sql",
    "journal/schema.sql",
    "journal/outbox.sql",
    "access/schema.sql",
    "access/people.sql",
    "access/secrets.sql",
    "access/webhook_keys.sql",
    "access/buckets.sql",
    "access/hosts.sql",
    "access/logins.sql",
    "cluster/schema.sql",
    "queue/schema.sql",
    "queue/partitions.sql",
    "queue/functions.sql",
    "queue/functions_many.sql",
    "queue/tokens.sql",
    "queue/org_limits.sql",
    "queue/inbox.sql",
    "queue/minutes.sql",
    "queue/depths.sql",
    "flows/schema.sql",
    "flows/functions.sql",
    "jobs/schema.sql",
    "jobs/functions.sql",
    "flows/workflows.sql",
    "flows/programs.sql",
    "flows/run_logs.sql",
    "flows/awaiting.sql",
    "live/schema.sql",
    "live/functions.sql",
    "live/ours.sql",
    "views/forge.sql",
    "views/forge_workflows.sql",
    "views/afl.sql",
    "views/afl_runs.sql",
    "views/orchestration.sql",
    "views/scheduler.sql",
    "views/scheduler_dags.sql",
    "contrib/aiopslab/schema.sql",
    "contrib/aiopslab/views.sql",
)

_INDEX = re.compile(r"^create (?:unique )?index (?P<name>\w+) on .*?;$", re.MULTILINE | re.DOTALL)


def sql() -> str:
    """Everything, as one script."""
    root = importlib.resources.files("weft")
    return "\n".join((root / name).read_text() for name in FILES)


def indexes() -> dict[str, str]:
    """Name → the statement that makes it. Not the primary keys, which nobody can drop by mistake for an unused index."""
    return {found["name"]: " ".join(found[0].rstrip(";").split()) for found in _INDEX.finditer(sql())}
