"""Waiting for something, but not for ever."""

import asyncio


async def came(event: asyncio.Event, *, within: float) -> bool:
    """Whether it came within so many seconds, or ever. It stays set: whoever waits for the next one clears it."""
    try:
        async with asyncio.timeout(None if within == float("inf") else within):
            await event.wait()
        return True
    except TimeoutError:
        return False
