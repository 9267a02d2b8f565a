"""`weft …`, or a program of tests, without the half second that a new Python needs to import it: a process that has imported
everything forks.

What is forked is a process like any other, with its own arguments, environment, folder and descriptors. Only what is read
while modules are imported is as it was when this process began: whoever changes that is started anew (`fits`).
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

PROGRAM = Path(__file__).parent / "nursery_process.py"
NOTHING = os.open(os.devnull, os.O_RDWR)
AT_BIRTH = ("PYTHON", "LC_", "LANG", "LD_")
"""What Python and the loader ask for when they start."""


class Forked:
    """A running child of the nursery; the part of `asyncio.subprocess.Process` that is asked for here."""

    def __init__(self, stdout: asyncio.StreamReader, fate: asyncio.StreamReader, pid: int) -> None:
        self.stdout = stdout
        self.returncode: int | None = None
        self.pid = pid
        self._learning = asyncio.create_task(self._learn(fate))

    async def _learn(self, fate: asyncio.StreamReader) -> int:
        told = await fate.readline()
        assert told, "the nursery died"
        self.returncode = int(told)
        return self.returncode

    async def wait(self) -> int:
        return await asyncio.shield(self._learning)

    def send_signal(self, number: signal.Signals) -> None:
        # one that has just ended is heard of a moment later
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Process = asyncio.subprocess.Process | Forked


class _Nursery:
    """One per test process; it ends when this one does, however."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, str(PROGRAM), str(theirs.fileno())], pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )  # fmt: skip

    def fork(self, wish: Mapping[str, object], descriptors: Sequence[int]) -> None:
        with tempfile.TemporaryFile() as written:  # longer than a message may be
            written.write(json.dumps(wish).encode())
            written.seek(0)
            socket.send_fds(self._ours, [b"!"], [written.fileno(), *descriptors])


_nurseries: list[_Nursery] = []


def fits(env: Mapping[str, str]) -> bool:
    """Whether a process with this environment may be a child of the nursery."""

    def at_birth(given: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in given.items() if name.startswith(AT_BIRTH)}

    return at_birth(env) == at_birth({**os.environ, "PYTHONUNBUFFERED": "1"})


async def fork(
    arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None, stdin: int | None = None,
    program: Path | None = None, stderr: int | None = None,
) -> Forked:  # fmt: skip
    """`weft …`, or another program, its output and errors in one stream unless there is somewhere else for these."""
    if not _nurseries:
        _nurseries.append(_Nursery())
    out, out_end = os.pipe()
    fate, fate_end = os.pipe()
    try:
        wish = {
            "arguments": list(arguments), "env": dict(env), "cwd": str(cwd or Path.cwd()),
            "program": program and str(program),
        }  # fmt: skip
        errors = out_end if stderr is None else stderr
        await asyncio.to_thread(_nurseries[0].fork, wish, [NOTHING if stdin is None else stdin, out_end, errors, fate_end])
    finally:
        os.close(out_end)
        os.close(fate_end)
    told = await _reader(fate)
    pid = await told.readline()
    assert pid, "the nursery died; see what it said"
    return Forked(await _reader(out), told, int(pid))


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader, loop = asyncio.StreamReader(), asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0))
    return reader
