"""The kind `weft.start`: starts a run, once for a task however often that is tried, and waits for its end if asked to."""

import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from weft.base import errors, json
from weft.db.database import Database
from weft.db.tx import Tx
from weft.flows import awaiting, definitions, programs, start, workflows
from weft.flows.start import Started, Wish
from weft.jobs import executions
from weft.sdk.context import Context


class Opens(Protocol):
    """An App."""

    async def open(self) -> Database: ...


def starts(app: Opens) -> Callable[..., Awaitable[dict[str, Any]]]:
    """The handler."""

    async def handler(ctx: Context, what: str, name: str, params: dict[str, Any], wait: bool = False) -> dict[str, Any]:
        if what not in ("dag", "workflow", "flow"):
            raise errors.InvalidInput(f"{what!r} cannot be started; there are dag, workflow and flow")
        task = uuid.UUID(ctx.task_id)
        async with (await app.open()).tx() as tx:
            found = await awaiting.find(tx, task) if wait else None
            if found is None:
                made = await _start(tx, ctx, what, name=name, params=params)
                if not wait:
                    return {"run_id": str(made.id)}
                found = await awaiting.begin(tx, task, made.id)
        return awaiting.judge(found)

    return handler


async def _start(tx: Tx, ctx: Context, what: str, *, name: str, params: dict[str, Any]) -> Started:
    org, key = uuid.UUID(ctx.org), f"task:{ctx.task_id}"
    if what == "workflow":
        # its code is no definition: it is known by its workers
        return await workflows.start(tx, workflows.wish(name, json.text(params, what="params"), key=key, org=org))
    asker = await awaiting.asker(tx, uuid.UUID(ctx.task_id))
    wish = Wish(
        params=params, key=key, actor=f"task:{ctx.task_id}", parent_run=asker.run,
        trigger="run" if asker.run else await executions.origin(tx, uuid.UUID(ctx.task_id)) or "manual",
        parent_step=asker.step, logical_date=asker.time,
    )  # fmt: skip
    if what == "flow":
        return await programs.start_named(tx, name, None, wish, org=org)
    return await start.start(tx, await definitions.get(tx, name, org=org, kind=what), wish)  # type: ignore[arg-type]
