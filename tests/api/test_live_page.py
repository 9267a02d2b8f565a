"""docs/reference/live.md says what the types say: every message, field, code and subject, and nothing else."""

import re
import types
from pathlib import Path

import msgspec

from weft.api.live_subjects import SUBJECTS
from weft.live import protocol

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "live.md").read_text()


def table(title: str) -> dict[str, list[str]]:
    """The rows under a heading, by their first cell."""
    body = PAGE.split(f" {title}\n", 1)[1].split("\n#", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines() if line.startswith("| ")]
    return {row[0].strip("`"): row[1:] for row in rows[1:]}


def told(messages: types.UnionType) -> dict[str, list[str]]:
    return {one.__struct_config__.tag: list(one.__struct_fields__) for one in messages.__args__}


def test_the_page_shows_every_message_with_its_fields() -> None:
    for title, messages in (("From the client", protocol.FromClient), ("From the server", protocol.FromServer)):
        assert {name: re.findall(r"`(\w+)`", cells[0]) for name, cells in table(title).items()} == told(messages)


def test_the_page_shows_every_code_with_which_the_server_closes() -> None:
    assert {int(code): cells[0] for code, cells in table("Closing").items()} == protocol.CLOSED


def test_the_page_shows_every_subject() -> None:
    shown = table("Subjects")
    assert shown.pop("query:NAME")[1] == "`live.read`"
    assert {name: (re.findall(r"`(\w+)`", cells[0]), cells[1], cells[2]) for name, cells in shown.items()} == {
        one.name: ([field.name for field in msgspec.structs.fields(one.args)], f"`{one.action}`", one.summary)
        for one in SUBJECTS.values()
    }


def test_the_page_says_what_is_polled_and_how_often() -> None:
    polled = {one.name: f"{one.poll:g} s" for one in SUBJECTS.values() if one.poll is not None}
    assert {name: cells[0] for name, cells in table("Looks").items()} == polled


def test_the_limits_on_the_page_are_the_real_ones() -> None:
    assert (protocol.LONGEST_MESSAGE, protocol.MOST_SUBSCRIPTIONS) == (64 * 1024, 50)
    assert "at most 64 kB" in PAGE and "at most 50 subscriptions" in PAGE
