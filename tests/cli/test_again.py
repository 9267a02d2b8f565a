"""What is done again and again ends when it is told to."""

import asyncio
import contextlib

import pytest

from weft.cli import output


async def test_a_word_to_end_that_somebody_swallowed_is_heard_all_the_same() -> None:
    begun = asyncio.Event()
    rounds = []

    async def act() -> None:
        rounds.append(None)
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):  # as asyncio.wait_for of Python 3.11 does now and then
            await asyncio.sleep(60)

    task = asyncio.create_task(output.again(act, every=0))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 20)
    assert len(rounds) == 1
