"""Every operation there is: the route files, in the order the documentation shows them."""

from weft.api import (
    audit,
    cron,
    dag_runs,
    dags,
    dead,
    executions,
    health,
    job_backfills,
    jobs,
    keys,
    locks,
    metrics,
    nodes,
    openapi,
    orgs,
    queues,
    roles,
    runs,
    secrets,
    task_output,
    task_pages,
    tasks,
    users,
    work_secrets,
    worker_protocol,
)
from weft.api.operation import Operation

FILES = (
    tasks,
    task_pages,
    task_output,
    jobs,
    executions,
    job_backfills,
    cron,
    queues,
    dead,
    dags,
    dag_runs,
    runs,
    nodes,
    locks,
    worker_protocol,
    work_secrets,
    keys,
    orgs,
    users,
    roles,
    secrets,
    audit,
    openapi,
    health,
    metrics,
)


def operations() -> list[Operation]:
    return [operation for file in FILES for operation in file.OPERATIONS]
