"""`app.sync`: the app's calls for code that is not async. A loop in a thread of its own runs them.

With `tx=` your sync connection is used right here, in your thread and your transaction.
"""

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from typing import Any


class Part:
    """What an app offers under a name of its own; its coroutines have a sync form too."""


class Synchronous:
    """`app.sync.enqueue(...)` is `await app.enqueue(...)`, and so on for every coroutine of the app and of its parts:
    `app.sync.jobs.create(...)`."""

    def __init__(self, app: Any, *, root: "Synchronous | None" = None) -> None:
        self._app = app
        self._root = root or self
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._app, name)
        if isinstance(method, Part):
            return Synchronous(method, root=self._root)
        if name.startswith("_") or not asyncio.iscoroutinefunction(method):
            raise AttributeError(f"app.sync has no {name!r}; only the app's coroutines have a sync form")

        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("tx") is not None:
                # the caller's own connection must not leave the caller's thread
                return _run_here(method(*args, **kwargs))
            return asyncio.run_coroutine_threadsafe(method(*args, **kwargs), self._root._running()).result()

        return call

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="weft sync", daemon=True).start()
                atexit.register(self._close)
            return self._loop

    def _close(self) -> None:
        if self._loop is not None and self._loop.is_running():
            asyncio.run_coroutine_threadsafe(self._app.close(), self._loop).result(timeout=10)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None


def _run_here(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Drives a coroutine that never has to wait, as enqueueing on a sync connection does not."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise TypeError("app.sync with tx= takes a sync connection")
