"""Array literals made by joining text: the server reads back exactly what went in."""

import struct

import hypothesis
import pytest
from hypothesis import strategies as st

from weft.db import arrays
from weft.db.tx import Tx

HARD = [
    None, "", "NULL", "null", " ", "a,b", "{}", '"', "\\", '\\"', "'", "a\nb", "\t", "ä日😀", "{\"a\": [1, null]}", "$1",
    "%s", "\\u0000", "--", "x" * 10_000,
]  # fmt: skip


async def test_any_text_comes_back_as_it_was(tx: Tx) -> None:
    assert await tx.value("select %(texts)s::text[]", {"texts": arrays.quoted(HARD)}) == HARD


async def test_numbers_come_back_as_they_were(tx: Tx) -> None:
    numbers = [0.0, -1.5, 1e-300, 1e300, None, 0.1, 123456789.123456789, 5e-324]
    assert await tx.value("select %(n)s::double precision[]", {"n": arrays.floats(numbers)}) == numbers


async def test_ids_come_back_as_they_were(tx: Tx) -> None:
    ids = [str(id) for (id,) in await tx.rows("select weft.uuid7() from generate_series(1, 50)")]
    assert await tx.value("select %(ids)s::uuid[]::text[]", {"ids": arrays.plain(ids)}) == ids


async def test_ids_and_numbers_go_in_the_servers_own_form(tx: Tx) -> None:
    ids = [str(id) for (id,) in await tx.rows("select weft.uuid7() from generate_series(1, 50)")]
    for some in (ids, ids[:1], []):
        assert await tx.value("select %(ids)s::uuid[]::text[]", {"ids": arrays.uuids(some)}) == some
    assert await tx.value("select %(n)s::double precision[]", {"n": arrays.floats([])}) == []
    assert await tx.value("select %(n)s::double precision[]", {"n": arrays.floats([0.1, 3, 5e-324])}) == [0.1, 3.0, 5e-324]


@pytest.mark.parametrize("wrong", [["x"], ["00"], ["00000000-0000-7000-8000-0000000000010"]])
def test_what_is_no_id_is_not_sent(wrong: list[str]) -> None:
    with pytest.raises(ValueError, match=r"ids|hex"):
        arrays.uuids(wrong)


def test_all_null_is_null_and_unnest_then_answers_null() -> None:
    assert arrays.quoted([None, None]) is None and arrays.quoted([]) is None


texts = st.lists(st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=8)


def _read(literal: str) -> list[str | None]:
    """PostgreSQL's own rules, in a few lines."""
    found: list[str | None] = []
    at = 1
    while literal[at] != "}":
        if literal.startswith("NULL", at):
            found.append(None)
            at += 4
        else:
            at += 1
            item = ""
            while literal[at] != '"':
                at += literal[at] == "\\"
                item += literal[at]
                at += 1
            found.append(item)
            at += 1
        at += literal[at] == ","
    return found


@hypothesis.given(texts)
def test_quoting_loses_nothing(values: list[str | None]) -> None:
    literal = arrays.quoted(values)
    assert (literal is None and not any(value is not None for value in values)) or _read(str(literal)) == values


@hypothesis.given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False)))
def test_floats_lose_nothing(values: list[float | None]) -> None:
    made = arrays.floats(values)
    if isinstance(made, str):
        back = [None if part == "NULL" else float(part) for part in made[1:-1].split(",")]
    else:
        back = list(struct.unpack(">" + "id" * len(values), made[20:])[1::2]) if values else []
    assert back == values
