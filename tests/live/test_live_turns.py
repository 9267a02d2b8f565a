"""Orgs take turns at looking, and no place is ever lost."""

import asyncio
import random
import uuid

from weft.live.turns import Turns

MUCH, LITTLE = uuid.UUID(int=1), uuid.UUID(int=2)


async def test_an_org_that_watches_much_holds_up_nobody_else() -> None:
    turns, order = Turns(1), []
    gate = asyncio.Event()

    async def look(org: uuid.UUID) -> None:
        async with turns.one(org):
            await gate.wait()
            order.append(org)

    tasks = [asyncio.create_task(look(MUCH)) for _ in range(1000)]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(look(LITTLE)))
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*tasks)
    # one was looking already, one of the same org was next
    assert order.index(LITTLE) <= 2 and len(order) == 1001


async def test_no_place_is_lost_or_given_twice_whoever_gives_up() -> None:
    dice, turns = random.Random(7), Turns(3)
    now = most = 0

    async def look(org: uuid.UUID) -> None:
        nonlocal now, most
        async with turns.one(org):
            now += 1
            most = max(most, now)
            try:
                for _ in range(dice.randrange(3)):
                    await asyncio.sleep(0)
            finally:
                now -= 1

    for _ in range(50):
        tasks = [asyncio.create_task(look(uuid.UUID(int=dice.randrange(4)))) for _ in range(40)]
        for _ in range(dice.randrange(12)):
            await asyncio.sleep(0)
        for task in dice.sample(tasks, 15):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (turns._free, turns._waiting, now) == (3, {}, 0)
    assert most == 3
