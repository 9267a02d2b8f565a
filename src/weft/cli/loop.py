"""`asyncio.run` on the fastest loop there is here."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

try:
    import uvloop

    _new_loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
except ImportError:  # not on every platform
    _new_loop = asyncio.new_event_loop


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs it to its end."""
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        return runner.run(main)
