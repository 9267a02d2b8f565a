"""Processor time, split into workers and server."""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

import psutil
import psycopg

from bench.processes import Program


@dataclass(frozen=True)
class Usage:
    """Seconds of processor time. `server` is None when the server runs on another machine."""

    worker: float
    server: float | None

    def since(self, earlier: "Usage") -> "Usage":
        """Return what was used between two samples."""
        server = None if self.server is None or earlier.server is None else self.server - earlier.server
        return Usage(worker=self.worker - earlier.worker, server=server)


def sample(workers: Iterable[Program], *, observer: psycopg.Connection) -> Usage:
    """Add up the processor time so far; the harness's own backend, `observer`, is left out."""
    backend = observer.info.backend_pid
    return Usage(
        worker=sum(_spent(process) for worker in workers for process in worker.tree()),
        server=_server(backend),
    )


def _server(observer_pid: int) -> float | None:
    try:
        backend = psutil.Process(observer_pid)
        postmaster = backend.parent()
    except psutil.NoSuchProcess:
        return None
    if postmaster is None or "postgres" not in backend.name():
        return None
    # A backend that ends moves its time to the postmaster's account of reaped children.
    reaped = postmaster.cpu_times()
    total = reaped.children_user + reaped.children_system
    return total + sum(
        _spent(process) for process in [postmaster, *postmaster.children(recursive=True)] if process.pid != observer_pid
    )


def _spent(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return times.user + times.system
    return 0.0
