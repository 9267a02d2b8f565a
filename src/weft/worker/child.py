"""Process isolation: a handler in a child process that can be killed, whatever it does.

A child imports the app once and then runs one task after another, one at a time. The parent and the child speak JSON
lines over two pipes: {kind, payload, context} down; {log}, {progress}, {heartbeat} and {result} or {error} up. A child
that dies is an error of the task it ran, not of the worker. A child whose worker died kills itself and all it started.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from weft.base import errors, json
from weft.sdk.context import Context

_LAST_WORDS = 5.0
"""Seconds from the end of a child, or of what it says, to our going on without it."""

_LINE_LIMIT = 2 * 1024 * 1024


class ChildDied(errors.WeftError):
    """The process of the task died."""

    code = "CHILD_DIED"


class ChildFailed(errors.WeftError):
    """The handler raised in its child process. `problem` is what it raised: type, message, traceback."""

    code = "CHILD_FAILED"

    def __init__(self, problem: dict[str, str], *, retryable: bool) -> None:
        super().__init__(f"{problem['type']}: {problem['message']}")
        self.problem = problem
        self.retryable = retryable


class Children:
    """Child processes of a worker: idle ones are reused, those that misbehave are killed."""

    def __init__(self, target: str | None) -> None:
        self._target = target
        self._idle: list[asyncio.subprocess.Process] = []
        self._alive: set[asyncio.subprocess.Process] = set()

    async def call(self, context: Context, kind: str, payload: str, *, secrets: Sequence[str] = ()) -> Any:
        """Runs a task in a child. Cancelling this kills the child. It is told the secrets so that it can hide them."""
        if self._target is None:
            raise errors.ConfigError("isolate='process' needs a worker started as `weft worker module:app`")
        child = self._idle.pop() if self._idle else await self._spawn()
        answered = False
        try:
            answer = await self._converse(child, context, {"kind": kind, "payload": payload, "secrets": list(secrets)})
            answered = True
        finally:
            if answered:
                self._idle.append(child)
            else:
                kill(child)
                self._alive.discard(child)
        if "error" in answer:
            raise _rebuild(answer["error"])
        return answer["result"]

    async def _spawn(self) -> asyncio.subprocess.Process:
        level = str(logging.getLogger().getEffectiveLevel())
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "weft.worker.child_main", self._target or "", level,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=_LINE_LIMIT, start_new_session=True,
        )  # fmt: skip
        self._alive.add(child)
        return child

    async def _converse(
        self, child: asyncio.subprocess.Process, context: Context, told: dict[str, Any]
    ) -> dict[str, Any]:
        assert child.stdin is not None and child.stdout is not None
        about = {
            "id": context.task_id, "org": context.org, "kind": context.kind, "attempt": context.attempt,
            "queue": context.queue, "token": "", "correlation_id": context.correlation_id, "trace_parent": context.trace,
            "tags": context.tags,
        }  # fmt: skip
        try:
            child.stdin.write(json.dumps({**told, "context": about}) + b"\n")
            await child.stdin.drain()
            while line := await child.stdout.readline():
                said: dict[str, Any] = json.loads(line)
                if "log" in said:
                    context.log(said["log"], level=said["level"], **(said["fields"] or {}))
                elif "heartbeat" in said:
                    context.alive = time.monotonic()
                elif "progress" in said:
                    context.progress(said["progress"], said["message"])
                else:
                    return said
        except (ConnectionError, ValueError) as error:
            raise ChildDied(f"the process of the task broke off: {error}") from error
        raise ChildDied(f"the process of the task died: {await _end_of(child)}")

    async def close(self) -> None:
        """Ends them all."""
        for child in self._alive:
            kill(child)
        await asyncio.gather(*(_end_of(child) for child in self._alive))
        self._idle.clear()
        self._alive.clear()


def kill(child: asyncio.subprocess.Process) -> None:
    """Ends a child and everything it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


async def _end_of(child: asyncio.subprocess.Process) -> str:
    """How it ended. Not waited for without end: on Python 3.11 `wait` also waits for whoever inherited its pipes."""
    try:
        async with asyncio.timeout(_LAST_WORDS):
            code = await child.wait()
    except TimeoutError:
        return "its output is held open by a process it left behind"
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _rebuild(said: dict[str, Any]) -> BaseException:
    """A child's exception on this side: signals keep their meaning, the rest its text."""
    message, delay = said["message"], said["delay"]
    match said["signal"]:
        case "Discard":
            return errors.Discard(message)
        case "Snooze":
            return errors.Snooze(delay)
        case "RetryLater":
            return errors.RetryLater(delay, message)
        case _:
            problem = {name: said[name] for name in ("type", "message", "traceback")}
            return ChildFailed(problem, retryable=said["retryable"])
