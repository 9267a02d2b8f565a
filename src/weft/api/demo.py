"""`/v1/demo`: only in the demo of `weft dev`: kill a worker, and see that nothing is lost."""

import uuid
from typing import Protocol

import msgspec

from weft.api.operation import Call, Operation
from weft.base import errors
from weft.cluster import nodes
from weft.journal import record

_NODES = 200


class Stage(Protocol):
    """What `weft dev` gives the server: its workers, to be harmed."""

    def crash(self) -> int | None:
        """Kills a worker at once, which is then started anew; its process id, or None if none runs now."""


class Demo(msgspec.Struct):
    """What the demo can show."""

    crash: bool


class Crashed(msgspec.Struct, kw_only=True):
    """Whom it hit."""

    pid: int
    node_id: uuid.UUID | None
    message: str


async def shown(call: Call[None, None]) -> Demo:
    return Demo(crash=call.service.demo is not None)


async def crash(call: Call[None, None]) -> Crashed:
    stage: Stage | None = call.service.demo
    if stage is None:
        raise errors.NotFound("workers are only crashed in the demo: weft dev")
    org = call.principal.org
    async with call.tx() as tx:
        known = {one.pid: one.id for one in await nodes.seen(tx, org=org, statuses=("active",), take=_NODES)}
        pid = stage.crash()
        if pid is None:
            raise errors.Conflict("no worker of the demo runs now; one is being started, try again")
        await record.record(
            tx, org_id=org, actor=call.principal.actor, action="demo.crash", object_type="process", object_id=str(pid)
        )
    return Crashed(
        pid=pid, node_id=known.get(pid),
        message=f"process {pid} was killed; what it ran is taken over within seconds, and another one is started",
    )  # fmt: skip


OPERATIONS = (
    Operation(
        "GET", "/v1/demo", action="node.read", handler=shown, summary="Whether this is the demo", answer=Demo,
        answer_example={"crash": True},
    ),
    Operation(
        "POST", "/v1/demo/crash", action="demo.crash", handler=crash, summary="Crash a worker of the demo",
        description="SIGKILL to a real worker process of `weft dev`; refused everywhere else.", answer=Crashed,
        errors=("NOT_FOUND", "CONFLICT"),
        answer_example={"pid": 4711, "node_id": None, "message": "process 4711 was killed"},
    ),
)  # fmt: skip
