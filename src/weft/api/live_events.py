"""`/v1/live/sse`: one subscription as server-sent events, for whoever has no WebSocket at hand."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import msgspec

from weft.api import live_watch, policy
from weft.api.live_subject import Subject
from weft.api.operation import Call, Operation, Stream
from weft.base import errors, ids, json
from weft.live.asking import Scope
from weft.live.outbox import Full, Letter, Outbox
from weft.live.protocol import Cursor
from weft.live.sessions import New, Subscribed

LONGEST = 3600.0
_SILENCE = 15.0


class EventsQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to watch."""

    subject: Annotated[str, msgspec.Meta(min_length=1, max_length=300, description="As for /v1/live, e.g. `counts`.")]
    args: Annotated[str, msgspec.Meta(max_length=4096, description="The subject's arguments, a JSON object.")] = "{}"
    cursor: Cursor | None = None
    """Only what happened since; Last-Event-ID says the same."""


class _Watcher:
    """Puts what there is into an outbox; whoever does not read is let go."""

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.failed: errors.WeftError | None = None
        self.over = False

    def show(self, data: bytes, *, cursor: int, gap: bool, replaces: bool) -> None:
        try:
            self.outbox.put(Letter(data, about="it", cursor=cursor, gap=gap), replace=replaces)
        except Full:
            self.over = True

    def fail(self, error: errors.WeftError) -> None:
        self.failed = error
        with contextlib.suppress(Full):
            self.outbox.put(Letter(b""))


async def events(call: Call[None, EventsQuery]) -> Stream:
    query = call.query
    subject = call.service.live.subject(query.subject)
    policy.require(call.principal, subject.action)
    try:
        args = msgspec.json.decode(query.args, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        raise errors.InvalidInput("args must be a JSON object, %-escaped; e.g. {} for none") from None
    subject.check(args)
    call.service.streams.must_have_room()
    given = call.headers.get("last-event-id", "")
    if given and not (given.isascii() and given.isdecimal() and len(given) < 19):
        raise errors.InvalidInput("Last-Event-ID must be the cursor of an event, a whole number")
    return Stream(_events(call, subject, args, cursor=int(given) if given else query.cursor), "text/event-stream")


async def _events(
    call: Call[None, EventsQuery], subject: Subject, args: dict[str, Any], *, cursor: int | None
) -> AsyncIterator[bytes]:
    service, watcher = call.service, _Watcher()
    ends = asyncio.get_running_loop().time() + LONGEST
    with service.streams.one(), _written_down(call, subject, args):
        async with (
            service.live.feed.held(),
            service.live.watching(watcher, who=call.principal, subject=subject, args=args, cursor=cursor) as since,
        ):
            if since == "unchanged":
                yield _event("unchanged", b"{}", cursor)
            while asyncio.get_running_loop().time() < ends and not watcher.over and not service.waiting.closed.is_set():
                try:
                    async with asyncio.timeout(_SILENCE):
                        letter = await watcher.outbox.take()
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if watcher.failed is not None:
                    told = {"code": watcher.failed.code, "message": watcher.failed.message}
                    yield _event("error", json.dumps(told), None)
                    return
                # the credential is asked again before each push, not only now and then
                await call.still()
                if letter.gap:
                    yield b"event: gap\ndata: {}\n\n"
                yield _event("data", letter.body, letter.cursor)


@contextlib.contextmanager
def _written_down(call: Call[None, EventsQuery], subject: Subject, args: dict[str, Any]) -> Iterator[None]:
    """A session with one subscription. Whoever comes back does so by a cursor, with a session of its own."""
    ledger, who, session = call.service.ledger, call.principal, ids.token()
    hashed = live_watch.digest(subject, subject.check(args), Scope.of(who)).hex()
    ledger.open(New(session, who.org, who.actor))
    ledger.subscribe(Subscribed(ids.token(), session, subject.name, hashed, json.text(args, what="args")))
    try:
        yield
    finally:
        ledger.end(session, "disconnected")


def _event(name: str, data: bytes, id: int | None) -> bytes:
    return b"event: %s\n" % name.encode() + (b"" if id is None else b"id: %d\n" % id) + b"data: " + data + b"\n\n"


OPERATIONS = (
    Operation(
        "GET", "/v1/live/sse", action="live.read", handler=events, summary="Watch one thing, as it changes",
        description="Server-sent events: `data` with what there is now and whenever it changed, `gap` before one that came "
        "after something left out, `unchanged` if nothing happened since the cursor, `error` at the end. What can be "
        "watched: docs/reference/live.md. Resume with Last-Event-ID.",
        query=EventsQuery, stream=True, media_type="text/event-stream", errors=("NOT_FOUND", "RATE_LIMITED"),
        example={"subject": "counts"},
    ),
)  # fmt: skip
