"""A worker: over HTTP, with no database. Registers, beats, claims, runs each problem in a child, says how it went.

    beat ────── every 30 s: keeps what it runs, and learns what it must stop
    claim ───── whenever it has a place: a task ──▶ a child process ──▶ logs as they come ──▶ complete or fail

A claim and a beat never overlap: otherwise a beat could learn of a task whose claim has not answered yet, and take it for
one that an earlier process of the same name has left behind.
"""

import asyncio
import contextlib
import dataclasses
import logging
import os
import socket
import time
from typing import Any

from weft.base import errors
from weft.base.version import VERSION
from weft.client import client as clients
from weft.client.client import Client
from weft.contrib.aiopslab import running
from weft.contrib.aiopslab.model import HEARTBEAT
from weft.contrib.aiopslab.reporting import Reporting, passes, said

log = logging.getLogger("weft.aiopslab")

Json = dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setup:
    """What a worker was started with."""

    id: str
    backend_type: str
    executor: str = "simulated"
    places: int = 1
    problems: tuple[str, ...] = ()
    options: Json = dataclasses.field(default_factory=dict)
    cluster: str | None = None
    kubeconfig: str | None = None
    passed: tuple[str, ...] = ()
    poll: float = 2.0
    grace: float = running.GRACE
    beat: float = HEARTBEAT.total_seconds()

    def introduction(self) -> Json:
        return {
            "id": self.id, "backend_type": self.backend_type,
            "capabilities": {"max_parallel_tasks": self.places, "supported_problems": list(self.problems)},
            "metadata": {"host": socket.gethostname(), "version": VERSION, "kind_cluster": self.cluster or self.id},
        }  # fmt: skip


@dataclasses.dataclass
class Running:
    """A problem that runs here."""

    job: asyncio.Task[None]
    stopped: str | None = None
    """Why it must end although nobody will be told: it is not ours any more."""


