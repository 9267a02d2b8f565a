"""Keeping what is logged inside a handler with its task: std `logging` anywhere below it, and `ctx.log`."""

import datetime as dt
import logging
from typing import Any

from weft.base import json
from weft.queue.lease import Line
from weft.queue.model import LogLevel
from weft.sdk import context as contexts
from weft.sdk.context import Context

MAX_MESSAGE = 8192
MAX_LINES = 10_000
"""Lines kept per attempt; a note says that there were more."""

_LEVELS: dict[str, LogLevel] = {
    "debug": "debug", "info": "info", "warning": "warning", "warn": "warning", "error": "error", "critical": "critical",
    "fatal": "critical",
}  # fmt: skip


def line(context: Context, *, level: str, message: str, fields: dict[str, Any] | None) -> Line:
    """A log line as it is stored: bounded, without NUL, fields as JSON or as text."""
    text = clean(str(message)[:MAX_MESSAGE])
    known = _LEVELS.get(str(level).lower(), "info")
    return Line(context.task_id, context.lease_token, dt.datetime.now(dt.UTC), known, text, _fields(fields))


def clean(text: str) -> str:
    """What PostgreSQL can store of it: no NUL, no halves of a surrogate pair."""
    return text.replace("\0", "�").encode("utf-8", "replace").decode()


class TaskLogHandler(logging.Handler):
    """Added to the root logger of a worker; only what is logged inside an attempt is kept."""

    def emit(self, record: logging.LogRecord) -> None:
        context = contexts.current()
        if context is None or record.name.startswith(("weft.worker", "weft.db", "psycopg")):
            return
        try:
            message = self.format(record)
        except Exception:  # noqa: BLE001 - a broken log call must not fail the task
            self.handleError(record)
            return
        context.log(message, level=_name(record.levelno))


def _name(level: int) -> str:
    if level >= logging.CRITICAL:
        return "critical"
    if level >= logging.ERROR:
        return "error"
    if level >= logging.WARNING:
        return "warning"
    return "info" if level >= logging.INFO else "debug"


def _fields(fields: dict[str, Any] | None) -> str | None:
    if not fields:
        return None
    try:
        return json.text(fields, what="log fields")
    except Exception:  # noqa: BLE001 - whatever a handler logs must not fail it
        return json.text({"repr": repr(fields)[:MAX_MESSAGE].replace("\0", "")})
