"""What a problem says while it runs, sent in batches; and its last word, which is said until somebody has heard it."""

import asyncio
import contextlib
import datetime as dt
import logging
from collections.abc import Callable
from typing import Any

from weft.base import errors
from weft.client.client import Client
from weft.net.guard import Unreachable

log = logging.getLogger("weft.aiopslab")

Json = dict[str, Any]

_EVERY = 0.5
_BATCH = 200
_MOST = 20_000
"""Lines that wait; what is said beyond them is dropped, and that is said."""
_LONGEST = 32_768
_LEVELS = ("debug", "info", "warning", "error", "critical")
_TRIES = 30


def passes(error: errors.WeftError) -> bool:
    """Whether it may be otherwise in a moment: no connection, a server that is not well, too much at once."""
    if isinstance(error, Unreachable | errors.DatabaseError | errors.OutcomeUnknown | errors.RateLimited):
        return True
    return int(error.details.get("status") or 0) >= 500


class Reporting:
    """Sends lines and messages of one task. `lost` is called if the task turns out not to be ours any more."""

    def __init__(self, client: Client, *, path: str, lost: Callable[[], None]) -> None:
        self._client = client
        self._path = path
        self._lost = lost
        self._logs: list[Json] = []
        self._messages: list[Json] = []
        self._dropped = 0
        self._sending = asyncio.Lock()

    def hear(self, event: Json) -> None:
        """Something that the problem said."""
        if len(self._logs) + len(self._messages) >= _MOST:
            self._dropped += 1
        elif event.get("what") == "log":
            self._logs.append(_line(event))
        elif event.get("what") == "message":
            role, content = str(event.get("role") or "agent")[:64], _text(event.get("content"))
            self._messages.append({"role": role, "content": content})

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(_EVERY)
            await self.flush()

    async def finish(self) -> None:
        """Everything that is left."""
        if self._dropped:
            self._logs.append(_line({"level": "warning", "message": f"{self._dropped:,} lines more were said than kept"}))
        while self._logs or self._messages:
            if not await self.flush():
                return

    async def flush(self) -> bool:
        """Sends a batch of each; False if that did not work."""
        async with self._sending:
            for name, kept in (("logs", self._logs), ("messages", self._messages)):
                if batch := kept[:_BATCH]:
                    what = "logs" if name == "logs" else "conversation"
                    if not await self._send(self._path + what, {name: batch}):
                        return False
                    del kept[: len(batch)]
        return True

    async def _send(self, path: str, body: Json) -> bool:
        try:
            await self._client.post(path, body)
        except (errors.Conflict, errors.NotFound):
            self._lost()
            return False
        except errors.InvalidInput as error:
            # it would not become better by saying it again
            log.warning("lines were refused: %s", error)
        except errors.WeftError as error:
            log.warning("lines did not get through: %s", error)
            return False
        return True


async def said(client: Client, path: str, body: Json, *, tries: int = _TRIES) -> None:
    """Says a last word until it was heard. That it is not ours to say, or was heard before, is an answer too."""
    for number in range(1, tries + 1):
        try:
            await client.post(path, body)
            return
        except (errors.Conflict, errors.NotFound) as error:
            log.info("nobody wants to know: %s", error)
            return
        except errors.InvalidInput as error:
            log.warning("the result was refused: %s", error)
            body = {"error": f"its result was refused: {error.message}"[:2000]}
            path = path.rpartition("/")[0] + "/fail"
        except errors.WeftError as error:
            log.warning("the result did not get through: %s", error)
            if number < tries:
                await asyncio.sleep(min(0.2 * 2**number, 10.0))


def _line(event: Json) -> Json:
    level = event.get("level")
    context = event.get("context") if isinstance(event.get("context"), dict) else {}
    assert isinstance(context, dict)
    kept: Json = {}
    with contextlib.suppress(TypeError, ValueError):
        if context.get("step") is not None:
            kept["step"] = max(0, min(int(context["step"]), 1_000_000))
    if context.get("action") is not None:
        kept["action"] = _text(context["action"])
    if isinstance(context.get("details"), dict):
        kept["details"] = context["details"]
    return {
        "level": level if level in _LEVELS else "info", "message": _text(event.get("message")), "context": kept,
        "timestamp": dt.datetime.now(dt.UTC).isoformat(),
    }  # fmt: skip


def _text(value: object) -> str:
    return str(value if value is not None else "").replace("\0", "\ufffd")[:_LONGEST]
