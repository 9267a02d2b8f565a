"""The child process of `isolate="process"`: reads tasks from stdin, runs them, answers on stdout."""

import asyncio
import inspect
import logging
import os
import queue
import signal
import sys
import threading
import traceback
import types
from typing import Any, BinaryIO

from weft.base import errors, json
from weft.base.redact import Redactor
from weft.sdk import context as contexts
from weft.sdk.context import About, Context
from weft.sdk.loading import load
from weft.sdk.task import Registry, Task
from weft.worker import logs

_SIGNALS = (errors.Discard, errors.Snooze, errors.RetryLater)


class Upward:
    """The sink of a child's context: everything goes to the parent."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def say(self, message: dict[str, Any]) -> None:
        self._out.write(json.dumps(message) + b"\n")
        self._out.flush()

    def log(self, context: Context, *, level: str, message: str, fields: dict[str, Any] | None) -> None:
        line = logs.line(context, level=level, message=message, fields=fields)
        self.say({"log": line.message, "level": line.level, "fields": json.loads(line.fields) if line.fields else None})

    def progress(self, context: Context, *, percent: int | None, message: str | None) -> None:
        self.say({"progress": percent, "message": None if message is None else logs.clean(str(message))})


class ChildContext(Context):
    """A context whose signs of life are seen by the parent."""

    __slots__ = ("_upward",)

    def __init__(self, upward: Upward, about: About) -> None:
        super().__init__(upward, about)
        self._upward = upward

    def heartbeat(self) -> None:
        self._upward.say({"heartbeat": True})
        super().heartbeat()


def main(target: str, level: str) -> None:
    """Serves until killed. What a handler prints or reads must not mix with what is said, so it gets other files."""
    asked, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(asked, lines), daemon=True).start()
    logging.basicConfig(level=int(level))
    for handler in logging.getLogger().handlers:
        handler.addFilter(logs.Secretive())
    logging.getLogger().addHandler(logs.TaskLogHandler())
    registry: Registry = load(target).registry
    upward = Upward(out)
    while True:
        told = json.loads(lines.get())
        task = registry.get(told["kind"])
        assert task is not None  # the parent has the same registry
        context = ChildContext(upward, types.SimpleNamespace(**told["context"]))
        context.hidden = Redactor(told["secrets"]) if told["secrets"] else None
        upward.say(_run(task, told["payload"], context))


def _listen(asked: BinaryIO, lines: "queue.SimpleQueue[bytes]") -> None:
    for line in asked:
        lines.put(line)
    # the worker is gone: what runs here is being run anew elsewhere
    os.killpg(os.getpgrp(), signal.SIGKILL)


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
        return {"error": _problem(error, task, context)}
    finally:
        contexts.leave(token)


def _problem(error: Exception, task: Task[Any, Any], context: Context) -> dict[str, Any]:
    options = task.options
    refused = isinstance(error, (errors.InvalidPayload, errors.Refused, *options.fail_on))
    delay = error.delay.total_seconds() if isinstance(error, errors.Snooze | errors.RetryLater) else None
    return {
        "signal": next((one.__name__ for one in _SIGNALS if isinstance(error, one)), None),
        "type": type(error).__name__,
        "message": logs.clean(context.redact(str(error))[: logs.MAX_MESSAGE]),
        "traceback": logs.clean(context.redact(traceback.format_exc())[-logs.MAX_MESSAGE :]),
        "delay": delay,
        "retryable": not refused and (not options.retry_on or isinstance(error, options.retry_on)),
    }


async def _awaited(answer: Any) -> Any:
    return await answer


if __name__ == "__main__":
    main(*sys.argv[1:])
