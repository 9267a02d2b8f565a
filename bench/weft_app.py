"""The Weft application that the benchmark's workers run: `weft worker bench.weft_app:app`."""

import asyncio
import os
import time

from bench import occupancy
from bench.peers import protocol
from weft import App

app = App(database_url=os.environ["DATABASE_URL"])


@app.task(name="noop")
async def noop(n: int) -> None:
    """Do nothing."""


@app.task(name="stamp")
async def stamp(sent: str) -> None:
    """Record how long ago this task was sent."""
    protocol.stamp(sent)


@app.task(name="wait")
async def wait(sent: str) -> None:
    """Record when this task was sent and when it started."""
    protocol.record(f"started {sent} {time.monotonic_ns()}")


@app.task(name="pause")
async def pause(milliseconds: int) -> None:
    """Occupy a runner, not the processor."""
    await asyncio.sleep(milliseconds / 1000)


@app.task(name="occupy")
async def occupy(milliseconds: int) -> None:
    """Be counted while it lasts."""
    path = os.environ["BENCH_OCCUPANCY"]
    occupancy.enter(path)
    try:
        await asyncio.sleep(milliseconds / 1000)
    finally:
        occupancy.leave(path)
