"""What comes out of a task: its result (wait for it if you like) and its log, by pages or as it is written."""

import datetime as dt
import uuid
from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec

from weft.api import pages, waiting
from weft.api.operation import Answer, Call, Operation, Stream
from weft.api.task_shape import EXAMPLE
from weft.base import errors, json
from weft.queue import tasks as kernel
from weft.queue.model import FinalState, LiveState, LogLevel, Reason

LONGEST_WAIT = 60
LONGEST_STREAM = 3600.0
_QUICK, _SLOW = 0.25, 1.0
_SILENCE = 15.0
"""Seconds after which a stream says that it is still there."""


class ResultQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How long to wait for the end."""

    wait: Annotated[
        float, msgspec.Meta(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the task to end; 0: do not.")
    ] = 0.0


class Result(msgspec.Struct, kw_only=True):
    """How a task ended, or that it has not (`ended` is false)."""

    id: uuid.UUID
    ended: bool
    state: LiveState | FinalState
    reason: Reason | None
    result: Any
    error: dict[str, Any] | None


class Line(msgspec.Struct, kw_only=True):
    """A line a handler wrote."""

    id: int
    attempt: int
    at: dt.datetime
    level: LogLevel
    message: str
    fields: dict[str, Any] | None


class LogPlace(msgspec.Struct, frozen=True):
    """Where a page of a log ended."""

    id: Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class FollowQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Where to begin."""

    after: Annotated[
        int, msgspec.Meta(ge=0, le=2**62, description="Only lines after this id; Last-Event-ID says the same.")
    ] = 0


async def result(call: Call[None, ResultQuery]) -> Answer:
    found = await _result(call)
    if not found.ended and call.query.wait > 0:
        await call.service.waiting.ended(call.principal.org, call.id, seconds=call.query.wait)
        found = await _result(call)
    return Answer(body=found, status=200 if found.ended else 202)


async def logs(call: Call[None, pages.Paging]) -> pages.Page[Line]:
    place = call.query.place(LogPlace)
    lines = await _lines(call, after=place.id if place else 0, take=call.query.limit + 1)
    if not lines:
        await _must_exist(call)
    return pages.page(lines, limit=call.query.limit, show=lambda line: line, place=lambda line: LogPlace(line.id))


async def follow(call: Call[None, FollowQuery]) -> Stream:
    await _must_exist(call)
    call.service.streams.must_have_room()
    given = call.headers.get("last-event-id", "")
    if given and not (given.isascii() and given.isdecimal() and len(given) < 19):
        raise errors.InvalidInput("Last-Event-ID must be the id of a log line, a whole number")
    return Stream(_followed(call, after=int(given) if given else call.query.after), "text/event-stream")


async def _followed(call: Call[None, FollowQuery], *, after: int) -> AsyncIterator[bytes]:
    """Lines as they come, until the task has ended and all are told. Holds no connection between two looks."""
    service = call.service
    silent, lived, pause = 0.0, 0.0, _QUICK
    with service.streams.one():
        while lived < LONGEST_STREAM and not service.waiting.closed.is_set():
            # asked before the lines are read: what is logged before the end is then never missed
            ended = await _result(call)
            lines = await _lines(call, after=after, take=pages.MOST)
            for line in lines:
                yield _event("log", line, id=line.id)
                after = line.id
            if ended.ended and len(lines) < pages.MOST:
                yield _event("end", {"state": ended.state, "reason": ended.reason})
                return
            if lines:
                silent, pause = 0.0, _QUICK
            elif silent >= _SILENCE:
                silent = 0.0
                yield b": still here\n\n"
            if len(lines) < pages.MOST:
                await waiting.first(service.waiting.closed, seconds=pause)
                silent, lived, pause = silent + pause, lived + pause, min(pause * 1.5, _SLOW)


def _event(name: str, data: Any, *, id: int | None = None) -> bytes:
    head = f"event: {name}\n".encode() + (b"" if id is None else f"id: {id}\n".encode())
    return head + b"data: " + json.dumps(data) + b"\n\n"


async def _result(call: Call[None, Any]) -> Result:
    async with call.tx() as tx:
        task = await kernel.get(tx, id=call.id, org=call.principal.org)
    return Result(
        id=task.id, ended=task.finished_at is not None, state=task.state, reason=task.reason, result=task.result,
        error=task.error,
    )  # fmt: skip


async def _lines(call: Call[None, Any], *, after: int, take: int) -> list[Line]:
    async with call.tx() as tx:
        found = await kernel.logs(tx, id=call.id, org=call.principal.org, after=after, take=take)
    return [
        Line(id=one.id, attempt=one.attempt, at=one.at, level=one.level, message=one.message, fields=one.fields)
        for one in found
    ]


async def _must_exist(call: Call[None, Any]) -> None:
    async with call.tx() as tx:
        await kernel.get(tx, id=call.id, org=call.principal.org)


LINE = {"id": 1, "attempt": 1, "at": "2026-01-05T09:30:00.1Z", "level": "info", "message": "sent", "fields": None}

OPERATIONS = (
    Operation(
        "GET", "/v1/tasks/{id:uuid}/result", action="task.read", handler=result, summary="A task's result",
        description="With `wait` the answer comes when the task ends, or after that many seconds.",
        query=ResultQuery, answer=Result, also={202: "It has not ended yet."}, errors=("NOT_FOUND",),
        answer_example={"id": EXAMPLE["id"], "ended": True, "state": "completed", "reason": None,
                        "result": {"sent": True}, "error": None},
    ),
    Operation(
        "GET", "/v1/tasks/{id:uuid}/logs", action="task.read", handler=logs, summary="What a task logged, oldest first",
        query=pages.Paging, answer=pages.Page[Line], errors=("NOT_FOUND",),
        answer_example={"items": [LINE], "next_cursor": None},
    ),
    Operation(
        "GET", "/v1/tasks/{id:uuid}/logs/stream", action="task.read", handler=follow,
        summary="What a task logs, as it does",
        description="Server-sent events: `log` with a line, `end` when the task has ended. Resume with Last-Event-ID.",
        query=FollowQuery, stream=True, media_type="text/event-stream", errors=("NOT_FOUND", "RATE_LIMITED"),
    ),
)  # fmt: skip
