"""The Weft application that the benchmark's workers run: `weft worker bench.weft_app:app`."""

import os

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
