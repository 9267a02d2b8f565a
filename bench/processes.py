"""Children of the harness: contenders' programs, each in its own session, none of which outlives its block."""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence

import psutil

from bench.errors import ProcessFailed

STOP_GRACE = 5
LOG_TAIL = 2000


class Program:
    """One running program of a contender, its output kept in a temporary file."""

    def __init__(self, command: Sequence[str], *, label: str, environment: dict[str, str]) -> None:
        self.label = label
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed by stop()
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )

    def tree(self) -> list[psutil.Process]:
        """Return the live processes of the program: itself and its descendants."""
        with contextlib.suppress(psutil.NoSuchProcess):
            root = psutil.Process(self._child.pid)
            return [root, *root.children(recursive=True)]
        return []

    def check(self) -> None:
        """Raise if the program, which should still be running, has ended."""
        code = self._child.poll()
        if code is not None:
            raise ProcessFailed(f"{self.label} ended early with status {code}\n{self.log_tail()}")

    def log_tail(self) -> str:
        """Return the end of what the program printed."""
        descriptor = self._log.fileno()
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, LOG_TAIL, max(0, size - LOG_TAIL)).decode(errors="replace")

    def stop(self) -> None:
        """Ask the program to end, then make it; its whole session goes with it."""
        self._signal(signal.SIGTERM)
        try:
            self._child.wait(STOP_GRACE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._signal(signal.SIGKILL)
            self._child.wait()
            self._log.close()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, number)


@contextlib.contextmanager
def started(
    command: Sequence[str], *, label: str, environment: dict[str, str], copies: int = 1
) -> Iterator[list[Program]]:
    """Run `copies` of a program for as long as the block lasts."""
    with contextlib.ExitStack() as stack:
        programs = []
        for number in range(1, copies + 1):
            program = Program(command, label=f"{label} worker {number}", environment=environment)
            stack.callback(program.stop)
            programs.append(program)
        yield programs


def finished(command: Sequence[str], *, label: str, environment: dict[str, str], timeout: float) -> str:
    """Run a program to its end and return the last line it printed."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    try:
        output, complaints = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise ProcessFailed(f"{label} did not end within {timeout:.0f} s") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    if child.returncode:
        raise ProcessFailed(f"{label} ended with status {child.returncode}\n{(complaints or output)[-LOG_TAIL:]}")
    lines = output.strip().splitlines()
    return lines[-1] if lines else ""
