"""The process in which one problem runs. Its orders come as a line of JSON on stdin; what it says goes to a pipe of its own.

Whatever the problem's code prints is free to go to stdout and stderr. If stdin ends, the worker is gone, and so is this
process with all it has started: nobody would stop it otherwise.
"""

import asyncio
import contextlib
import importlib
import json
import os
import signal
import sys
import threading
import traceback
from typing import Any, TextIO

from weft.contrib.aiopslab.executors.problem import CannotRun, Json, Outcome, Problem

CHANNEL = "WEFT_AIOPSLAB_CHANNEL"
"""The number of the pipe."""

BUILT_IN = {name: f"weft.contrib.aiopslab.executors.{name}:run" for name in ("orchestrator", "service", "simulated")}


class Channel:
    """Says one JSON object a line."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.Lock()

    def say(self, what: str, told: Json) -> None:
        with self._lock, contextlib.suppress(BrokenPipeError):
            self._out.write(json.dumps({"what": what, **told}) + "\n")
            self._out.flush()

    def log(
        self, message: str, *, level: str = "info", step: int | None = None, action: str | None = None,
        details: Json | None = None,
    ) -> None:  # fmt: skip
        context = {"step": step, "action": action, "details": details}
        told = {name: value for name, value in context.items() if value is not None}
        self.say("log", {"level": level, "message": message, "context": told})

    def said(self, role: str, content: str) -> None:
        self.say("message", {"role": role, "content": content})


def main() -> None:
    orders: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=_die_with_parent, daemon=True).start()
    with os.fdopen(int(os.environ[CHANNEL]), "w", encoding="utf-8") as out:
        channel = Channel(out)
        try:
            outcome = asyncio.run(_run(orders, channel))
        except CannotRun as error:
            channel.say("failed", {"error": str(error)})
        except KeyboardInterrupt:
            channel.say("failed", {"error": "it was interrupted"})
            raise
        except Exception as error:  # noqa: BLE001  (whatever a problem's code raises)
            channel.log(traceback.format_exc()[-8000:], level="error")
            channel.say("failed", {"error": f"{type(error).__name__}: {error}"})
        else:
            output = {"solved": outcome.solved, **outcome.output}
            channel.say("completed", {"output": output, "metrics": outcome.metrics})


async def _run(orders: dict[str, Any], channel: Channel) -> Outcome:
    target = BUILT_IN.get(orders["executor"], orders["executor"])
    module, _, attribute = target.partition(":")
    try:
        run = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise CannotRun(f"the executor {orders['executor']!r} cannot be imported: {error}") from None
    outcome: Outcome = await run(Problem(**orders["problem"]), channel)
    return outcome


def _die_with_parent() -> None:
    # nothing more ever comes on stdin, but its end
    while sys.stdin.read(4096):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
