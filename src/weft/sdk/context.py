"""The context of an attempt: what a handler can know and say while it runs.

A handler asks for it by annotation (`async def work(ctx: Context, …)`) or with `weft.current()`.
"""

import contextvars
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from weft.base.redact import Redactor


class Sink(Protocol):
    """Where a context's words go: the worker that runs the attempt."""

    def log(self, context: "Context", *, level: str, message: str, fields: dict[str, Any] | None) -> None: ...
    def progress(self, context: "Context", *, percent: int | None, message: str | None) -> None: ...


class About(Protocol):
    """What a context knows of its task."""

    id: str
    org: str
    kind: str
    attempt: int
    token: str

    @property
    def queue(self) -> str: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def trace_parent(self) -> str | None: ...
    @property
    def tags(self) -> list[str] | None: ...
    @property
    def run_id(self) -> str | None: ...
    @property
    def step_id(self) -> str | None: ...


class Context:
    """One attempt of one task."""

    __slots__ = ("_about", "_on_cancel", "_sink", "_stopped", "alive", "hidden")

    def __init__(self, sink: Sink, about: About) -> None:
        self._sink = sink
        self._about = about
        self._stopped: str | None = None
        self._on_cancel: list[Callable[[], None]] | None = None
        self.alive = 0.0
        """When it last showed a sign of life, on the monotonic clock."""
        self.hidden: Redactor | None = None
        """Takes the secrets that this attempt was given out of what it says."""

    @property
    def task_id(self) -> str:
        return self._about.id

    @property
    def kind(self) -> str:
        return self._about.kind

    @property
    def org(self) -> str:
        return self._about.org

    @property
    def queue(self) -> str:
        return self._about.queue

    @property
    def attempt(self) -> int:
        """1 for the first execution."""
        return self._about.attempt

    @property
    def retries(self) -> int:
        """How often it was tried before."""
        return self._about.attempt - 1

    @property
    def run_id(self) -> str | None:
        """The run it is a task of."""
        return self._about.run_id

    @property
    def step_id(self) -> str | None:
        """The step of that run."""
        return self._about.step_id

    @property
    def lease_token(self) -> str:
        return self._about.token

    @property
    def correlation_id(self) -> str:
        """What ties related work together; the task's own id if nobody said."""
        return self._about.correlation_id or self._about.id

    @property
    def trace(self) -> str | None:
        """The W3C traceparent given when it was enqueued."""
        return self._about.trace_parent

    @property
    def tags(self) -> list[str]:
        return self._about.tags or []

    @property
    def cancelled(self) -> str | None:
        """Why this attempt should stop, or None: cancelled, timed out, silent (no sign of life within the
        task's `heartbeat_timeout`), lease lost, database away, shutting down."""
        return self._stopped

    def log(self, message: str, *, level: str = "info", **fields: Any) -> None:
        """Keeps a line with the task."""
        self.alive = time.monotonic()
        self._sink.log(self, level=level, message=message, fields=fields or None)

    def progress(self, percent: float | None = None, message: str | None = None) -> None:
        """Shows how far the attempt is: 0-100 and a few words."""
        self.alive = time.monotonic()
        bounded = None if percent is None else max(0, min(100, round(percent)))
        self._sink.progress(self, percent=bounded, message=message)

    def redact(self, text: str) -> str:
        """The text without the secrets that this attempt was given. What is logged or returned is redacted anyway."""
        return text if self.hidden is None else self.hidden.text(text)

    def heartbeat(self) -> None:
        """Says that the attempt is alive, and raises in a thread that was told to stop.

        The lease itself is kept by the worker's own beat. A task with a `heartbeat_timeout` calls this, `log` or
        `progress` within it, or counts as hung; a long loop in a sync handler calls it to end promptly.
        """
        self.alive = time.monotonic()
        if self._stopped is not None:
            raise Stopped(self._stopped)

    def stop(self, why: str) -> None:
        """Tells the attempt to end; the worker calls this."""
        if self._stopped is None:
            self._stopped = why
            for callback in self._on_cancel or ():
                callback()

    def wait_stopped(self) -> threading.Event:
        """An event a thread can wait on; set when the attempt should stop."""
        event = threading.Event()
        self._on_cancel = [*(self._on_cancel or ()), event.set]
        if self._stopped is not None:
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
