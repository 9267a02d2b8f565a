"""The child process of `isolate="process"`: reads tasks from stdin, runs them, answers on stdout."""

import asyncio
import contextlib
import inspect
import os
import sys
import traceback
import types
from typing import Any, BinaryIO

from weft.base import json
from weft.sdk import context as contexts
from weft.sdk.context import Context
from weft.sdk.loading import load
from weft.sdk.task import Registry, Task


class Upward:
    """The sink of a child's context: everything goes to the parent."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def say(self, message: dict[str, Any]) -> None:
        self._out.write(json.dumps(message) + b"\n")
        self._out.flush()

    def log(self, context: Context, *, level: str, message: str, fields: dict[str, Any] | None) -> None:
        self.say({"log": message, "level": level, "fields": fields})

    def progress(self, context: Context, *, percent: int | None, message: str | None) -> None:
        self.say({"progress": percent, "message": message})


def main(target: str) -> None:
    """Serves until stdin ends. What a handler prints must not mix with the answers, so stdout becomes stderr."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    registry: Registry = load(target).registry
    upward = Upward(out)
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        task = registry.get(asked["kind"])
        assert task is not None
        context = Context(upward, types.SimpleNamespace(**asked["context"]))
        upward.say(_run(task, asked["payload"], context))


def _run(task: Task[Any, Any], payload: str, context: Context) -> dict[str, Any]:
    token = contexts.enter(context)
    try:
        arguments = task.arguments(payload)
        if task.context_name is not None:
            arguments[task.context_name] = context
        answer = task.function(**arguments)
        if inspect.isawaitable(answer):
            answer = asyncio.run(_awaited(answer))
        return {"result": None if answer is None else json.loads(json.text(answer, what="the result"))}
    except Exception as error:  # noqa: BLE001 - user code
        forbidden = isinstance(error, task.options.fail_on) or (
            bool(task.options.retry_on) and not isinstance(error, task.options.retry_on)
        )
        delay = getattr(error, "delay", None)
        return {
            "error": {
                "type": type(error).__name__,
                "message": str(error),
                "traceback": traceback.format_exc()[-8192:],
                "delay": delay.total_seconds() if delay is not None else None,
                "forbidden": forbidden,
            }
        }
    finally:
        contexts.leave(token)


async def _awaited(answer: Any) -> Any:
    return await answer


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(sys.argv[1])
