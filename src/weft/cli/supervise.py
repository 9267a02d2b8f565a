"""Several worker processes under one: a child that dies is replaced, and so is one that ends itself, used up.

    supervisor ──spawn──▶ child ──exit 0──▶ used up: another at once
                                ──exit 4──▶ drained from elsewhere: nobody takes its place
                                ──exit 2──▶ what it was told is wrong: all stop, exit 2
                                ──else────▶ died: another after a pause that doubles while they die young

Children have sessions of their own, so that Ctrl-C reaches them only through the supervisor; each holds the reading
end of a pipe, so that they drain if the supervisor is killed.
"""

import asyncio
import contextlib
import logging
import signal
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Sequence

from weft.cli.main import FAILED, WRONG
from weft.cli.stopping import Stopping
from weft.cli.working import DRAINED, Work

log = logging.getLogger("weft.cli")

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_GROWN_UP = 10.0
"""Seconds a child must have lived for its death to count as a first one."""
_NOT_BEGUN = -signal.SIGTERM
"""How a child ends that is told to stop before it listens: it holds no task yet."""


def command(told: Work) -> list[str]:
    """The command line of a child."""
    line = [sys.executable, "-m", "weft.cli", "worker", told.target, "--supervised"]
    line += ["--concurrency", str(told.concurrency), "--grace", str(told.grace), "--log-level", told.log_level]
    if told.queues:
        line += ["--queues", ",".join(told.queues)]
    for one in told.capabilities:
        line += ["--capability", one]
    if told.max_tasks is not None:
        line += ["--max-tasks", str(told.max_tasks)]
    if told.max_memory is not None:
        line += ["--max-memory", str(told.max_memory)]
    if told.http is not None:
        # the key goes through the environment, where other users do not see it
        line += ["--http", told.http]
    if not told.lead:
        line.append("--no-lead")
    return line


class Supervisor:
    """Keeps `processes` children running until told to stop; `run` answers the exit code."""

    def __init__(self, line: Sequence[str], *, processes: int) -> None:
        self._line = line
        self._processes = processes
        self._children: set[Process] = set()
        self._stopping = Stopping()

    async def run(self) -> int:
        self._stopping.install()
        self._stopping.hurry = self._terminate
        self._stopping.at_exit = self._kill
        telling = asyncio.create_task(self._tell())
        codes = await asyncio.gather(*(self._keep(number + 1) for number in range(self._processes)))
        telling.cancel()
        if WRONG in codes:
            return WRONG
        return FAILED if any(codes) else 0

    async def _tell(self) -> None:
        await self._stopping.asked.wait()
        self._terminate()

    async def _keep(self, number: int) -> int:
        pause = 0.0
        while True:
            began = time.monotonic()
            code = await self._live(number)
            if self._stopping.asked.is_set():
                return 0 if code in (DRAINED, _NOT_BEGUN) else code
            if code == DRAINED:
                log.info("worker process %d was drained", number)
                return 0
            if code == WRONG:
                self._stopping.ask()
                return code
            pause = rest(pause, code=code, lived=time.monotonic() - began)
            log.info("worker process %d %s; another starts in %g s", number, _how(code), pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.asked.wait(), pause)
            if self._stopping.asked.is_set():
                return 0 if code == 0 else FAILED

    async def _live(self, number: int) -> int:
        """One child, from start to end; answers its exit code."""
        child = await asyncio.create_subprocess_exec(*self._line, stdin=asyncio.subprocess.PIPE, start_new_session=True)
        self._children.add(child)
        log.info("worker process %d is pid %d", number, child.pid)
        try:
            if self._stopping.asked.is_set():
                child.terminate()
            return await child.wait()
        finally:
            self._children.discard(child)

    def _terminate(self) -> None:
        for child in self._children:
            with contextlib.suppress(ProcessLookupError):
                child.terminate()

    def _kill(self) -> None:
        for child in self._children:
            with contextlib.suppress(ProcessLookupError):
                child.kill()


def rest(pause: float, *, code: int, lived: float) -> float:
    """How long to wait before the next child: not after one that was used up, longer and longer if they die young."""
    if code == 0:
        return 0.0
    return _FIRST_PAUSE if lived >= _GROWN_UP or pause == 0 else min(pause * 2, _LONGEST_PAUSE)


def _how(code: int) -> str:
    if code == 0:
        return "is used up"
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"failed with exit code {code}"
