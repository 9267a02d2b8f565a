"""Named statements: read once, found by name, never twice."""

from pathlib import Path

import pytest

from weft.base import errors
from weft.db import statements

SOURCE = """-- what the file is for

-- Why it is so.
-- name: first
select 1
from a;

-- A word about the second.
-- name: second
-- said inside
select ';' as semicolon;
"""


def test_a_name_starts_a_statement_and_words_between_belong_to_none() -> None:
    assert statements.parse(SOURCE) == {
        "first": "select 1\nfrom a", "second": "-- said inside\nselect ';' as semicolon"}  # fmt: skip


SHARED = """-- Said of the piece.
-- piece: tail
b as (select 2)
select 3;

-- name: first
with a as (select 1),
-- use: tail

-- name: second
with a as (select 9),
-- use: tail
"""


def test_a_piece_stands_wherever_it_is_used_and_is_no_statement() -> None:
    assert statements.parse(SHARED) == {
        "first": "with a as (select 1),\nb as (select 2)\nselect 3",
        "second": "with a as (select 9),\nb as (select 2)\nselect 3",
    }


def test_a_piece_is_as_far_in_as_the_line_that_uses_it() -> None:
    source = "-- piece: p\na\n  and b\n\n-- name: one\nselect (\n    -- use: p\n);\n"
    assert statements.parse(source) == {"one": "select (\n    a\n      and b\n)"}


def test_a_piece_of_another_file_of_the_folder_is_used_too() -> None:
    assert statements.parse("-- name: one\nselect\n    -- use: p\n;\n", {"p": "a, b"}) == {"one": "select\n    a, b\n"}


def test_a_piece_that_is_not_there_is_named() -> None:
    with pytest.raises(errors.ConfigError, match="uses other, but there is no such piece"):
        statements.parse("-- name: one\n-- use: other\n")


def test_a_statement_that_is_not_there_is_named() -> None:
    with pytest.raises(AttributeError, match=r"weft\.queue has no statement named nothing"):
        _ = statements.load("weft.queue").nothing


def test_a_package_is_read_once() -> None:
    assert statements.load("weft.queue") is statements.load("weft.queue")


def test_the_same_name_in_two_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "statements_twice"
    (package / "queries").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "queries.sql").write_text("-- name: one\nselect 1;\n")
    (package / "queries" / "more.sql").write_text("-- name: one\nselect 2;\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(errors.ConfigError, match="the statement one is there twice"):
        statements.load("statements_twice")
