"""The app of HTTP workers that are killed: its tasks keep a diary in a file, whatever becomes of the server."""

import asyncio
import os
from pathlib import Path

from weft import App, Context

app = App(database_url="postgresql://nowhere.invalid/none")
DIARY = Path(os.environ.get("HTTP_DIARY", "/dev/null"))


def note(what: str, id: str) -> None:
    file = os.open(DIARY, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(file, f"{what} {id} {os.getpid()}\n".encode())
    os.close(file)


@app.task
async def hold(ctx: Context) -> int:
    """Runs until the gate is open."""
    note("start", ctx.task_id)
    while not DIARY.with_name("gate").exists():
        ctx.heartbeat()
        await asyncio.sleep(0.02)
    return os.getpid()


@app.task
async def quick(ctx: Context) -> None:
    await asyncio.sleep(0.01)
    note("end", ctx.task_id)
