"""The context of an attempt: what a handler can know and say while it runs.

A handler asks for it by annotation (`async def work(ctx: Context, …)`) or with `weft.current()`.
"""

import contextvars
import datetime as dt
import threading
from collections.abc import Callable
from typing import Any, Protocol


class Sink(Protocol):
    """Where a context's words go: the worker that runs the attempt."""

    def log(self, context: "Context", *, level: str, message: str, fields: dict[str, Any] | None) -> None: ...
    def progress(self, context: "Context", *, percent: int | None, message: str | None) -> None: ...


class Context:
    """One attempt of one task."""

    __slots__ = (
        "_cancel", "_on_cancel", "_sink", "attempt", "correlation_id", "deadline", "kind", "lease_token",
        "org", "queue", "tags", "task_id", "trace",
    )  # fmt: skip

    def __init__(
        self, sink: Sink, *, task_id: str, kind: str, org: str, attempt: int, queue: str, lease_token: str,
        correlation_id: str | None = None, trace: str | None = None, tags: list[str] | None = None,
    ) -> None:  # fmt: skip
        self._sink = sink
        self._cancel: str | None = None
        self._on_cancel: list[Callable[[], None]] = []
        self.task_id = task_id
        self.kind = kind
        self.org = org
        self.attempt = attempt
        self.queue = queue
        self.lease_token = lease_token
        self.correlation_id = correlation_id or task_id
        self.trace = trace
        self.tags = tags or []
        self.deadline: dt.datetime | None = None

    @property
    def cancelled(self) -> str | None:
        """Why this attempt should stop ('cancelled', 'timed out', 'lease lost', 'shutting down'), or None."""
        return self._cancel

    def log(self, message: str, *, level: str = "info", **fields: Any) -> None:
        """Keeps a line with the task."""
        self._sink.log(self, level=level, message=message, fields=fields or None)

    def progress(self, percent: float | None = None, message: str | None = None) -> None:
        """Shows how far the attempt is: 0-100 and a few words."""
        bounded = None if percent is None else max(0, min(100, round(percent)))
        self._sink.progress(self, percent=bounded, message=message)

    def heartbeat(self) -> None:
        """Says that the attempt is alive, and raises in a thread that was told to stop.

        The lease itself is kept by the worker's own beat; a long loop in a sync handler calls this to end promptly.
        """
        if self._cancel is not None:
            raise Stopped(self._cancel)

    def stop(self, why: str) -> None:
        """Tells the attempt to end; the worker calls this."""
        if self._cancel is None:
            self._cancel = why
            for callback in self._on_cancel:
                callback()

    def wait_stopped(self) -> threading.Event:
        """An event a thread can wait on; set when the attempt should stop."""
        event = threading.Event()
        self._on_cancel.append(event.set)
        if self._cancel is not None:
            event.set()
        return event


class Stopped(BaseException):
    """Raised in a handler that was told to stop. Passes through `except Exception` in user code."""


_current: contextvars.ContextVar[Context | None] = contextvars.ContextVar("weft_context", default=None)


def current() -> Context | None:
    """The context of the attempt this code runs in, or None outside of one."""
    return _current.get()


def enter(context: Context | None) -> "contextvars.Token[Context | None]":
    """The worker sets it around a handler."""
    return _current.set(context)


def leave(token: "contextvars.Token[Context | None]") -> None:
    _current.reset(token)
