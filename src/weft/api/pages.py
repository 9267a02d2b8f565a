"""Keyset pages: `?limit=` and an opaque `?cursor=`, answered with `{"items": […], "next_cursor": null | "…"}`.

    class TaskQuery(pages.Paging, forbid_unknown_fields=True, kw_only=True):
        queue: fields.Name | None = None

    place = call.query.place(Place)                # a Struct of yours, or None on the first page
    rows = …fetch call.query.limit + 1 rows after place…
    return pages.page(rows, limit=call.query.limit, show=shown, place=lambda row: Place(id=row.id))

A cursor is the place in the list where the page ended, with a version, in base64. It names no org: the place is looked
up inside the caller's own. It is not signed: whoever edits one reads another place of their own list.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Generic, TypeVar

import msgspec

from weft.base import base64url, errors

LIMIT = 50
MOST = 500
_VERSION = b"1"
_LONGEST = 2048

Item = TypeVar("Item")
Row = TypeVar("Row")
Place = TypeVar("Place", bound=msgspec.Struct)

Limit = Annotated[int, msgspec.Meta(ge=1, le=MOST, description="How many items at most.")]
Cursor = Annotated[
    str, msgspec.Meta(min_length=1, max_length=_LONGEST, description="`next_cursor` of the page before, as it was given.")
]


class Page(msgspec.Struct, Generic[Item]):
    """Some items of a list, and how to ask for the next ones (null: there are none)."""

    items: list[Item]
    next_cursor: str | None


class Paging(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The query of a list; inherit, and add filters."""

    limit: Limit = LIMIT
    cursor: Cursor | None = None

    def place(self, kind: type[Place]) -> Place | None:
        """Where the page before ended; None on the first page."""
        return None if self.cursor is None else decode(self.cursor, kind)


def page(
    rows: Sequence[Row], *, limit: int, show: Callable[[Row], Item], place: Callable[[Row], msgspec.Struct]
) -> Page[Item]:
    """The page of rows that were fetched with one more than `limit`, which says whether there are more."""
    shown = rows[:limit]
    more = len(rows) > limit
    return Page(items=[show(row) for row in shown], next_cursor=encode(place(shown[-1])) if more else None)


def encode(place: msgspec.Struct) -> str:
    return base64url.encode(_VERSION + msgspec.json.encode(msgspec.structs.astuple(place)))


def decode(cursor: str, kind: type[Place]) -> Place:
    """The place a cursor stands for; InvalidInput for what is not a cursor of this list."""
    try:
        raw = base64url.decode(cursor)
        if raw[:1] != _VERSION:
            raise ValueError("another version")
        fields = msgspec.structs.fields(kind)
        values = msgspec.json.decode(raw[1:], type=list[msgspec.Raw])
        if len(values) != len(fields):
            raise ValueError("another list")
        found = {one.name: msgspec.json.decode(value, type=one.type) for one, value in zip(fields, values, strict=True)}
        if any(isinstance(one, str) and "\0" in one for one in found.values()):
            raise ValueError("no text of PostgreSQL's")
        return kind(**found)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        raise errors.InvalidInput(
            "the cursor is not one of this list; pass next_cursor exactly as the page before gave it, or leave it out "
            "to begin anew"
        ) from None
