"""The app behind the demo pages and the browser's tests: work that ends, fails, waits, and holds until it is told."""

import asyncio
import logging
from typing import Any

from weft import Agent, Context

app = Agent()
log = logging.getLogger("stage")


@app.task(max_attempts=1)
async def work(name: str = "work", seconds: float = 0.0, fail: str = "") -> dict[str, str]:
    """Takes its time, says so, and fails if it is told to."""
    log.info("begin %s", name)
    await asyncio.sleep(seconds)
    if fail:
        raise ConnectionError(fail)
    log.info("end %s", name)
    return {"name": name}


@app.task(max_attempts=1)
async def echo(value: Any = None) -> Any:
    return value


@app.task(max_attempts=1)
async def greet(name: str = "you") -> dict[str, str]:
    log.info("greeting %s", name)
    return {"hello": name}


@app.task(max_attempts=1)
async def breaks(message: str = "it never works", kind: str = "ValueError") -> None:
    raise type(kind, (ValueError,), {})(message)


@app.task(max_attempts=1)
async def halfway(ctx: Context, message: str) -> None:
    """Says how far it is, and stays there."""
    ctx.progress(50, message)
    await asyncio.sleep(600)


@app.task(max_attempts=1)
async def endless() -> None:
    for number in range(10_000_000):
        log.info("line %d", number)
        await asyncio.sleep(0.2)


@app.task(max_attempts=3)
async def careful(ctx: Context) -> str:
    """Is in no hurry the first time, so that its worker can be killed meanwhile."""
    await asyncio.sleep(600 if ctx.attempt == 1 else 0.5)
    return f"attempt {ctx.attempt}"


@app.step
async def refund(order: str, result: str) -> None:
    log.info("refund %s of %s", result, order)


@app.step(compensate=refund)
async def charge(order: str, cents: int) -> str:
    return f"payment of {cents} for {order}"


@app.step(retries=0)
async def ship(order: str, item: str) -> str:
    if item == "nothing":
        raise ValueError("there is nothing to ship")
    return f"{item} shipped"


@app.workflow(version="1", signals=["approval"])
async def checkout(order: str, cents: int, items: list[str]) -> list[str]:
    """An order is paid, approved and shipped."""
    await charge(order, cents)
    app.set_state("waiting for approval")
    if not await app.wait_for("approval", timeout="2d", default=False):
        raise ValueError("not approved")
    return [await ship(order, item) for item in items]


@app.workflow(version="1")
async def brittle(item: str) -> str:
    """Fails where there is nothing to undo, so that its step can be skipped."""
    return await ship("o-1", item)


@app.handles("brittle.Shaky")
async def shaky(name: str) -> dict[str, str]:
    if name == "bad":
        raise ValueError("it broke")
    return {"greeting": f"Hello, {name}!"}
