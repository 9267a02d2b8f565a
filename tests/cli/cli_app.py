"""The app of the CLI's tests: `weft worker cli_app:app`."""

import asyncio
import os
import time

from weft import App, Context

app = App()


@app.task
async def double(n: int) -> int:
    return 2 * n


@app.task
async def wait(ctx: Context, seconds: float) -> str:
    print(f"waiting, attempt {ctx.attempt}", flush=True)
    await asyncio.sleep(seconds)
    return "waited"


@app.task
def block(seconds: float) -> str:
    """A thread that listens to nobody."""
    print("blocking", flush=True)
    time.sleep(seconds)
    return "blocked"


@app.task
async def crash() -> None:
    os._exit(3)


@app.task
async def whose() -> int:
    return os.getpid()


@app.task(isolate="process")
def apart() -> int:
    return os.getpid()


@app.task(max_attempts=1)
async def fail() -> None:
    raise ValueError("it never works")


@app.step
async def charged(cents: int) -> str:
    return f"p-{cents}"


@app.workflow(signals=["approval"])
async def checkout(cents: int) -> list[object]:
    payment = await charged(cents)
    return [payment, await app.wait_for("approval")]
