"""Rounds of the claimer, one at a time, on a real database; nothing runs beside it."""

import asyncio
import time

import pytest

import hands
from hands import NODE, ORG
from weft.access import orgs
from weft.db.database import Database
from weft.queue import claim
from weft.worker.buffer import Buffer
from weft.worker.claimer import Claimer
from weft.worker.serves import Serves

SERVES = Serves(node_id=NODE, kinds=["mail"], queues=frozenset(), capabilities=frozenset())


def made(database: Database, *, soon: int = 10, room: int = 100) -> Claimer:
    claimer = Claimer(database, serves=SERVES, buffer=Buffer(), room=lambda: room, soon=lambda: soon)
    claimer._wakefulness.asleep = True
    return claimer


async def put(database: Database, count: int = 1, **options: object) -> list[str]:
    async with database.tx() as tx:
        return await hands.put_many(tx, count, **options)


def waiting(claimer: Claimer) -> list[str]:
    return [task.id for task in claimer._buffer.drain()]


async def test_a_lane_that_a_wake_up_names_is_asked_though_something_else_told_us_to_look_too(database: Database) -> None:
    claimer = made(database)
    await put(database, queue="known")
    assert await claimer.once() == 1
    first = waiting(claimer)
    [known], [cold] = await put(database, queue="known"), await put(database, queue="cold")
    claimer.nudge(f"{ORG} cold")
    claimer.nudge()
    assert await claimer.once() == 2
    assert {known, cold} == set(waiting(claimer)) and first


async def test_when_a_look_finds_nothing_no_claim_is_made(database: Database) -> None:
    """An idle worker has lanes that it knows for a minute: it must not ask them as well each time that it looks."""
    claimer = made(database)
    await put(database)
    assert await claimer.once() == 1
    claimer._looked = -60.0
    before = claimer.claims
    assert await claimer.once() == 0 and claimer.claims == before + 1


async def test_what_comes_before_the_mark_is_found_when_nothing_comes_after_it(database: Database) -> None:
    claimer = made(database)
    await put(database, priority=10)
    assert await claimer.once() == 1
    [urgent] = await put(database, priority=90)
    claimer.nudge(f"{ORG} default")
    assert await claimer.once() == 1
    assert urgent in waiting(claimer)


async def test_what_a_look_sees_is_claimed_though_it_is_before_the_mark(database: Database) -> None:
    """A task that was given back has its old place. While nobody notifies us, most looks leave the marks alone."""
    claimer = made(database)
    await put(database, priority=10)
    assert await claimer.once() == 1
    claimer._wakefulness.asleep = False
    [given_back] = await put(database, priority=90)
    claimer._looked = time.monotonic() - 0.5
    assert await claimer.once() == 1
    assert given_back in waiting(claimer)


async def test_a_wake_up_for_limited_work_needs_no_look_if_that_was_known_to_be_limited(database: Database) -> None:
    async with database.tx() as tx:
        await orgs.change(tx, id=ORG, max_concurrent=100, actor="test")
    await put(database)
    claimer = made(database)
    await claimer.once()
    assert await claimer.claim_special() == 1 and waiting(claimer)
    # nothing is there when it looks again
    claimer._looked = -60.0
    assert await claimer.once() == 0 and not claimer.special.lanes
    [late] = await put(database)
    before, _ = claimer.claims, claimer.special._found.clear()
    claimer.nudge(f"{ORG} default")
    assert await claimer.once() == 1 and claimer.claims == before
    assert claimer.special._found.is_set()
    assert await claimer.claim_special() == 1 and waiting(claimer) == [late]


