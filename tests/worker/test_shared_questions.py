"""Many questions, one statement: whoever asks gets an answer, also in the very moment in which the last answer was given."""

import asyncio
from collections.abc import Sequence

from weft.worker.keeper import Shared


async def test_who_asks_just_when_the_last_answer_was_given_is_answered_too() -> None:
    async def ask(questions: Sequence[int]) -> list[int | Exception]:
        return list(questions)

    shared: Shared[int, int] = Shared(ask, batch=10)

    async def asks(waits: int) -> int:
        first = await shared(1)
        for _ in range(waits):
            await asyncio.sleep(0)
        return first + await shared(2)

    async with asyncio.timeout(30):
        for waits in range(5):
            assert await asks(waits) == 3
            assert await asyncio.gather(*[asks(n % 3) for n in range(20)]) == [3] * 20
