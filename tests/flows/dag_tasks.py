"""Small tasks for DAGs, and how the nodes of a run stand."""

import uuid
from typing import Any

from weft import App


def declare(app: App) -> None:
    @app.task
    async def add(a: int, b: int) -> int:
        return a + b

    @app.task(max_attempts=1)
    async def fail(message: str = "no") -> None:
        raise ValueError(message)

    @app.task
    async def numbers(n: int) -> list[int]:
        return list(range(n))

    @app.task
    async def total(values: list[int]) -> int:
        return sum(values)


def task(name: str, kind: str, args: dict[str, Any] | None = None, **words: Any) -> dict[str, Any]:
    return {"name": name, "payload": {"task": kind, "args": args or {}}, "max_retries": 0, **words}


async def states(app: App, run: uuid.UUID) -> dict[str, str]:
    return {one.node: one.state for one in await app.runs.steps(run)}
