"""A test that hangs says where and fails; the others go on.

By SIGALRM, which also ends waits inside an event loop. What everything was waiting for goes to the terminal at once,
past pytest and xdist. A test that does not even hear the signal takes its process with it later on.
"""

import asyncio
import faulthandler
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Generator
from types import FrameType
from typing import Never, TextIO

import pytest

LIMIT = 240
DEAF = 4 * LIMIT + 60
DEEP = 12

_terminal = pytest.StashKey[TextIO]()


def pytest_configure(config: pytest.Config) -> None:
    # otherwise descriptor 2 is a file of pytest's
    with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        config.stash[_terminal] = os.fdopen(os.dup(2), "w", buffering=1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    terminal = item.config.stash[_terminal]

    def ring(signum: int, frame: FrameType | None) -> Never:
        print(f"\n*** {item.nodeid} hung for {LIMIT} s, at:", file=terminal)
        _tell(frame, terminal)
        pytest.fail(f"hung for {LIMIT} s; what it waited for was printed then", pytrace=False)

    before = signal.signal(signal.SIGALRM, ring)
    # again and again: the tear-down may hang as well, and the second try
    signal.setitimer(signal.ITIMER_REAL, LIMIT, LIMIT)
    faulthandler.dump_traceback_later(DEAF, exit=True, file=terminal)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _tell(frame: FrameType | None, terminal: TextIO) -> None:
    traceback.print_stack(frame, limit=DEEP, file=terminal)
    for thread, at in sys._current_frames().items():
        if thread != threading.main_thread().ident:
            print(f"--- thread {thread}:", file=terminal)
            traceback.print_stack(at, limit=DEEP, file=terminal)
    # those of other threads' loops too
    for task in [found for found in gc.get_objects() if isinstance(found, asyncio.Task) and not found.done()]:
        print(f"--- {task.get_name()} waits in:", file=terminal)
        awaited: object = task.get_coro()
        while (inner := getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)) is not None:
            print(f'  File "{inner.f_code.co_filename}", line {inner.f_lineno}, in {inner.f_code.co_name}', file=terminal)
            awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)
        print(f"  {awaited!r}", file=terminal)
