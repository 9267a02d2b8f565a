"""Waiting in tests: for something to become true, or for a task to end. Always with a deadline, never for a fixed time."""

import asyncio
import contextlib
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from weft import App, Enqueued, TaskFailed, TaskView
from weft.base import ids

LONG = 30.0
"""Seconds after which a test gives up. No claim about speed: machines are slow at times."""

NOW = {"backoff": "fixed", "base": 0}
"""A retry policy without a pause."""


async def until(question: Callable[[], Awaitable[Any] | Any], *, within: float = LONG) -> Any:
    """The first answer that is true."""
    deadline = time.monotonic() + within
    while True:
        answer = question()
        if isinstance(answer, Awaitable):
            answer = await answer
        if answer:
            return answer
        assert time.monotonic() < deadline, f"not so within {within} s"
        await asyncio.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether the process is there and no zombie. One that goes away between open and read is gone too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def ended(app: App, task: Enqueued | uuid.UUID, *, org: uuid.UUID = ids.DEFAULT_ORG) -> TaskView:
    """The task once it has ended, however."""
    id = task.id if isinstance(task, Enqueued) else task
    with contextlib.suppress(TaskFailed):
        await app.result(id, timeout=LONG, org=org)
    return await app.get(id, org=org)


async def in_state(app: App, task: Enqueued, *states: str) -> TaskView:
    """The task once it is in one of these states."""

    async def look() -> TaskView | None:
        view = await app.get(task.id)
        return view if view.state in states else None

    view: TaskView = await until(look)
    return view
