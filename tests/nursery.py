"""`weft …`, or a program of tests, without the half second that a new Python needs to import it: a process that has imported
everything forks.

What is forked is a process like any other, with its own arguments, environment, folder and descriptors. Only what is read
while modules are imported is as it was when this process began: whoever changes that is started anew (`fits`).
"""

import asyncio
import contextlib
import json
import os
import select
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
DIED = "the nursery died; see what it said"


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


class Begun:
    """The same without a loop; the part of `subprocess.Popen` that is asked for here."""

    def __init__(self, fate: int) -> None:
        self.returncode: int | None = None
        # unbuffered: what is read ahead no `select` would know of
        self._fate = os.fdopen(fate, "rb", buffering=0)
        self.pid = int(self._told())

    def _told(self) -> bytes:
        line = self._fate.readline()
        assert line, DIED
        return line

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._fate], [], [], 0)[0]:
            self._learn()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._fate], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            self._learn()
        assert self.returncode is not None
        return self.returncode

    def _learn(self) -> None:
        self.returncode = int(self._told())
        self._fate.close()

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        # one that has just ended is heard of a moment later
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


class _Nursery:
    """One per test process; it ends when this one does, however."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, str(PROGRAM), str(theirs.fileno())], pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )  # fmt: skip

    def ask(
        self, arguments: Sequence[str], given: Sequence[int], *, env: Mapping[str, str], cwd: Path | None,
        program: Path | None,
    ) -> int:  # fmt: skip
        """For a child with these descriptors; answers where its pid and then its exit code can be read, a line each."""
        wish = {
            "arguments": list(arguments), "env": dict(env), "cwd": str(cwd or Path.cwd()),
            "program": program and str(program),
        }  # fmt: skip
        fate, fate_end = os.pipe()
        try:
            with tempfile.TemporaryFile() as written:  # longer than a message may be
                written.write(json.dumps(wish).encode())
                written.seek(0)
                socket.send_fds(self._ours, [b"!"], [written.fileno(), *given, fate_end])
        finally:
            os.close(fate_end)
        return fate


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
    out, out_end = os.pipe()
    try:
        given = [NOTHING if stdin is None else stdin, out_end, out_end if stderr is None else stderr]
        fate = await asyncio.to_thread(_the_one().ask, arguments, given, env=env, cwd=cwd, program=program)
    finally:
        os.close(out_end)
    told = await _reader(fate)
    pid = await told.readline()
    assert pid, DIED
    return Forked(await _reader(out), told, int(pid))


def begin(program: Path, *arguments: str, env: Mapping[str, str], out: int) -> Begun:
    """A program for those who have no loop, in its own folder; what it says goes to `out`."""
    return Begun(_the_one().ask(arguments, [NOTHING, out, out], env=env, cwd=program.parent, program=program))


def _the_one() -> _Nursery:
    if not _nurseries:
        _nurseries.append(_Nursery())
    return _nurseries[0]


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader, loop = asyncio.StreamReader(), asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0))
    return reader
