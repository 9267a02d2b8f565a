"""Reads column lists out of the seeds. `python tests/views/seed_text.py` writes seed_columns.json anew."""

import json
import re
from pathlib import Path

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
STORED = Path(__file__).with_name("seed_columns.json")

# view → seed, how it writes its entities, the entity's name there
SOURCES = {
    "forge.forge_nodes": ("003", "table", "forge_nodes"),
    "forge.forge_leaders": ("003", "table", "forge_leaders"),
    "forge.forge_jobs": ("003", "table", "forge_jobs"),
    "forge.forge_cron_runs": ("003", "table", "forge_cron_runs"),
    "forge.forge_workflow_runs": ("003", "table", "forge_workflow_runs"),
    "forge.forge_workflow_steps": ("003", "table", "forge_workflow_steps"),
    "forge.forge_migrations": ("003", "table", "forge_migrations"),
    "forge.forge_sessions": ("003", "table", "forge_sessions"),
    "forge.forge_subscriptions": ("003", "table", "forge_subscriptions"),
    "afl.tasks": ("000", "dataclass", "TaskDefinition"),
    "afl.servers": ("000", "dataclass", "ServerDefinition"),
    "afl.locks": ("000", "dataclass", "LockDefinition"),
    "afl.flows": ("000", "dataclass", "FlowDefinition"),
    "afl.workflows": ("000", "dataclass", "WorkflowDefinition"),
    "afl.runners": ("000", "dataclass", "RunnerDefinition"),
    "afl.steps": ("000", "dataclass", "StepDefinition"),
    "afl.events": ("000", "dataclass", "EventDefinition"),
    "afl.logs": ("000", "dataclass", "LogDefinition"),
    "orchestration.orgs": ("004", "table", "orgs"),
    "orchestration.users": ("004", "table", "users"),
    "orchestration.org_roles": ("004", "table", "org_roles"),
    "orchestration.org_role_memberships": ("004", "table", "org_role_memberships"),
    "orchestration.tasks": ("004", "table", "tasks"),
    "scheduler.tenants": ("002", "diagram", "TENANT"),
    "scheduler.workers": ("002", "diagram", "WORKER"),
    "aiopslab.tasks": ("001", "list", "Task"),
    "aiopslab.workers": ("001", "list", "Worker"),
    "aiopslab.task_logs": ("001", "list", "TaskLog"),
    "scheduler.jobs": ("002", "table", "jobs"),
    "scheduler.executions": ("002", "table", "executions"),
    "scheduler.dags": ("002", "table", "dags"),
    "scheduler.dag_tasks": ("002", "table", "dag_tasks"),
    "scheduler.task_dependencies": ("002", "table", "task_dependencies"),
    "scheduler.dag_runs": ("002", "table", "dag_runs"),
    "scheduler.task_instances": ("002", "table", "task_instances"),
}

_BODY = {
    "table": r"^CREATE TABLE {name} \((.*?)^\);",
    "dataclass": r"^class {name}:\n(.*?)^(?:```|@dataclass|class )",
    "diagram": r"^    {name} \{{(.*?)^    \}}",
    "list": r"^### {name}\n(.*?)^\*\*Constraints",
}
_FIELD = {
    # a column, not a constraint (upper case) and not a comment
    "table": re.compile(r"^    (?P<name>[a-z_]+) +(?P<type>[A-Z]+(?:\[\])?)", re.MULTILINE),
    "dataclass": re.compile(r"^    (?P<name>[a-z_]+): (?P<type>[A-Za-z]+(?:\[\w+\])?)", re.MULTILINE),
    "diagram": re.compile(r"^        (?P<type>[a-z]+) (?P<name>[a-z_]+)", re.MULTILINE),
    # what is indented is inside a field
    "list": re.compile(r"^- `(?P<name>[a-z_]+)` \((?P<type>\w+)\)", re.MULTILINE),
}


def columns() -> dict[str, list[list[str]]]:
    """View → its documented columns in order, each with the type as the seed writes it."""
    found = {}
    for view, (seed, style, name) in SOURCES.items():
        [path] = SEEDS.glob(f"{seed}_*.txt")
        body = re.search(_BODY[style].format(name=name), path.read_text(), re.MULTILINE | re.DOTALL)
        if body is None:
            raise LookupError(f"{path.name} has no {style} {name}")
        found[view] = [[field["name"], field["type"]] for field in _FIELD[style].finditer(body[1])]
    return found


if __name__ == "__main__":
    lines = ",\n".join(f"  {json.dumps(view)}: {json.dumps(fields)}" for view, fields in columns().items())
    STORED.write_text(f"{{\n{lines}\n}}\n")
