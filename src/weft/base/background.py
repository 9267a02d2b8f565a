"""A task that runs beside others, and how it is ended."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class Background:
    """Runs until it is ended. It is told so once, however many want its end: a second cancellation would interrupt what the
    first set off, such as the driver's asking the server to give up a statement."""

    def __init__(self, work: Coroutine[Any, Any, None], *, name: str) -> None:
        self._task = asyncio.create_task(work, name=name)
        self._told = False

    @property
    def over(self) -> bool:
        """It has ended, or will very soon."""
        return self._told or self._task.done()

    async def end(self) -> None:
        """Returns when it is over, whoever told it. Who is cancelled in here waits no longer; it ends all the same."""
        if not self.over:
            self._told = True
            self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            # looked at, so that Python does not say that nobody did
            self._task.exception()

    async def ended(self) -> None:
        """Returns when it is over by itself; raises what broke it."""
        await asyncio.wait({self._task})
        self._task.result()
