"""The tasks that `weft worker-protocol check --worker` asks a worker to run, in Python.

    weft worker weft.cli.conformance_app:app --http $WEFT_SERVER -q $WEFT_QUEUES

A worker in another language offers the same three kinds.
"""

import asyncio
from typing import Any

from weft.app import App
from weft.sdk.context import Context

app = App()


@app.task(name="conformance.echo")
async def echo(value: Any = None) -> dict[str, Any]:
    """Answers its payload."""
    return {"value": value}


@app.task(name="conformance.fail")
async def fail(message: str) -> None:
    """Fails with this message."""
    raise RuntimeError(message)


@app.task(name="conformance.sleep")
async def sleep(ctx: Context, seconds: float) -> str:
    """Takes so long, and stops when it is told to."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while (left := end - loop.time()) > 0:
        ctx.heartbeat()
        await asyncio.sleep(min(left, 0.2))
    return "slept"
