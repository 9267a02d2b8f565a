"""Clocks that jump. Leases are counted by the database's clock and by clocks of intervals, so a client's does not matter."""

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from crowd import Crowd, say, until, value
from witness import Witness

from weft import App
from weft.testing.clock import Clock

JUMPING = Path(__file__).parent / "jumping"
OFTEN = {"PYTHONPATH": str(JUMPING)}


def test_the_clock_of_such_a_process_really_jumps() -> None:
    script = (
        "import time, datetime\n"
        "seen, until = set(), time.monotonic() + 20\n"
        "while len(seen) < 4 and time.monotonic() < until:\n"
        "    seen |= {round(time.time() / 1000), round(datetime.datetime.now().timestamp() / 1000)}\n"
        "print(len(seen))"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **OFTEN}, capture_output=True, text=True, timeout=60
    )  # fmt: skip
    assert int(told.stdout) >= 4, told.stderr


async def test_workers_and_leaders_whose_clocks_jump_keep_their_leases_and_lose_nothing(
    witness: Witness, watched_crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    witness.harmed.add(1)  # nobody is: who only has a bad clock is well
    for _ in range(2):
        await watched_crowd.start("--lease", "2", env=OFTEN)
    async with App(database_url=witness.url) as app:
        await witness.enqueue(app, 30)
        await witness.enqueue(app, 6, fail=1)
        await witness.enqueue(app, 4, seconds=5)  # longer than a lease
        await witness.enqueue(app, 5, delay="500ms")
        await witness.enqueue(app, 4, concurrency_key="k", concurrency="strict")
    await witness.all_ended()
    assert value(witness.url, "select count(*) from weft.task_history where losses > 0") == 0
    assert await witness.findings() == []
    assert watched_crowd.alive() == 2
    say(capsys, f"two workers whose clocks jump by hours: {len(witness.asked)} tasks, no lease lost")


async def test_a_database_whose_clock_jumps_loses_no_task_and_ends_none_twice(
    witness: Witness, watched_crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its clock is the truth, so a jump ends leases; then they are lost as any others, and the fence holds."""
    workers = [await watched_crowd.start("--lease", "2") for _ in range(2)]
    witness.harmed |= {one.pid for one in workers}
    async with App(database_url=witness.url) as app:
        clock = await Clock.install(app)
        for jump in (dt.timedelta(hours=1), -dt.timedelta(hours=2), dt.timedelta(days=40)):
            await witness.enqueue(app, 6, seconds=1)
            await witness.enqueue(app, 10)
            seen = len(witness.ran())
            await until(lambda before=seen: len(witness.ran()) > before)
            await clock.advance(jump)
            await witness.all_ended()
        await clock.remove()
    assert await witness.findings() == []
    assert watched_crowd.alive() == 2
    with psycopg.connect(witness.url, connect_timeout=10) as connection:
        row = connection.execute("select sum(losses) from weft.task_history").fetchone()
    say(capsys, f"the database's clock jumped by hours and days: {len(witness.asked)} tasks, {row} leases lost, no task")
