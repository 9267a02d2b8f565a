"""Every operation there is: the route files, in the order the documentation shows them."""

from weft.api import (
    audit,
    dag_runs,
    dags,
    dead,
    health,
    keys,
    locks,
    metrics,
    nodes,
    openapi,
    orgs,
    queues,
    roles,
    run_steering,
    runs,
    secrets,
    task_output,
    task_pages,
    tasks,
    users,
    work_secrets,
    worker_protocol,
    workflows,
)
from weft.api.operation import Operation

FILES = (
    tasks,
    task_pages,
    task_output,
    queues,
    dead,
    dags,
    dag_runs,
    runs,
    workflows,
    run_steering,
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
