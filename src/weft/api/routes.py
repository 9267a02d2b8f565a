"""Every operation there is: the route files, in the order the documentation shows them."""

from weft.api import (
    audit,
    dead,
    health,
    keys,
    live_events,
    locks,
    login,
    metrics,
    nodes,
    openapi,
    orgs,
    queues,
    roles,
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
    queues,
    dead,
    nodes,
    locks,
    worker_protocol,
    work_secrets,
    live_events,
    login,
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
