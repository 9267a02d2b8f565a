"""Process isolation: a handler in a child process that can be killed, whatever it does.

A child imports the app once and then runs one task after another, one at a time. The parent and the child speak JSON
lines over a socket pair: {kind, payload, context} down; {log}, {progress} and {result} or {error} up. A child that dies
is an error of the task it ran, not of the worker.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from weft.base import errors, json
from weft.sdk.context import Context

_LINE_LIMIT = 2 * 1024 * 1024


class ChildDied(errors.WeftError):
    """The process of the task died."""

    code = "CHILD_DIED"


class ChildFailed(errors.WeftError):
    """The handler raised in its child process."""

    code = "CHILD_FAILED"


class Children:
    """Child processes of a worker: idle ones are reused, those that misbehave are killed."""

    def __init__(self, target: str | None) -> None:
        self._target = target
        self._idle: list[asyncio.subprocess.Process] = []

    async def call(self, context: Context, kind: str, payload: str) -> Any:
        """Runs a task in a child. Cancelling this kills the child."""
        if self._target is None:
            raise errors.ConfigError("isolate='process' needs a worker started as `weft worker module:app`")
        child = self._idle.pop() if self._idle else await self._spawn()
        answered = False
        try:
            result = await self._converse(child, context, kind, payload)
            answered = True
            return result
        except ChildFailed:
            answered = True
            raise
        finally:
            if answered:
                self._idle.append(child)
            else:
                kill(child)

    async def _spawn(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "weft.worker.child_main", self._target or "",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=_LINE_LIMIT, start_new_session=True,
        )  # fmt: skip

    async def _converse(self, child: asyncio.subprocess.Process, context: Context, kind: str, payload: str) -> Any:
        assert child.stdin is not None and child.stdout is not None
        about = {
            "id": context.task_id, "org": context.org, "kind": kind, "attempt": context.attempt, "queue": context.queue,
            "token": "", "correlation_id": context.correlation_id, "trace_parent": context.trace, "tags": context.tags,
        }  # fmt: skip
        try:
            child.stdin.write(json.dumps({"kind": kind, "payload": payload, "context": about}) + b"\n")
            await child.stdin.drain()
            while line := await child.stdout.readline():
                said = json.loads(line)
                if "log" in said:
                    context.log(said["log"], level=said["level"], **(said["fields"] or {}))
                elif "progress" in said:
                    context.progress(said["progress"], said["message"])
                elif "error" in said:
                    raise _rebuild(said["error"])
                else:
                    return said["result"]
        except (ConnectionError, ValueError) as error:
            raise ChildDied(f"the process of the task broke off: {error}") from error
        code = await child.wait()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        raise ChildDied(f"the process of the task died: {how}")

    def close(self) -> None:
        for child in self._idle:
            kill(child)
        self._idle.clear()


def kill(child: asyncio.subprocess.Process) -> None:
    """Ends a child and everything it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _rebuild(problem: dict[str, Any]) -> BaseException:
    """A child's exception on this side: signals keep their meaning, the rest its text."""
    signals: dict[str, Callable[[], BaseException]] = {
        "Discard": lambda: errors.Discard(problem["message"]),
        "Snooze": lambda: errors.Snooze(problem["delay"]),
        "RetryLater": lambda: errors.RetryLater(problem["delay"], problem["message"]),
        "InvalidPayload": lambda: errors.InvalidPayload(problem["message"]),
    }
    if problem["type"] in signals:
        return signals[problem["type"]]()
    if problem["forbidden"]:
        return errors.Refused(problem["traceback"])
    return ChildFailed(f"{problem['type']}: {problem['message']}\n{problem['traceback']}")
