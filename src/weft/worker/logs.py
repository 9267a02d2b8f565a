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
    text = clean(context.redact(str(message))[:MAX_MESSAGE])
    known = _LEVELS.get(str(level).lower(), "info")
    return Line(context.task_id, context.lease_token, dt.datetime.now(dt.UTC), known, text, _fields(fields, context))


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


class Secretive(logging.Filter):
    """Added to the other handlers of a worker's root logger: what an attempt logs goes to stderr without its secrets."""

    def filter(self, record: logging.LogRecord) -> bool:
        context = contexts.current()
        if context is not None and context.hidden is not None:
            try:
                record.msg, record.args = context.redact(record.getMessage()), ()
            except Exception:  # noqa: BLE001 - a broken log call is told of by the handler itself
                return True
            if record.exc_info and not record.exc_text:
                record.exc_text = _FORMATTER.formatException(record.exc_info)
            record.exc_text = None if record.exc_text is None else context.redact(record.exc_text)
            record.stack_info = None if record.stack_info is None else context.redact(record.stack_info)
        return True


_FORMATTER = logging.Formatter()


def _name(level: int) -> str:
    if level >= logging.CRITICAL:
        return "critical"
    if level >= logging.ERROR:
        return "error"
    if level >= logging.WARNING:
        return "warning"
    return "info" if level >= logging.INFO else "debug"


def _fields(fields: dict[str, Any] | None, context: Context) -> str | None:
    if not fields:
        return None
    try:
        text = json.text(fields, what="log fields")
        return text if context.hidden is None else json.text(context.hidden.value(json.loads(text)), what="log fields")
    except Exception:  # noqa: BLE001 - whatever a handler logs must not fail it
        return json.text({"repr": context.redact(repr(fields))[:MAX_MESSAGE].replace("\0", "")})
