"""Waiting for an event, but not for ever."""

import asyncio

from weft.base import events


async def test_whether_it_came_is_said_and_it_stays_set() -> None:
    event = asyncio.Event()
    assert not await events.came(event, within=0)
    waiting = asyncio.create_task(events.came(event, within=float("inf")))
    await asyncio.sleep(0)
    event.set()
    assert await waiting and event.is_set()
