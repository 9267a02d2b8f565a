"""The long tier in small: two faults, so that what `make chaos` runs is known to work."""

import drive
import pytest
from crowd import say


async def test_a_kill_and_a_freeze_under_load_lose_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    tally = await drive.run(
        kills=1, restarts=0, freezes=1, cuts=0, tasks=600, seed=7, say=lambda text: None
    )  # fmt: skip
    say(capsys, tally.line())
    assert (tally.kills, tally.restarts, tally.freezes, tally.exits) == (1, 0, 1, 0)
    assert tally.tasks > 400 and tally.findings == []
