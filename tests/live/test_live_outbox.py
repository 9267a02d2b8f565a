"""What waits for a reader stays bounded, and of each thing only the newest waits."""

import asyncio

import pytest

from weft.live.outbox import Full, Letter, Outbox


async def taken(box: Outbox) -> Letter:
    async with asyncio.timeout(30):
        return await box.take()


async def test_the_newest_takes_the_place_of_what_waits_and_says_so() -> None:
    box = Outbox()
    box.put(Letter(b"a1", about="a"), replace=True)
    box.put(Letter(b"b1", about="b"), replace=True)
    box.put(Letter(b"a2", about="a"), replace=True)
    first, second = await taken(box), await taken(box)
    assert (first.body, first.gap, second.body, second.gap) == (b"a2", True, b"b1", False)
    box.put(Letter(b"a3", about="a"), replace=True)
    assert (await taken(box)).gap is False


async def test_what_cannot_be_replaced_is_kept_in_order_until_there_is_no_room() -> None:
    box = Outbox(most_bytes=10, most_messages=3)
    for body in (b"1", b"2", b"3"):
        box.put(Letter(body, about="log"))
    with pytest.raises(Full):
        box.put(Letter(b"4", about="log"))
    assert [(await taken(box)).body for _ in range(4)] == [b"1", b"2", b"3", b"4"]
    assert (box.bytes, box.messages, len(box)) == (0, 0, 0)
    with pytest.raises(Full):
        box.put(Letter(b"x" * 11))


async def test_a_large_thing_that_is_replaced_fills_nothing() -> None:
    box = Outbox(most_bytes=10)
    for _ in range(100):
        box.put(Letter(b"x" * 1000, about="a"), replace=True)
    assert len(box) == 1 and box.bytes == 0


async def test_what_is_forgotten_is_not_sent() -> None:
    box = Outbox()
    box.put(Letter(b"1", about="a"))
    box.put(Letter(b"2", about="a"), replace=True)
    box.put(Letter(b"3"))
    box.forget("a")
    assert (await taken(box)).body == b"3" and box.bytes == 0


async def test_a_reader_waits_until_there_is_something() -> None:
    box = Outbox()
    reading = asyncio.create_task(taken(box))
    await asyncio.sleep(0)
    box.put(Letter(b"1"))
    assert (await reading).body == b"1"
