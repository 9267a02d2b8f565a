"""Cursors: whatever goes in comes out, and whatever else comes in is refused."""

import base64
import datetime as dt
import uuid

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.api import pages
from weft.base import errors


class Place(msgspec.Struct, frozen=True):
    id: uuid.UUID
    at: dt.datetime
    name: str


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(st.uuids(), st.datetimes(timezones=st.just(dt.UTC)), TEXTS)
def test_a_cursor_brings_back_its_place(id: uuid.UUID, at: dt.datetime, name: str) -> None:
    place = Place(id, at, name)
    assert pages.decode(pages.encode(place), Place) == place


@given(st.text())
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidInput, match="next_cursor"):
        pages.decode(text, Place)


@given(st.binary(max_size=100))
def test_nonsense_in_base64_is_refused(raw: bytes) -> None:
    for version in (b"", b"1", b"2"):
        with pytest.raises(errors.InvalidInput, match="next_cursor"):
            pages.decode(base64.urlsafe_b64encode(version + raw).rstrip(b"=").decode(), Place)


def test_a_page_has_a_cursor_only_if_there_is_more() -> None:
    class Number(msgspec.Struct):
        n: int

    whole = pages.page([1, 2, 3], limit=3, show=str, place=Number)
    part = pages.page([1, 2, 3], limit=2, show=str, place=Number)
    assert (whole.items, whole.next_cursor) == (["1", "2", "3"], None)
    assert part.items == ["1", "2"] and pages.decode(part.next_cursor or "", Number) == Number(2)
    assert pages.page([], limit=2, show=str, place=Number) == pages.Page([], None)


def test_a_cursor_with_a_text_that_no_database_holds_is_none_of_ours() -> None:
    class Named(msgspec.Struct):
        name: str

    assert pages.decode(pages.encode(Named("a")), Named) == Named("a")
    with pytest.raises(errors.InvalidInput, match="not one of this list"):
        pages.decode(pages.encode(Named("a\0")), Named)