class Worker:
    """`run` until `stop`; problems that run then have `patience` seconds to end."""

    def __init__(self, client: Client, setup: Setup) -> None:
        self._client = client
        self._setup = setup
        self._running: dict[str, Running] = {}
        self._talking = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()

    def stop(self) -> None:
        """No more is claimed."""
        self._stopping.set()

    async def run(self, *, patience: float = 30.0) -> None:
        await self._register()
        beating = asyncio.create_task(self._beating())
        try:
            await self._claiming()
            jobs = [one.job for one in self._running.values()]
            if jobs:
                await asyncio.wait(jobs, timeout=patience)
        finally:
            await self._end_all()
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def _register(self) -> None:
        pause = 0.5
        while not self._stopping.is_set():
            try:
                await self._client.post("/workers/register", self._setup.introduction())
            except errors.Conflict:
                log.info("%s was registered before; going on", self._setup.id)
            except errors.WeftError as error:
                _only_if_it_passes(error)
                log.warning("cannot register yet: %s", error)
                await self._rest(pause)
                pause = min(pause * 2, 10.0)
                continue
            await self._try_to_beat()
            return

    async def _beating(self) -> None:
        while True:
            await asyncio.sleep(self._setup.beat)
            await self._try_to_beat()

    async def _try_to_beat(self) -> None:
        try:
            await self._beat()
        except errors.NotFound:
            # forgotten after a week, or the database is another one
            with contextlib.suppress(errors.WeftError):
                await self._client.post("/workers/register", self._setup.introduction())
        except errors.WeftError as error:
            log.warning("a heartbeat did not get through: %s", error)

    async def _beat(self) -> None:
        async with self._talking:
            mine = list(self._running)
            # `busy`: claims are made apart
            body: Json = {"worker_id": self._setup.id, "status": "busy"}
            answer = await self._client.post("/workers/heartbeat", body)
            held = set(answer["running_task_ids"])
            for id in mine:
                if id not in held:
                    self.drop(id, "it has ended or was cancelled")
            for id in sorted(held - set(self._running)):
                log.warning("%s was left behind by an earlier process; giving it up", id)
                with contextlib.suppress(errors.Conflict, errors.NotFound):
                    await self._client.post(self._path(id, "fail"), {"error": "its worker was started anew"})

    async def _claiming(self) -> None:
        while not self._stopping.is_set():
            if len(self._running) >= self._setup.places:
                await self._wait_for_a_place()
                continue
            try:
                if await self._claim():
                    continue
            except errors.Conflict as error:
                # offline for a while, or an earlier process's tasks are still counted
                log.info("no claim now: %s", error)
                await self._try_to_beat()
            except errors.NotFound:
                await self._register()
            except errors.WeftError as error:
                _only_if_it_passes(error)
                log.warning("a claim did not get through: %s", error)
            await self._rest(self._setup.poll)

    async def _claim(self) -> bool:
        async with self._talking:
            sent = time.monotonic()
            task = await self._client.post(clients.path("/workers/{}/claim", self._setup.id))
            if task is None:
                return False
            log.info("%s: %s", task["id"], task["problem_id"])
            self._running[task["id"]] = Running(asyncio.create_task(self._do(task, sent=sent)))
            return True

    def drop(self, id: str, why: str) -> None:
        """Stops a problem that is not ours any more."""
        found = self._running.get(id)
        if found is not None and found.stopped is None:
            log.info("%s is stopped: %s", id, why)
            found.stopped = why
            found.job.cancel()

    async def _do(self, task: Json, *, sent: float) -> None:
        """Runs a problem and says how it went; never raises."""
        id, limits = task["id"], task["parameters"]
        reporting = Reporting(self._client, path=self._path(id, ""), lost=lambda: self.drop(id, "it is not ours any more"))
        flushing = asyncio.create_task(reporting.run())
        try:
            ending = await self._ended_by(task, sent + limits["timeout_minutes"] * 60, reporting)
            await reporting.finish()
            await said(self._client, self._path(id, "complete" if ending.pop("what") == "completed" else "fail"), ending)
        except asyncio.CancelledError:
            if (known := self._running.get(id)) is None or known.stopped is None:
                # this worker stops, and nobody else may begin it again
                with contextlib.suppress(errors.WeftError):
                    await said(self._client, self._path(id, "fail"), {"error": "its worker was stopped"}, tries=2)
        finally:
            flushing.cancel()
            await asyncio.gather(flushing, return_exceptions=True)
            self._running.pop(id, None)
            self._ended.set()

    async def _ended_by(self, task: Json, deadline: float, reporting: Reporting) -> Json:
        setup, limits = self._setup, task["parameters"]
        orders = {
            "executor": setup.executor,
            "problem": {
                "problem_id": task["problem_id"], "agent_config": limits["agent_config"],
                "max_steps": limits["max_steps"], "options": setup.options,
            },
        }  # fmt: skip
        environ = running.environment(
            setup.cluster or setup.id, kubeconfig=setup.kubeconfig, passed=setup.passed, environ=os.environ
        )
        began = time.monotonic()
        try:
            async with asyncio.timeout(max(deadline - began, 0)):
                ending = await running.run(orders, environ=environ, heard=reporting.hear, grace=setup.grace)
        except TimeoutError:
            error = f"it took longer than {limits['timeout_minutes']} minutes"
            ending = {"what": "failed", "error": error, "timed_out": True}
        ending["metrics"] = {"wall_seconds": round(time.monotonic() - began, 3), **ending.get("metrics", {})}
        return ending

    async def _wait_for_a_place(self) -> None:
        self._ended.clear()
        waiting = [asyncio.create_task(self._ended.wait()), asyncio.create_task(self._stopping.wait())]
        try:
            if len(self._running) >= self._setup.places:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()

    async def _rest(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _end_all(self) -> None:
        jobs = [one.job for one in self._running.values()]
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.gather(*jobs, return_exceptions=True)

    def _path(self, id: str, what: str) -> str:
        return clients.path("/workers/{}/tasks/{}/", self._setup.id, id) + what


def _only_if_it_passes(error: errors.WeftError) -> None:
    """Raises it again if trying again would not help: a wrong key, a setting."""
    if not passes(error):
        raise error
