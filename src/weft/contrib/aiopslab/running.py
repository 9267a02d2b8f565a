"""One problem in a child process: started with an environment of its own, listened to, ended if it must be.

    SIGINT ──5 s──▶ SIGTERM ──5 s──▶ SIGKILL        to the whole group: what the problem has started goes with it

SIGINT comes first because AIOpsLab takes an injected fault back when it is interrupted.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Callable, Mapping
from typing import Any

from weft.contrib.aiopslab import child

Event = dict[str, Any]

GRACE = 5.0
_LOOK = 0.05
_LONGEST = 65_536
_PASSED = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "SSL_CERT_FILE")
"""What of the worker's environment a problem may know; --env names more. Keys to our API are not among it."""


def environment(
    cluster: str, *, kubeconfig: str | None, passed: tuple[str, ...], environ: Mapping[str, str]
) -> dict[str, str]:
    """The environment of a problem."""
    found = {name: environ[name] for name in (*_PASSED, *passed) if name in environ}
    config = kubeconfig or environ.get("KUBECONFIG")
    return {**found, "AIOPSLAB_CLUSTER": cluster, **({"KUBECONFIG": config} if config else {})}


async def run(orders: Event, *, environ: Mapping[str, str], heard: Callable[[Event], None], grace: float = GRACE) -> Event:
    """How it went: its last word (`completed` or `failed`). If cancelled, it is ended, with all it has started, first."""
    reading, writing = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", child.__name__, stdin=PIPE, stdout=PIPE, stderr=STDOUT, pass_fds=[writing],
            env={**environ, child.CHANNEL: str(writing), "PYTHONUNBUFFERED": "1"}, start_new_session=True, limit=_LONGEST,
        )  # fmt: skip
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    last: Event = {}

    def hear(event: Event) -> None:
        if event.get("what") in ("completed", "failed"):
            last.update(event)
        else:
            heard(event)

    channel = await _opened(reading)
    listening = [asyncio.create_task(_listen(channel, hear)), asyncio.create_task(_printed(process, heard))]
    try:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(json.dumps(orders).encode() + b"\n")
            await process.stdin.drain()
        status = await process.wait()
    finally:
        # also what a finished problem has left behind
        await asyncio.shield(end(process, grace=grace))
        await asyncio.wait(listening, timeout=grace)
        for one in listening:
            one.cancel()
        await asyncio.gather(*listening, return_exceptions=True)
    return last or {"what": "failed", "error": f"its process {_how(status)} without a word"}


async def end(process: Process, *, grace: float) -> None:
    """Ends every process of the group, politely at first."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        if not _send(process.pid, number):
            return
        deadline = loop.time() + grace
        while _send(process.pid, 0) and loop.time() < deadline:
            await asyncio.sleep(_LOOK)
    _send(process.pid, signal.SIGKILL)
    await process.wait()


def _send(group: int, number: int) -> bool:
    """Whether the group is there to get the signal (0: only ask)."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


async def _opened(reading: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=4 * 1024 * 1024)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", buffering=0)
    )
    return reader


async def _listen(channel: asyncio.StreamReader, hear: Callable[[Event], None]) -> None:
    while line := await _line(channel):
        with contextlib.suppress(ValueError, RecursionError):
            event = json.loads(line)
            if isinstance(event, dict):
                hear(event)


async def _printed(process: Process, heard: Callable[[Event], None]) -> None:
    """What the problem's code prints is its log too."""
    assert process.stdout is not None
    while line := await _line(process.stdout):
        text = line.decode("utf-8", "replace").rstrip()
        if text:
            heard({"what": "log", "level": "debug", "message": text, "context": {"action": "output"}})


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line; one that is far too long comes in pieces."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError as error:
        return await reader.readexactly(error.consumed)


def _how(status: int) -> str:
    return f"was killed by signal {-status}" if status < 0 else f"ended with {status}"
