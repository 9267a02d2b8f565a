"""`/health`, `/metrics`, `/openapi.json`, and the key callbacks are signed with."""

import asyncio
from typing import Any

from weft.access import keyring, webhook_keys
from weft.api import metrics as exposition
from weft.api import openapi
from weft.api.operation import Answer, Call, Operation
from weft.base import errors
from weft.base.version import VERSION
from weft.contrib.aiopslab import tasks, workers
from weft.contrib.aiopslab.model import CallbackKey, Health
from weft.db.tx import Tx
from weft.journal import record
from weft.net import webhooks

_PATIENCE = 2.0
_TYPE = "text/plain; version=0.0.4; charset=utf-8"


async def health(call: Call[None, None]) -> Answer:
    try:
        async with asyncio.timeout(_PATIENCE), call.engine_tx() as tx:
            await workers.counts(tx, org=call.principal.org)
    except (TimeoutError, errors.DatabaseError) as error:
        why = "it does not answer" if isinstance(error, TimeoutError) else str(error)
        return Answer(body=Health(status="unhealthy", version=VERSION, details={"database": why}), status=503)
    return Answer(body=Health(status="healthy", version=VERSION))


async def metrics(call: Call[None, None]) -> Answer:
    org = call.principal.org
    async with call.tx() as tx:
        found, fleet = await tasks.statistics(tx, org=org), await workers.counts(tx, org=org)
    counted = {name: getattr(found, name) for name in ("pending", "running", "completed", "failed", "timeout")}
    told = exposition.family(
        "aiopslab_tasks", "gauge", "Tasks made in the last 24 hours, by status.",
        [("aiopslab_tasks", {"status": name}, float(count)) for name, count in counted.items()],
    )  # fmt: skip
    here = exposition.family(
        "aiopslab_workers", "gauge", "Workers by status.",
        [("aiopslab_workers", {"status": name}, float(fleet.get(name, 0))) for name in ("idle", "busy", "offline")],
    )  # fmt: skip
    lines = [*told, *here, *exposition.traffic_of(call.service.traffic.seen_by(org))]
    return Answer(body=("\n".join(lines) + "\n").encode(), headers={"content-type": _TYPE})


async def document(call: Call[None, None]) -> dict[str, Any]:
    service = call.service
    assert call.operation is not None  # the frame says which
    return openapi.document(service.beside(call.operation), service.spoken(call.operation.path))


async def callback_key(call: Call[None, None]) -> CallbackKey:
    # no tenant may read what signs; this one's own org only
    async with call.engine_tx() as tx:
        return await _key(call, tx)


async def new_callback_key(call: Call[None, None]) -> CallbackKey:
    async with call.engine_tx() as tx:
        await webhook_keys.forget(tx, org=call.principal.org)
        await record.record(
            tx, org_id=call.principal.org, actor=call.principal.actor, action="webhook_key.rotate",
            object_type="webhook_key", object_id=str(call.principal.org),
        )  # fmt: skip
        return await _key(call, tx)


async def _key(call: Call[None, None], tx: Tx) -> CallbackKey:
    found = await webhook_keys.get(tx, keyring.find(call.database.settings), org=call.principal.org)
    return CallbackKey(key=webhooks.write_key(found))


OPERATIONS = (
    Operation(
        "GET", "/health", action="public", handler=health, summary="Whether this server and its database are well",
        answer=Health, also={503: "Not now; `details` say why."},
    ),
    Operation(
        "GET", "/metrics", action="metrics.read", handler=metrics, summary="Metrics in Prometheus' text format",
        media_type=_TYPE, description="Tasks, workers, and requests by route template.",
    ),
    Operation(
        "GET", "/openapi.json", action="docs.read", handler=document, summary="This API as an OpenAPI 3.1 document",
        answer=dict[str, Any], etag=True,
    ),
    Operation(
        "GET", "/callbacks/key", action="key.write", handler=callback_key, answer=CallbackKey,
        summary="What callbacks are signed with",
        description="HMAC-SHA256 over `id.timestamp.body`, as in Standard Webhooks. It is made when it is first asked for.",
    ),
    Operation(
        "POST", "/callbacks/key", action="key.write", handler=new_callback_key, answer=CallbackKey,
        summary="Sign with a new key from now on",
    ),
)  # fmt: skip
