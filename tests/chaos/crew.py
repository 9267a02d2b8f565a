"""The app that chaos tests run in processes of their own: `python crew.py URL DIARY [--lease S] [--queues a,b] [--no-lead]`.

Its tasks keep a diary: one line per event in a file, written at once, whatever becomes of the database.
"""

import argparse
import asyncio
import contextlib
import ctypes
import datetime as dt
import logging
import os
import signal
import sys
import time
from pathlib import Path

from weft import App, Context
from weft.sdk.prompting import Prompt

app = App(database_url=os.environ.get("CREW_URL", "postgresql://nowhere/none"))
DIARY = Path(os.environ.get("CREW_DIARY", "/dev/null"))

NOW = {"backoff": "fixed", "base": 0}


def note(event: str, task_id: str, attempt: int = 0) -> None:
    line = f"{event} {task_id} {os.getpid()} {time.time()} {attempt}\n"
    file = os.open(DIARY, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(file, line.encode())
    os.close(file)


def gate(name: object) -> Path:
    """A file that opens a gate for a process (or for all) once it is there."""
    return DIARY.with_name(f"gate-{name}")


@app.task(retry=NOW)
async def hold(ctx: Context) -> int:
    """Runs until its process is let go."""
    note("start", ctx.task_id)
    while not (gate(os.getpid()).exists() or gate("all").exists()):
        await asyncio.sleep(0.02)
    note("end", ctx.task_id)
    return os.getpid()


@app.task(retry=NOW)
async def quick(ctx: Context) -> int:
    await asyncio.sleep(0.01)
    note("end", ctx.task_id)
    return os.getpid()


@app.task(retry=NOW, max_attempts=10)
async def checked(
    ctx: Context, k: str, fail: int = 0, seconds: float = 0.0, first: float = 0.0, padding: str = ""
) -> dict[str, int]:
    """For the checker: whatever it writes says which attempt wrote it. Fails as often as it is told to; the first attempt
    takes so long, to be killed in."""
    note("start", ctx.task_id, ctx.attempt)
    if first and ctx.attempt == 1:
        await asyncio.sleep(first)
    if seconds:
        ctx.log(f"attempt {ctx.attempt}")
        ctx.progress(50, f"attempt {ctx.attempt}")
        await asyncio.sleep(seconds)
    if ctx.attempt <= fail:
        raise RuntimeError(f"attempt {ctx.attempt}")
    note("end", ctx.task_id, ctx.attempt)
    return {"attempt": ctx.attempt, "pid": os.getpid()}


@app.provider
async def answer(prompt: Prompt) -> str:
    """The model of AFL's prompts."""
    return prompt.text.upper()


@app.task(retry=NOW)
async def kill_worker(ctx: Context) -> None:
    note("start", ctx.task_id)
    await asyncio.sleep(0.05)
    os._exit(9)


def die_with_parent() -> None:
    """Nobody is left to end us if the test is killed, not even while we are stopped."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, Linux only


async def main() -> None:
    die_with_parent()
    parser = argparse.ArgumentParser()
    parser.add_argument("--lease", type=float, default=10)
    parser.add_argument("--queues", default="")
    parser.add_argument("--no-lead", action="store_true")
    parser.add_argument("--concurrency", type=int, default=10)
    told = parser.parse_args()
    roles = ("worker",) if told.no_lead else ("worker", "scheduler")
    queues = [queue for queue in told.queues.split(",") if queue]
    async with app.worker(
        lease=dt.timedelta(seconds=told.lease), queues=queues, roles=roles, concurrency=told.concurrency
    ):
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    logging.basicConfig(level="INFO", stream=sys.stderr, format="%(asctime)s %(process)d %(name)s %(message)s")
    asyncio.run(main())
