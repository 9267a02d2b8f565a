"""The second bulk claim: only beside another one, and only for a whole batch."""

import asyncio

from weft.worker.beside import Beside
from weft.worker.warm import BATCH, spare


class Claims:
    """Claims that are answered when they are told to be."""

    def __init__(self, room: int, *, useful: bool = True) -> None:
        self.left = room
        self.counts: list[int] = []
        self.answer = asyncio.Event()
        self.useful = useful
        self.beside = Beside(room=lambda: self.left, claim=self.claim, useful=lambda: self.useful)

    async def claim(self, count: int) -> int:
        with self.beside.asking(count):
            self.counts.append(count)
            await self.answer.wait()
            self.left -= count
            return count

    async def all(self, first: int) -> list[int]:
        """What is asked for while a claim for so many is under way."""
        running = asyncio.create_task(self.beside.run())
        claiming = asyncio.create_task(self.claim(first))
        for _ in range(10):
            await asyncio.sleep(0)
        asked, most = list(self.counts), self.beside.asked
        self.answer.set()
        await claiming
        self.beside.stop()
        await running
        assert most == sum(asked) and self.beside.asked == 0
        return asked


async def test_a_second_claim_goes_out_while_the_first_leaves_room_for_a_whole_batch() -> None:
    assert await Claims(6 * BATCH).all(BATCH) == [BATCH, BATCH]


async def test_there_is_no_second_claim_where_handlers_take_their_time() -> None:
    assert await Claims(BATCH + 100).all(BATCH) == [BATCH]


async def test_there_is_no_second_claim_where_it_is_of_no_use() -> None:
    assert await Claims(6 * BATCH, useful=False).all(BATCH) == [BATCH]


async def test_no_further_claim_goes_out_beside_the_first_once_that_is_of_no_use() -> None:
    claims = Claims(6 * BATCH)
    running = asyncio.create_task(claims.beside.run())
    with claims.beside.asking(BATCH):
        for _ in range(10):
            await asyncio.sleep(0)
        claims.useful = False
        claims.answer.set()
        for _ in range(10):
            await asyncio.sleep(0)
        assert claims.counts == [BATCH]
    claims.beside.stop()
    await running


async def test_nobody_claims_beside_nothing() -> None:
    claims = Claims(6 * BATCH)
    running = asyncio.create_task(claims.beside.run())
    for _ in range(10):
        await asyncio.sleep(0)
    claims.beside.stop()
    await running
    assert claims.counts == []


def test_a_second_claim_is_for_a_batch_or_for_nothing() -> None:
    assert {spare(room) for room in range(-10, 10 * BATCH)} == {0, BATCH}