async def test_what_a_wake_up_tells_of_is_claimed_before_a_look_that_is_due(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimer = made(database)
    await put(database)
    assert await claimer.once() == 1 and waiting(claimer)
    there: list[str] = []

    async def look(_now: float, *, forget: bool = True) -> bool:
        there.extend(waiting(claimer))
        return False

    monkeypatch.setattr(claimer, "_look", look)
    [told] = await put(database)
    claimer._looked = -60.0
    claimer.nudge(f"{ORG} default")
    assert await claimer.once() == 1
    assert there == [told]


async def test_limited_work_is_claimed_from_its_mark_on_and_what_came_before_it_is_found_all_the_same(
    database: Database,
) -> None:
    async with database.tx() as tx:
        await orgs.change(tx, id=ORG, max_concurrent=100, actor="test")
    await put(database, 12, priority=10)
    claimer = made(database)
    await claimer.once()
    assert await claimer.claim_special() == 10 and claimer.special._marks
    [urgent] = await put(database, priority=90)
    # the long way, as where others count too
    claimer.special._crowded = True
    # from the mark on: the two that are left; one fewer than asked for, so the next begins at the beginning
    assert await claimer.claim_special() == 2 and not claimer.special._marks
    assert await claimer.claim_special() == 1
    assert urgent in waiting(claimer)
    [urgent] = await put(database, priority=90)
    # nothing comes after the mark: what is before it is asked for at once
    assert await claimer.claim_special() == 1
    assert urgent in waiting(claimer)


async def test_keyed_work_that_was_taken_or_blocked_is_not_walked_again(database: Database) -> None:
    async with database.tx() as tx:
        for _ in range(3):
            await hands.put(tx, concurrency_key="a", concurrency=3)
    claimer = made(database)
    await claimer.once()
    assert await claimer.claim_special() == 3
    [mark] = claimer.special._marks.values()
    async with database.tx() as tx:
        last = await tx.value("select max(id::text) from weft.tasks")
    assert mark.id == last


async def test_in_a_flood_what_a_wake_up_names_is_claimed_beside_the_bulk_and_comes_first(database: Database) -> None:
    claimer = made(database)
    async with database.tx() as tx:
        other = await hands.new_org(tx, "other")
    await put(database, 300)
    await claimer.once()
    claimer._flood.set()
    [light] = await put(database, org=other)
    claimer.nudge(f"{other} default")
    await claimer.once()
    assert light not in [task.id for line in claimer._buffer._orgs.values() for task in line]
    assert await claimer._scout.ask_named() == 1 and not claimer._scout.named
    first = claimer._buffer.pop(only_fresh=True)
    assert first is not None and first.id == light and claimer._courtesy.due


async def test_what_was_named_in_a_flood_and_not_asked_for_is_claimed_when_it_is_over(database: Database) -> None:
    claimer = made(database)
    await put(database)
    await claimer.once()
    claimer._flood.set()
    [left] = await put(database, queue="another")
    claimer.nudge(f"{ORG} another")
    await claimer.once()
    claimer._flood.clear()
    await asyncio.wait_for(claimer._wait(3600), 30)
    await claimer.once()
    assert left in waiting(claimer)


async def test_bulk_claims_are_small_while_somebody_comes_with_a_little(database: Database) -> None:
    claimer = made(database, room=2000)
    await put(database, 700)
    claimer._flood.set()
    claimer._courtesy.came(time.monotonic() + 1_000_000)
    first = await claimer.once()
    assert 0 < first < 300
    claimer._flood.clear()
    assert await claimer.once() == 700 - first


@pytest.mark.parametrize(("soon", "got"), [(10, 2), (0, 1), (-1, 0)])
async def test_where_no_runner_is_about_to_be_free_one_of_theirs_is_next_all_the_same(
    database: Database, soon: int, got: int
) -> None:
    """Bulk claims leave them out. But where nothing may be claimed at all, nothing is."""
    claimer = made(database, soon=soon)
    async with database.tx() as tx:
        other = await hands.new_org(tx, "other")
    await put(database, 300)
    await put(database, org=other)
    await claimer.once()
    claimer._buffer.pop(), claimer._buffer.pop()
    claimer._flood.set()
    await put(database, 2, org=other)
    assert await claimer.once() > 0  # one bulk claim
    assert await claimer._scout.ask_all() == got
    assert await claimer._scout.ask_all() == 0


async def test_who_floods_is_left_to_the_bulk_even_if_it_is_named(database: Database) -> None:
    claimer = made(database)
    await put(database, 300)
    await claimer.once()
    claimer._flood.set()
    claimer.nudge(f"{ORG} default")
    before = claimer.claims
    assert await claimer._scout.ask_named() == 0 and claimer.claims == before
    assert claimer._nudged.is_set()


async def test_a_flood_that_lies_there_is_no_reason_to_hear_of_nothing(database: Database) -> None:
    claimer = made(database)
    for _ in range(3):
        assert await claimer._note(1000) is False
    assert claimer.asleep and claimer._flood.is_set() and not claimer.resting
    claimer._wakefulness.asleep = False
    assert await claimer._note(1000) is True and claimer.asleep


@pytest.mark.parametrize("part", ["special", "scout"])
async def test_a_part_of_the_claimer_that_breaks_ends_it_loudly(
    database: Database, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    claimer = made(database)

    async def breaks(*_: object, **__: object) -> int:
        raise ZeroDivisionError

    await claimer.once()
    monkeypatch.setattr(*((claimer.special, "claim") if part == "special" else (claimer, "_claim")), breaks)
    claimer.special._found.set()
    claimer._flood.set()
    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(claimer.run(), 30)


async def test_a_claimer_that_is_stopped_ends_with_all_its_parts(database: Database) -> None:
    claimer = made(database)
    running = asyncio.create_task(claimer.run())
    await asyncio.sleep(0)
    claimer.stop()
    await asyncio.wait_for(running, 30)
    async with database.once() as tx:
        assert await claim.lanes(tx) == []
