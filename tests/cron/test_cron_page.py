"""docs/concepts/cron.md says what the code does."""

import re
import tempfile
from pathlib import Path
from typing import get_args

import blocks
from weft.cron import misfire, schedule, words, zones

PAGE = Path(__file__).parent.parent.parent / "docs" / "concepts" / "cron.md"


def test_the_examples_do_what_they_say() -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert blocks.Reader(Path(folder)).follow(PAGE) == 4


def test_expressions_mean_what_the_table_says() -> None:
    found = re.search(r"\| expression \| means \|\n\|---\|---\|\n(.*?)\n\n", PAGE.read_text(), re.S)
    assert found
    rows = re.findall(r"^\| `(.*)` \| (.*) \|$", found[1], re.M)
    assert len(rows) == 7
    for text, said in rows:
        assert words.describe(schedule.parse(text)) == said


def test_names_and_numbers_are_the_codes() -> None:
    text = PAGE.read_text()
    assert all(f"`{name}`" in text for name in (*schedule.NICKNAMES, *get_args(misfire.Misfire)))
    assert misfire.GRACE.total_seconds() == 60 and "60 seconds late" in text
    when = misfire.When(times=misfire.Cron(schedule.parse("@daily"), zones.zone("UTC")))
    assert (when.catch_up_limit, when.misfire) == (100, "fire_once") and "the latest 100" in text
