"""The command line that every Python program of a contender answers to (see bench/system.py).

It imports nothing but the standard library: it runs inside the contenders' own environments.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable

ENQUEUE_BATCH = 1000


def main(phases: dict[str, Callable[..., Awaitable[None]]], *, runner: Callable[..., None] = asyncio.run) -> None:
    """Run the phase that the command line names, with its numbers as arguments."""
    phase, *arguments = sys.argv[1:]
    runner(phases[phase](*map(int, arguments)))


def database_url() -> str:
    """Return the database under test."""
    return os.environ["DATABASE_URL"]


async def timed(work: Awaitable[None]) -> None:
    """Await the work and print how long it took."""
    start = time.perf_counter()
    await work
    print(json.dumps({"seconds": time.perf_counter() - start}))


async def paced(count: int, rate: int, send: Callable[[str], Awaitable[object]]) -> None:
    """Call `send` with the monotonic clock, `rate` times a second on a fixed schedule."""
    start = time.monotonic()
    for number in range(count):
        await asyncio.sleep(max(0.0, start + number / rate - time.monotonic()))
        await send(str(time.monotonic_ns()))


def stamp(sent: str) -> None:
    """Record how long ago the task was sent: one line of nanoseconds in the file the harness reads."""
    record(str(time.monotonic_ns() - int(sent)))


def record(line: str) -> None:
    """Add a line to the file the harness reads."""
    with open(os.environ["BENCH_STAMPS"], "a") as stamps:
        stamps.write(f"{line}\n")
