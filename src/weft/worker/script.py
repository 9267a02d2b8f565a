"""The kind `afl.script`: Python of AFL programs, each in a process of its own that can do little (`script_main`)."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

from weft.base import errors, json
from weft.sdk.context import Context
from weft.worker.child import ChildDied, ChildFailed
from weft.worker.script_main import MEMORY, SECONDS

_MAIN = Path(__file__).with_name("script_main.py")
_MOST = 4 * 2**20
"""Bytes that a script may answer; what is more than a result may be is refused afterwards, with words."""
_PASSED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_AT_ONCE = 4
"""Scripts that one worker runs at a time: each may take a processor for half a minute."""


class ScriptFailed(ChildFailed):
    """A script raised something, was too slow or too large. Trying again would not help."""

    def __init__(self, type_: str, message: str, where: str = "") -> None:
        shown = {"type": type_, "message": f"{where}{message}"[:4096], "traceback": ""}
        super().__init__(shown, retryable=False)


class Scripts:
    """Runs scripts for a worker."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def run(
        self, ctx: Context, facet: str, code: str, params: Any, language: str = "python", file: str = "", line: int = 1
    ) -> Any:
        """What the script of a facet puts into `result`. `file` and `line`: where its code begins."""
        if language != "python":
            raise errors.InvalidInput(f"scripts are Python, not {language!r}")
        async with self._turns:
            answer = await _answered(json.dumps({"code": code, "params": params}))
        for said in answer.get("said", "").splitlines():
            ctx.log(said, facet=facet)
        if "error" in answer:
            error = answer["error"]
            raise ScriptFailed(error["type"], error["message"], _where(file, line, error["line"]))
        return answer["result"]


def _where(file: str, first: int, line: int | None) -> str:
    """The place of a line of the code, as far as it is known."""
    if line is None:
        return ""
    return f"{file}:{first + line - 1}: " if file else f"line {line} of the script: "


async def _answered(asked: bytes) -> dict[str, Any]:
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", str(_MAIN), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, env={"LANG": "C.UTF-8", **passed}, start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(SECONDS):
            text = await _said(child, asked)
    except TimeoutError:
        raise ScriptFailed("ScriptTimedOut", f"the script ran longer than {SECONDS} s") from None
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        await asyncio.shield(ended(child))
    if len(text) > _MOST:
        raise ScriptFailed("ScriptTooLarge", f"the script gave back more than {_MOST:,} bytes")
    try:
        found: dict[str, Any] = json.loads(text)
        return found
    except ValueError:
        raise _died(child) from None


async def _said(child: asyncio.subprocess.Process, asked: bytes) -> bytes:
    assert child.stdin is not None and child.stdout is not None
    with contextlib.suppress(ConnectionError):
        child.stdin.write(asked)
        await child.stdin.drain()
        child.stdin.close()
    text = b""
    while len(text) <= _MOST and (more := await child.stdout.read(65536)):
        text += more
    return text


async def ended(child: asyncio.subprocess.Process) -> int:
    """Its exit status. What it said that nobody has read is read out: asyncio calls a process ended when its pipes are, and
    stops reading one of which more waits than it likes, so that whoever only waits may do so for ever."""
    assert child.stdout is not None
    while await child.stdout.read(65536):
        pass
    return await child.wait()


def _died(child: asyncio.subprocess.Process) -> errors.WeftError:
    """It ended without an answer: its limits, or somebody else."""
    code = child.returncode or 0
    if code in (-signal.SIGXCPU, -signal.SIGALRM):
        return ScriptFailed("ScriptTimedOut", f"the script ran longer than {SECONDS} s")
    if code in (-signal.SIGSEGV, -signal.SIGABRT):
        return ScriptFailed("MemoryError", f"the script needs more than {MEMORY // 2**20} MiB, or recurses too deep")
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return ChildDied(f"the process of the script died: {how}")
