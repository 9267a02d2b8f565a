"""An app whose handlers run in child processes; the worker's test names it as `isolated:app`."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from weft import App, Context, Discard, RetryLater, Snooze

app = App(database_url=os.environ.get("ISOLATED_URL", "postgresql://nowhere/none"))
log = logging.getLogger("isolated")

NOW = {"backoff": "fixed", "base": 0}


@app.task(isolate="process")
def pid() -> list[int]:
    return [os.getpid(), os.getppid()]


@app.task(isolate="process")
async def chatty(ctx: Context) -> dict[str, object]:
    print('{"result": "forged"}')
    os.write(1, b'{"result": "forged below Python"}\n')
    await asyncio.to_thread(subprocess.run, ["echo", '{"result": "forged by a child"}'], check=True)
    assert sys.stdin.read() == ""
    log.warning("std logging")
    ctx.log("with fields", level="error", size=3)
    await asyncio.sleep(0)
    return {"org": ctx.org, "attempt": ctx.attempt, "task": ctx.task_id}


@app.task(isolate="process", max_attempts=2, retry=NOW)
def dies(how: str) -> None:
    if how == "exit":
        os._exit(3)
    if how == "sys.exit":
        sys.exit(4)
    os.kill(os.getpid(), signal.SIGSEGV)


@app.task(isolate="process", max_attempts=2, retry=NOW, retry_on=OSError)
def raises(how: str, ctx: Context) -> None:
    if how == "snooze" and ctx.attempt > 1:
        return
    raise {
        "os": ConnectionError("gone \ud800 \0"), "value": ValueError("bad"), "discard": Discard("obsolete"),
        "snooze": Snooze(0), "later": RetryLater(0, "busy"),
    }[how]  # fmt: skip


@app.task(isolate="process")
def large(size: int) -> str:
    return "x" * size


@app.task(isolate="process", max_attempts=1)
def hang(note: str, ctx: Context) -> None:
    """Writes its pid and that of a grandchild, then hangs in both."""
    grandchild = subprocess.Popen(["sleep", "1000"])
    Path(note).write_text(f"{os.getpid()} {grandchild.pid}")
    ctx.progress(50, "hanging")
    time.sleep(1000)


@app.task(isolate="process", max_attempts=1)
def beats(ctx: Context, speaks: bool) -> str:
    """Takes longer than its heartbeat_timeout, with or without signs of life."""
    began = time.monotonic()
    while time.monotonic() - began < 3:
        if speaks:
            ctx.heartbeat()
        time.sleep(0.05)
    return "done"


@app.task(isolate="process")
def tells(ctx: Context, token: str, how: str = "return") -> dict[str, object]:
    """Says what it was given, in every way there is but print."""
    log.warning("given %s", token)
    ctx.log(f"given {token}", header=token)
    ctx.progress(10, token)
    if how == "raise":
        raise ValueError(token)
    return {"token": token, "length": len(token), "arguments": sys.argv}
