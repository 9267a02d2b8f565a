"""`weft` as a real process: started, listened to, signalled, waited for, and never left behind."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

PATIENCE = 40.0


class Program:
    """A running `weft`, with everything it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said = ""
        self._grew = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while chunk := await self.process.stdout.read(65536):
            self.said += chunk.decode()
            self._grew.set()
        self._grew.set()

    async def says(self, text: str, *, times: int = 1) -> None:
        """Waits until it has said this; fails with what it said instead."""
        try:
            async with asyncio.timeout(PATIENCE):
                while self.said.count(text) < times:
                    assert not self._reading.done(), f"it ended without saying {text!r}:\n{self.said}"
                    self._grew.clear()
                    await self._grew.wait()
        except TimeoutError:
            raise AssertionError(f"it did not say {text!r}:\n{self.said}") from None

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def ends(self) -> int:
        """Waits for its end; answers the exit code."""
        async with asyncio.timeout(PATIENCE):
            code = await self.process.wait()
            await self._reading
        return code


@contextlib.asynccontextmanager
async def weft(
    *arguments: str, env: Mapping[str, str | None] | None = None, cwd: Path | None = None, stdin: bytes | None = None
) -> AsyncIterator[Program]:
    """`weft …`, ended with the block. A variable that is None is taken out of the environment."""
    given: dict[str, str | None] = {**os.environ, "DATABASE_URL": None, "PYTHONUNBUFFERED": "1", **(env or {})}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "weft.cli", *arguments, cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env={name: value for name, value in given.items() if value is not None},
    )  # fmt: skip
    program = Program(process)
    if stdin is not None:
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
    try:
        yield program
    finally:
        if process.returncode is None:
            process.kill()
        # whoever inherited its output may outlive it
        async with asyncio.timeout(PATIENCE):
            await process.wait()
        _, pending = await asyncio.wait({program._reading}, timeout=5)
        for reading in pending:
            reading.cancel()


async def run(
    *arguments: str, env: Mapping[str, str | None] | None = None, cwd: Path | None = None, stdin: bytes | None = None
) -> tuple[int, str]:
    """`weft …` from start to end: its exit code and what it said."""
    async with weft(*arguments, env=env, cwd=cwd, stdin=stdin) as program:
        return await program.ends(), program.said
