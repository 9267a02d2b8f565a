"""Running a command as its own process group: output kept line by line, nothing left behind when it ends.

The command does not inherit the worker's environment, which holds the database's password: it gets a few harmless
variables and what the task gives it. Output goes through a pipe of our own, because `Process.wait` of newer Pythons
waits for asyncio's pipes too, and so for whatever background process still holds them.
"""

import asyncio
import codecs
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.base import errors
from weft.worker.logs import MAX_LINES, MAX_MESSAGE

TAIL = 16 * 1024
"""Bytes of output in the result."""

_PASSED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER")
_DRAIN = 1.0
_LOOK = 0.02


class ShellFailed(errors.WeftError):
    """The command failed."""

    code = "SHELL_FAILED"


async def run(
    command: str | Sequence[str],
    *,
    log: Callable[[str], None],
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    grace: float = 5.0,
    hide: Callable[[str], str] = str,
) -> dict[str, Any]:
    """Runs a command to its end; ShellFailed if that is not exit status 0. When cancelled, its group ends first.

    `hide` takes secrets out of a text, and must be asked before the text is cut.
    """
    arguments = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    if not arguments or not arguments[0]:
        raise errors.InvalidInput("the command is empty")
    output = _Output(log)
    reading, writing = os.pipe()
    try:
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: output, os.fdopen(reading, "rb", 0))
        try:
            process = await _start(arguments, writing, cwd=cwd, env=env)
        except BaseException:
            pipe.close()
            raise
    finally:
        os.close(writing)
    ended = asyncio.ensure_future(process.wait())
    try:
        status = await asyncio.shield(ended)
    finally:
        try:
            await _end_group(process.pid, grace=grace)
            await asyncio.wait([ended], timeout=_DRAIN)
            await asyncio.wait([output.closed], timeout=_DRAIN)
        finally:
            ended.cancel()
            pipe.close()
    if status != 0:
        said = hide(output.tail)[-2000:].strip()
        raise ShellFailed(f"{_how(status)}{f': {said}' if said else ''}", exit_status=status)
    return {"exit_status": status, "output": output.tail, "truncated": output.size > TAIL}


async def _start(
    arguments: list[str], writing: int, *, cwd: str | None, env: Mapping[str, str] | None
) -> asyncio.subprocess.Process:
    if cwd is not None and not await asyncio.to_thread(Path(cwd).is_dir):
        raise ShellFailed(f"the folder {cwd!r} does not exist here")
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    try:
        return await asyncio.create_subprocess_exec(
            *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=writing, stderr=writing, cwd=cwd,
            env={**passed, **(env or {})}, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise ShellFailed(f"{arguments[0]!r} cannot be started: {error}") from error


async def _end_group(group: int, *, grace: float) -> None:
    """Asks every process of the group to end, and ends what has not after the grace."""
    if not _send(group, signal.SIGTERM):
        return
    loop = asyncio.get_running_loop()
    deadline = loop.time() + grace
    try:
        while _send(group, 0) and loop.time() < deadline:
            await asyncio.sleep(_LOOK)
    finally:
        _send(group, signal.SIGKILL)


def _send(group: int, number: int) -> bool:
    """Whether the group is there to get the signal (0: only ask)."""
    with contextlib.suppress(ProcessLookupError):
        try:
            os.killpg(group, number)
        except PermissionError:
            # on macOS: only zombies are left; elsewhere: a set-uid program, which we cannot end
            return False
        return True
    return False


def _how(status: int) -> str:
    if status > 0:
        return f"the command ended with exit status {status}"
    try:
        return f"the command was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"the command was killed by signal {-status}"


class _Output(asyncio.Protocol):
    """What the group writes: lines for the log while it runs, the tail for the result."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.size = 0
        self._log = log
        self._lines = 0
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._partial = ""
        self._tail = b""

    @property
    def tail(self) -> str:
        return self._tail.decode("utf-8", "replace").replace("\0", "\ufffd")

    def data_received(self, data: bytes) -> None:
        self.size += len(data)
        self._tail = (self._tail + data)[-TAIL:]
        if self._lines > MAX_LINES:
            return
        *lines, partial = (self._partial + self._decode(data)).split("\n")
        while len(partial) > MAX_MESSAGE:
            lines.append(partial[:MAX_MESSAGE])
            partial = partial[MAX_MESSAGE:]
        self._partial = partial
        for line in lines:
            self._write(line)

    def connection_lost(self, exc: Exception | None) -> None:
        if last := self._partial + self._decode(b"", True):
            self._write(last)
        self._partial = ""
        if not self.closed.done():
            self.closed.set_result(None)

    def _write(self, line: str) -> None:
        if self._lines == MAX_LINES:
            self._log(f"more than {MAX_LINES:,} lines; the rest is not logged")
        elif self._lines < MAX_LINES:
            self._log(line.removesuffix("\r"))
        self._lines += 1
