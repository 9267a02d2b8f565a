"""Signals of a process that works: the first drains, the second hurries, the third ends it here and now.

After the second the process has a few seconds to give its work back. If it cannot (the database is away), it exits all
the same: what it held is rescued by the others.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Callable

log = logging.getLogger("weft.cli")

SIGNALS = (signal.SIGTERM, signal.SIGINT)
_PATIENCE = 20.0


class Stopping:
    """`asked` is set by the first signal; `hurry` is called by the second."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.hurry: Callable[[], None] | None = None
        """None: there is nothing to give back yet, so the second signal may end the process."""
        self.at_exit: Callable[[], None] = _nothing
        """Called before the process is ended by force."""
        self._signals = 0

    def install(self) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.signalled)

    def ask(self) -> None:
        """Drain, without a signal."""
        self.asked.set()

    def signalled(self) -> None:
        self._signals += 1
        if self._signals == 1:
            self.ask()
        elif self._signals == 2 and self.hurry is not None:
            log.warning("stopping now")
            self.hurry()
            asyncio.get_running_loop().call_later(_PATIENCE, self._end)
        else:
            self._end()

    def _end(self) -> None:
        log.error("did not wait any longer; what was still held will be rescued")
        self.at_exit()
        os._exit(1)


def _nothing() -> None:
    return None
