"""What the pages of tests/ui show: work that ends, fails, goes on until it is told to stop, and talks."""

import asyncio
import logging

from weft import App

app = App()
log = logging.getLogger("stand")


@app.task(max_attempts=1)
async def greet(name: str = "you") -> dict[str, str]:
    log.info("greeting %s", name)
    return {"hello": name}


@app.task(max_attempts=1)
async def breaks(message: str = "it never works") -> None:
    raise ValueError(message)


@app.task(max_attempts=1)
async def endless() -> None:
    for number in range(10_000_000):
        log.info("line %d", number)
        await asyncio.sleep(0.2)
