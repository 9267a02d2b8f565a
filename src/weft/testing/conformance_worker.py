"""The rules of the worker protocol that a worker keeps, seen from outside: it is started, and its tasks are watched.

The worker is told by the environment: WEFT_SERVER, WEFT_KEY, and WEFT_QUEUES (serve only these). It offers three kinds:

    conformance.echo    {"value": …}     answers {"value": …}
    conformance.fail    {"message": …}   fails with this message
    conformance.sleep   {"seconds": …}   takes so long, with heartbeats, stops when told to; answers "slept"
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from weft.testing.conformance import NOW, PATIENCE, Broken, Probe, Rule, must

_START = 60.0
_STOP = 60.0


class Command:
    """The worker under test, as its implementer starts it."""

    def __init__(self, command: str, *, server: str) -> None:
        self._command = command
        self._server = server

    @contextlib.asynccontextmanager
    async def running(self, probe: Probe) -> AsyncIterator["Running"]:
        """One process of it, serving the probe's queue; ended with the block, however."""
        environment = {
            **os.environ, "WEFT_SERVER": self._server, "WEFT_KEY": probe.worker_key, "WEFT_QUEUES": probe.queue,
        }  # fmt: skip
        environment.pop("DATABASE_URL", None)
        process = await asyncio.create_subprocess_exec(
            "sh", "-c", f"exec {self._command}", env=environment, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        running = Running(process)
        try:
            yield running
        finally:
            await running.kill()


class Running:
    """A worker process and what it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._said = bytearray()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while chunk := await self._process.stdout.read(65536):
            self._said += chunk
            del self._said[:-4000]

    def must_live(self) -> None:
        if self._process.returncode is not None:
            raise Broken(f"the worker ended with status {self._process.returncode}: {self.tail()}")

    def tail(self) -> str:
        return " ".join(self._said.decode(errors="replace").split())[-300:]

    def signal(self, number: signal.Signals) -> None:
        """To all of its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    async def drained(self) -> int:
        """Asks it to stop and waits for it; answers its exit code."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_STOP):
                return await self._process.wait()
        except TimeoutError:
            raise Broken(f"the worker still ran {_STOP:g} s after SIGTERM: {self.tail()}") from None

    async def kill(self) -> None:
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        await self._process.wait()
        await self._reading


async def _echoes(probe: Probe, worker: Running, *, within: float = PATIENCE) -> None:
    """It is there, and works."""
    id = await probe.put("conformance.echo", {"value": "there?"})
    try:
        await _ended(probe, id, within=within)
    except Broken as broken:
        worker.must_live()
        raise Broken(f"{broken}; it said: {worker.tail()}") from None


async def _ended(probe: Probe, id: str, *, within: float = PATIENCE) -> dict[str, Any]:
    over = ("completed", "failed", "timed_out", "cancelled")
    return await probe.until(id, lambda task: task["state"] in over, what="the task ends", within=within)


def rules(command: Command) -> list[Rule]:
    """Every rule, for this worker."""

    def rule(name: str, attempt: Callable[[Probe, Running], Awaitable[None]]) -> Rule:
        async def tried(probe: Probe) -> None:
            async with command.running(probe) as worker:
                await _echoes(probe, worker, within=_START)
                await attempt(probe, worker)

        return Rule(name, tried)

    return [
        rule("it claims and completes, with the result", _completes),
        rule("it fails what fails, with the error, and goes on", _fails),
        rule("it claims more while it works", _many),
        rule("its heartbeats keep a short lease", _heartbeats),
        rule("it stops what was cancelled, and goes on", _cancels),
        rule("it survives a stale lease, and the task completes once", _stale),
        rule("on SIGTERM it finishes what is short, exits 0, and leaves nothing running", _drains),
        rule("on SIGTERM it gives back what is long, without a loss", _gives_back),
    ]


async def _completes(probe: Probe, worker: Running) -> None:
    value = {"text": "ä\u2028😀", "list": [1, 2.5, None, True], "nested": {"a": {"b": []}}}
    id = await probe.put("conformance.echo", {"value": value})
    task = await _ended(probe, id)
    must(task["state"] == "completed", f"the task {task['state']}")
    must(task["result"] == {"value": value}, f"the result is {task['result']!r}, expected {{'value': {value!r}}}")
    must(task["attempt"] == 1, f"it took {task['attempt']} attempts")


async def _fails(probe: Probe, worker: Running) -> None:
    id = await probe.put("conformance.fail", {"message": "as asked"}, max_attempts=2, retry=NOW)
    task = await _ended(probe, id)
    must((task["state"], task["reason"]) == ("failed", "dead"), f"the task is {task['state']} ({task['reason']})")
    must(task["attempt"] == 2, f"it was tried {task['attempt']} times, expected 2")
    must("as asked" in (task["error"] or {}).get("message", ""), f"the error is {task['error']!r}")
    await _echoes(probe, worker)


async def _many(probe: Probe, worker: Running) -> None:
    ids = [await probe.put("conformance.echo", {"value": n}) for n in range(40)]
    for n, id in enumerate(ids):
        task = await _ended(probe, id)
        must(task["result"] == {"value": n} and task["attempt"] == 1, f"task {n} ended as {task['result']!r}")


async def _heartbeats(probe: Probe, worker: Running) -> None:
    id = await probe.put("conformance.sleep", {"seconds": 9}, heartbeat_timeout=3)
    task = await _ended(probe, id)
    must(task["losses"] == 0 and task["attempt"] == 1, f"the lease was lost {task['losses']} times: heartbeats are missing")
    must(task["result"] == "slept", f"the task {task['state']} with {task['result']!r}")


async def _cancels(probe: Probe, worker: Running) -> None:
    id = await probe.put("conformance.sleep", {"seconds": 300}, heartbeat_timeout=6)
    await probe.until(id, lambda task: task["state"] == "running", what="the task starts")
    began = time.monotonic()
    await probe.cancel(id)
    task = await _ended(probe, id)
    must(task["state"] == "cancelled", f"the task {task['state']}")
    must(time.monotonic() - began < 20, "the worker took no notice: the server ended the task by force")
    await _echoes(probe, worker)


async def _stale(probe: Probe, worker: Running) -> None:
    id = await probe.put("conformance.sleep", {"seconds": 2}, heartbeat_timeout=2)
    await probe.until(id, lambda task: task["state"] == "running", what="the task starts")
    worker.signal(signal.SIGSTOP)
    await probe.until(id, lambda task: task["losses"] >= 1, what="the lease of a stopped worker is taken away")
    worker.signal(signal.SIGCONT)
    task = await _ended(probe, id)
    must(task["state"] == "completed" and task["attempt"] >= 2, f"the task {task['state']} in attempt {task['attempt']}")
    worker.must_live()
    await _echoes(probe, worker)


async def _drains(probe: Probe, worker: Running) -> None:
    id = await probe.put("conformance.sleep", {"seconds": 1})
    await probe.until(id, lambda task: task["state"] == "running", what="the task starts")
    code = await worker.drained()
    must(code == 0, f"the worker ended with status {code}: {worker.tail()}")
    task = await probe.look(id)
    must(task["state"] in ("completed", "ready") and task["losses"] == 0, f"the task is {task['state']}")


async def _gives_back(probe: Probe, worker: Running) -> None:
    id = await probe.put("conformance.sleep", {"seconds": 600})
    await probe.until(id, lambda task: task["state"] == "running", what="the task starts")
    code = await worker.drained()
    must(code == 0, f"the worker ended with status {code}: {worker.tail()}")
    task = await probe.look(id)
    must(task["state"] == "ready", f"the task is {task['state']}: it was not given back")
    must(task["losses"] == 0, "giving it back was counted as a loss")


PYTHON = "weft worker weft.cli.conformance_app:app --http $WEFT_SERVER -q $WEFT_QUEUES --grace 3"
"""Weft's own worker."""
