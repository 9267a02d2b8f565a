"""One worker in one process: load the app, work until told to stop or used up, drain."""

import asyncio
import contextlib
import dataclasses
import logging
import os
import resource
import sys
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import click

from weft.app import App
from weft.base import plain
from weft.cli import running
from weft.cli.stopping import Stopping
from weft.cluster import leaders
from weft.parts.processes import ROLES
from weft.worker.worker import Worker

log = logging.getLogger("weft.cli")

DRAINED = 4
"""The exit code of a supervised worker that was drained from elsewhere: nobody is to take its place."""

_LOOK_EVERY = 0.25
_STATM = Path("/proc/self/statm")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Work:
    """What `weft worker` was told."""

    target: str
    queues: tuple[str, ...] = ()
    concurrency: int = 50
    capabilities: tuple[str, ...] = ()
    grace: float = 30.0
    lead: bool = True
    max_tasks: int | None = None
    max_memory: int | None = None
    """MiB."""
    log_level: str = "info"
    http: str | None = None
    """The server to work for, instead of a database."""
    key: str | None = dataclasses.field(default=None, repr=False)
    supervised: bool = False
    """A child: its end of file on stdin means that the supervisor is gone."""


def work(told: Work) -> None:
    """Works in this process until it has drained."""
    app = running.load_app(told.target)
    set_up_logging(told.log_level)
    drained = running.run(serve(app, told))
    leave_threads(DRAINED if drained and told.supervised else 0)


async def serve(app: App, told: Work, *, stay: bool = False) -> bool:
    """The life of a worker, from the first signal handler to the last settled task; whether it was drained from elsewhere.
    With `stay` that is not the end: a signal is waited for."""
    stopping = Stopping()
    stopping.install()
    if told.supervised:
        _follow_stdin(stopping)
    async with contextlib.AsyncExitStack() as stack:
        if told.http is not None:
            working = app.http_worker(
                told.http, key=told.key or "", queues=told.queues, concurrency=told.concurrency,
                capabilities=told.capabilities, target=told.target, grace=told.grace,
            )  # fmt: skip
        else:
            await stack.enter_async_context(app)
            working = app.worker(
                queues=told.queues, concurrency=told.concurrency, capabilities=told.capabilities,
                roles=roles(lead=told.lead), target=told.target, grace=told.grace,
            )  # fmt: skip
        async with working as worker:
            stopping.hurry = worker.stop
            running.ready()
            click.echo(f"weft worker is ready: {_describe(app, told)}", err=True)
            why = await _until(stopping, worker, told)
            log.info("%s: draining, for at most %g s; signal again to stop at once", why, told.grace)
    log.info("drained: %d attempts ended here", worker.settled)
    if worker.drained and stay:
        await stopping.asked.wait()
    return worker.drained


def roles(*, lead: bool) -> tuple[str, ...]:
    """The roles of a node that may lead, or must not."""
    return tuple(role for role in ROLES if lead or role != leaders.SCHEDULER)


def set_up_logging(level: str) -> None:
    """Lines on stderr, unless the app has set up logging itself. What handlers log from this level on is kept."""
    handler = logging.StreamHandler()
    handler.setFormatter(plain.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    if level != "debug":
        # one line per request of a worker over HTTP
        logging.getLogger("httpx2").setLevel(logging.WARNING)


def leave_threads(code: int = 0) -> None:
    """Exits at once if a handler's thread would not end: Python would wait for it for ever."""
    stuck = [one for one in threading.enumerate() if one is not threading.main_thread() and not one.daemon]
    if stuck:
        log.warning("%d threads did not stop when told; their tasks were given back", len(stuck))
        logging.shutdown()
        sys.stdout.flush()
        os._exit(code)
    if code:
        sys.exit(code)


def resident() -> float:
    """MiB of memory this process uses (where the system does not say: has used at most)."""
    try:
        pages = int(_STATM.read_text().split()[1])
        return pages * resource.getpagesize() / 2**20
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / (2**20 if sys.platform == "darwin" else 2**10)


async def _until(stopping: Stopping, worker: Worker, told: Work) -> str:
    """Waits for a reason to stop; answers it."""
    reasons: list[Coroutine[Any, Any, str]] = [_asked(stopping), _broken(worker), _used_up(worker, told)]
    waiting = [asyncio.create_task(one) for one in reasons]
    try:
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        for one in waiting:
            one.cancel()


async def _asked(stopping: Stopping) -> str:
    await stopping.asked.wait()
    return "asked to stop"


async def _broken(worker: Worker) -> str:
    """Ends when the worker's own loop has: it was drained from elsewhere, or `app.worker` then raises what broke it."""
    name = Worker.run.__qualname__
    await asyncio.wait([one for one in asyncio.all_tasks() if getattr(one.get_coro(), "__qualname__", "") == name])
    return "told to drain" if worker.drained else "the worker broke"


async def _used_up(worker: Worker, told: Work) -> str:
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        if told.max_tasks is not None and worker.settled >= told.max_tasks:
            return f"ended {worker.settled} attempts, of at most {told.max_tasks}"
        if told.max_memory is not None and (used := resident()) > told.max_memory:
            return f"uses {used:.0f} MiB, of at most {told.max_memory}"


def _follow_stdin(stopping: Stopping) -> None:
    loop = asyncio.get_running_loop()

    def readable() -> None:
        if not os.read(0, 1024):
            loop.remove_reader(0)
            stopping.ask()

    loop.add_reader(0, readable)


def _describe(app: App, told: Work) -> str:
    kinds = sorted(app.registry.kinds())
    shown = ", ".join(kinds[:5]) + (f" and {len(kinds) - 5} more" if len(kinds) > 5 else "")
    queues = f"queues {', '.join(told.queues)}" if told.queues else "all queues"
    return f"{shown or 'no tasks of its own'}; {queues}; {told.concurrency} at a time. Ctrl-C drains and stops."
