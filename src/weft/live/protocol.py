"""The messages of `/v1/live`: small JSON objects, told apart by `type`. docs/reference/live.md shows the same.

    client                              server
                                        hello          the session, and where the feed is
    subscribe  id, subject, args  ──▶   data           what there is now; then again whenever it changed
                                        unchanged      instead, if a cursor was given and nothing happened since
    unsubscribe  id               ──▶   unsubscribed
    ping                          ──▶   pong
                                        error          of a message, or the end of a subscription
"""

import uuid
from typing import Annotated, Any

import msgspec

from weft.base import errors

MOST_SUBSCRIPTIONS = 50
"""Of one connection."""
LONGEST_MESSAGE = 64 * 1024
"""Bytes of one message of a client."""
LARGEST_DATA = 256 * 1024
"""Bytes of what is shown of one subscription."""

Id = Annotated[str, msgspec.Meta(min_length=1, max_length=64, description="The client's own name for a subscription.")]
Cursor = Annotated[int, msgspec.Meta(ge=0, le=2**62, description="A place in the change feed.")]


class Subscribe(msgspec.Struct, tag_field="type", tag="subscribe", forbid_unknown_fields=True, kw_only=True):
    """Watch something. With `cursor`, that of the last message about it, nothing is sent if nothing happened since."""

    id: Id
    subject: Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
    args: dict[str, Any] = {}
    cursor: Cursor | None = None


class Unsubscribe(msgspec.Struct, tag_field="type", tag="unsubscribe", forbid_unknown_fields=True, kw_only=True):
    """Watch it no longer. One that is not there is no mistake."""

    id: Id


class Ping(msgspec.Struct, tag_field="type", tag="ping", forbid_unknown_fields=True, kw_only=True):
    """Are you there?"""


class Hello(msgspec.Struct, tag_field="type", tag="hello", kw_only=True):
    """The first message. Come back with `?session=` to keep the session's row."""

    session: uuid.UUID
    cursor: int
    most_subscriptions: int = MOST_SUBSCRIPTIONS


class Data(msgspec.Struct, tag_field="type", tag="data", kw_only=True):
    """What there is: the whole of it, but for a log, of which only new lines come."""

    id: str
    cursor: int
    """Give it when you subscribe again."""
    gap: bool
    """Something between the message before (or your cursor) and this one was left out; what is here is complete."""
    data: msgspec.Raw


class Unchanged(msgspec.Struct, tag_field="type", tag="unchanged", kw_only=True):
    """Nothing happened since the cursor that was given: what you have is what there is."""

    id: str
    cursor: int


class Unsubscribed(msgspec.Struct, tag_field="type", tag="unsubscribed", kw_only=True):
    """Nothing more comes of this subscription."""

    id: str


class Failed(msgspec.Struct, tag_field="type", tag="error", kw_only=True):
    """A message was refused or, with the `id` of a subscription, that has ended. Codes are those of the REST API."""

    id: str | None
    code: str
    message: str


class Pong(msgspec.Struct, tag_field="type", tag="pong", kw_only=True):
    """Yes."""


FromClient = Subscribe | Unsubscribe | Ping
FromServer = Hello | Data | Unchanged | Unsubscribed | Failed | Pong

ACTIONS: dict[type[msgspec.Struct], str] = {Subscribe: "live.read", Unsubscribe: "live.read", Ping: "live.read"}
"""What the policy is asked before a message is heard; a subject then has an action of its own."""

CLOSED: dict[int, str] = {
    1001: "the server stops; come back",
    4400: "too many messages that make no sense, or too many at once",
    4401: "the credential does not stand any more, or its rights have changed",
    4408: "you did not read what was sent; come back with your cursors",
}
"""Why the server closes a connection, by code."""

_decoder: msgspec.json.Decoder[FromClient] = msgspec.json.Decoder(FromClient)


def read(text: str | bytes) -> FromClient:
    """A client's message; InvalidInput says what is wrong with it."""
    try:
        return _decoder.decode(text)
    except msgspec.ValidationError as error:
        raise errors.InvalidInput(f"the message is not valid: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise errors.InvalidInput("the message is not JSON") from None
