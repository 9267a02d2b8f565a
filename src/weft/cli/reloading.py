"""A worker in a process of its own that starts anew when your code changes, for `weft dev`.

    start ──▶ running ──a file changed──▶ drained, started again
                 └──ended by itself──▶ its words are shown; the next change starts it again
"""

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from weft.cli import changes
from weft.cli.main import WRONG
from weft.cli.working import DRAINED

_LOOK_EVERY = 0.5
_GRACE = 10.0


class Reloading:
    """Keeps one worker process running, and new. `say` gets what it writes and what happens to it, line by line."""

    def __init__(
        self, arguments: Sequence[str], *, folder: Path | None, say: Callable[[str], None],
        environ: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._line = [sys.executable, "-m", "weft.cli", "worker", *arguments, "--supervised", "--no-lead"]
        self._folder = folder
        self._say = say
        self._environ = {**os.environ, **(environ or {})}
        self._process: Process | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def crash(self) -> int | None:
        """Kills the worker at once (SIGKILL); it is started anew as if it had ended by itself. Its process id, if it ran."""
        process = self._process
        if process is None or process.returncode is not None:
            return None
        process.kill()
        return process.pid

    async def run(self) -> None:
        """Until cancelled; the worker then drains."""
        try:
            while True:
                # before the start: what is changed while it imports is seen
                seen = {} if self._folder is None else await asyncio.to_thread(changes.snapshot, self._folder)
                await self._start()
                await self._until_changed(seen)
                await self._stop()
        finally:
            await asyncio.shield(self._stop())

    async def _start(self) -> None:
        # its end of the pipe closes if we are killed, and it drains
        self._process = await asyncio.create_subprocess_exec(
            *self._line, stdin=PIPE, stdout=PIPE, stderr=STDOUT, env=self._environ, start_new_session=True
        )

    async def _until_changed(self, seen: changes.Snapshot) -> None:
        assert self._process is not None
        reading = asyncio.create_task(self._read(self._process))
        try:
            while True:
                await asyncio.sleep(_LOOK_EVERY)
                if self._folder is None:
                    # what it was told is wrong: starting it again would not help
                    if self._process.returncode not in (None, WRONG):
                        return
                    continue
                now = await asyncio.to_thread(changes.snapshot, self._folder)
                if different := changes.changed(seen, now):
                    self._say(f"{_names(different, self._folder)} changed: starting the worker anew")
                    return
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            self._say(line.decode(errors="replace").rstrip())
        code = await process.wait()
        if code == DRAINED:
            self._say("the worker was drained")
        elif code:
            again = "" if self._folder is None else "; change the code to start it again"
            self._say(f"the worker ended with exit code {code}{again}")

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(_GRACE):
                # what it says while it stops must be read, or it waits for us
                await process.communicate()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _names(paths: Sequence[str], folder: Path) -> str:
    """The first few, as seen from the folder."""
    shown = ", ".join(path.removeprefix(f"{folder}{os.sep}") for path in paths[:3])
    return f"{shown} and more" if len(paths) > 3 else shown
