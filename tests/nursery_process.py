"""The process that tests/nursery.py forks from: `python nursery_process.py DESCRIPTOR-OF-A-SOCKET`."""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import threading
import time
from typing import Any, Never

import weft.cli
from weft.api import routes
from weft.base import config, crash


def born(control: socket.socket) -> dict[str, Any]:
    """Forks whenever it is asked to, and tells how each child ended. Comes back in children only, with their wish."""
    heard, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    fates: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([control, heard], [], [])
        if heard in ready:
            os.read(heard, 4096)
            _tell(fates)
        if control in ready:
            said, descriptors, _, _ = socket.recv_fds(control, 1, 5)
            if not said:  # whoever asked is gone
                os._exit(0)
            wish, stdin, out, err, fate = descriptors
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for one in (heard, wake, fate, *fates.values()):
                    os.close(one)
                control.close()
                return _become(wish, stdin, out, err)
            fates[pid] = fate
            with contextlib.suppress(BrokenPipeError):
                os.write(fate, b"%d\n" % pid)
            for one in (wish, stdin, out, err):
                os.close(one)


def _tell(fates: dict[int, int]) -> None:
    for pid in list(fates):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with contextlib.suppress(BrokenPipeError):
                os.write(fates[pid], b"%d\n" % os.waitstatus_to_exitcode(status))
            os.close(fates.pop(pid))


def _become(wish: int, stdin: int, out: int, err: int) -> dict[str, Any]:
    with os.fdopen(wish, "rb") as file:
        wanted: dict[str, Any] = json.load(file)
    for number, given in enumerate((stdin, out, err)):
        os.dup2(given, number)
        os.close(given)
    os.environ.clear()
    os.environ.update(wanted["env"])
    time.tzset()
    os.chdir(wanted["cwd"])
    # as `python -m`, and `python FILE`, do it
    sys.path[0] = os.path.dirname(wanted["program"]) if wanted["program"] else wanted["cwd"]
    sys.argv[1:] = wanted["arguments"]
    importlib.reload(crash)  # reads where to die when it is imported
    return wanted


def _import_commands() -> None:
    """All but those that read settings while they are imported: these are the child's own. And what commands import
    when they ask an application in their own process."""
    load = config.load
    config.load = _refuse  # type: ignore[assignment]
    for module in pkgutil.iter_modules(weft.cli.__path__, "weft.cli."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(_TooEarly):
                importlib.import_module(module.name)
    routes.operations()
    config.load = load


def _leave(code: int) -> Never:
    """As Python ends, but for taking apart all that it has imported: most of the work of a small command, since each page
    of the nursery's memory would be copied for that first."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class _TooEarly(Exception):
    pass


def _refuse(**_given: object) -> Never:
    raise _TooEarly


if __name__ == "__main__":
    _import_commands()
    assert threading.active_count() == 1, "no fork would have the other threads"
    gc.freeze()
    wish = born(socket.socket(fileno=int(sys.argv[1])))
    try:
        if wish["program"]:
            sys.argv[0] = wish["program"]
            runpy.run_path(wish["program"], run_name="__main__")
        else:
            runpy.run_module("weft.cli", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if isinstance(ended.code, int | None):
            _leave(ended.code or 0)
        raise
