"""`weft` as a real process: started, listened to, signalled, waited for, and never left behind."""

import asyncio
import codecs
import contextlib
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import nursery

PATIENCE = 40.0


class Program:
    """A running `weft`, with everything it says."""

    def __init__(self, process: nursery.Process) -> None:
        self.process = process
        self.said = ""
        self._grew = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        # a chunk may end in the middle of a character
        decoder = codecs.getincrementaldecoder("utf-8")()
        while chunk := await self.process.stdout.read(65536):
            self.said += decoder.decode(chunk)
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
        try:
            async with asyncio.timeout(PATIENCE):
                code = await self.process.wait()
                await self._reading
        except TimeoutError:
            raise AssertionError(f"it did not end; it had said:\n{self.said}") from None
        return code


@contextlib.asynccontextmanager
async def weft(
    *arguments: str,
    env: Mapping[str, str | None] | None = None,
    cwd: Path | None = None,
    stdin: bytes | None = None,
    anew: bool = False,
) -> AsyncIterator[Program]:
    """`weft …`, ended with the block; forked from the nursery, unless it is to start anew. A variable that is None is taken
    out of the environment."""
    whole = _environment(env)
    process: nursery.Process
    with _told(stdin) as given:
        if anew or not nursery.fits(whole):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "weft.cli", *arguments, cwd=cwd, stdin=given,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=whole,
            )  # fmt: skip
        else:
            process = await nursery.fork(arguments, env=whole, cwd=cwd, stdin=given)
    async with _ended(Program(process)) as program:
        yield program


async def run(
    *arguments: str,
    env: Mapping[str, str | None] | None = None,
    cwd: Path | None = None,
    stdin: bytes | None = None,
    anew: bool = False,
) -> tuple[int, str]:
    """`weft …` from start to end: its exit code and what it said."""
    async with weft(*arguments, env=env, cwd=cwd, stdin=stdin, anew=anew) as program:
        return await program.ends(), program.said


def _environment(changes: Mapping[str, str | None] | None) -> dict[str, str]:
    whole: dict[str, str | None] = {**os.environ, "DATABASE_URL": None, "PYTHONUNBUFFERED": "1", **(changes or {})}
    return {name: value for name, value in whole.items() if value is not None}


@contextlib.contextmanager
def _told(stdin: bytes | None) -> Iterator[int]:
    """A descriptor to read it from: of a pipe, which ends."""
    if stdin is None:
        with open(os.devnull, "rb") as nothing:
            yield nothing.fileno()
        return
    given, end = os.pipe()
    # in a thread: it may be more than a pipe takes at once
    threading.Thread(target=_write, args=(end, stdin), daemon=True).start()
    try:
        yield given
    finally:
        os.close(given)


def _write(end: int, text: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), os.fdopen(end, "wb") as file:
        file.write(text)


@contextlib.asynccontextmanager
async def _ended(program: Program) -> AsyncIterator[Program]:
    try:
        yield program
    finally:
        if program.process.returncode is None:
            program.process.kill()
        # whoever inherited its output may outlive it
        async with asyncio.timeout(PATIENCE):
            await program.process.wait()
        _, pending = await asyncio.wait({program._reading}, timeout=5)
        for reading in pending:
            reading.cancel()
