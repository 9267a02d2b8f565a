"""Concurrency keys: at most n at a time, or strictly one after another in order of enqueue, retries included."""

import asyncio

import hypothesis
from hypothesis import strategies as st

import hands
from weft.db.database import Database
from weft.db.tx import Tx
from weft.queue import promote
from weft.queue.limits import Candidate, Room, choose


async def put(tx: Tx, count: int = 1, *, concurrency: object = 1, key: str = "k", **options: object) -> list[str]:
    return [await hands.put(tx, concurrency_key=key, concurrency=concurrency, **options) for _ in range(count)]


async def claimed(tx: Tx, want: int = 100) -> list[str]:
    return [task.id for task in await hands.claim_special(tx, want)]


async def test_one_at_a_time_by_default_and_the_next_when_it_ends(tx: Tx) -> None:
    first, second, third = await put(tx, 3)
    assert await hands.states(tx, [first, second, third]) == ["ready", "blocked", "blocked"]
    held = await hands.claim_special(tx)
    assert [task.id for task in held] == [first]
    assert await claimed(tx) == []
    settled = await hands.end(tx, held)
    assert settled.wake == ["default"]
    assert await claimed(tx) == [second]


async def test_as_many_as_the_key_allows_start_at_once(tx: Tx) -> None:
    made = await put(tx, 12, concurrency=5)
    held = await hands.claim_special(tx)
    assert [task.id for task in held] == made[:5]
    await hands.end(tx, held)
    assert await claimed(tx) == made[5:10]


async def test_a_batch_that_ends_lets_as_many_in(tx: Tx) -> None:
    made = await put(tx, 10, concurrency=4)
    held = await hands.claim_special(tx)
    await hands.end(tx, held[:3])
    assert await claimed(tx) == made[4:7]


async def test_keys_do_not_hold_each_other_up(tx: Tx) -> None:
    [a, _], [b, _] = await put(tx, 2, key="a"), await put(tx, 2, key="b")
    other = await hands.new_org(tx, "other")
    [c, _] = await put(tx, 2, key="a", org=other)
    assert set(await claimed(tx)) == {a, b, c}


async def test_within_a_key_priority_decides_who_is_next(tx: Tx) -> None:
    [first] = await put(tx)
    [low], [high] = await put(tx, priority=10), await put(tx, priority=90)
    await hands.end(tx, await hands.claim_special(tx))
    held = await hands.claim_special(tx)
    assert [task.id for task in held] == [high]
    await hands.end(tx, held)
    assert await claimed(tx) == [low]
    assert first < low < high


async def test_while_one_waits_for_its_retry_the_next_may_run(tx: Tx) -> None:
    first, second = await put(tx, 2)
    await hands.end(tx, await hands.claim_special(tx), "failed", delay=60.0)
    assert await claimed(tx) == [second]
    assert await hands.states(tx, [first, second]) == ["scheduled", "running"]


async def test_strict_order_holds_across_retries(tx: Tx) -> None:
    first, second, third = await put(tx, 3, concurrency="strict")
    await hands.end(tx, await hands.claim_special(tx), "failed", delay=60.0)
    assert await claimed(tx) == [] and await promote.unblock(tx) == 0
    await hands.make_due(tx, first)
    await promote.once(tx)
    for expected in (first, second, third):
        held = await hands.claim_special(tx)
        assert [task.id for task in held] == [expected]
        await hands.end(tx, held)


async def test_strict_order_holds_across_snoozes_losses_and_giving_back(tx: Tx) -> None:
    first, second = await put(tx, 2, concurrency="strict")
    for how in ("snoozed", "lost", "released"):
        held = await hands.claim_special(tx)
        assert [task.id for task in held] == [first]
        await hands.end(tx, held, how, delay=0.0)
        await promote.unblock(tx)
    assert await claimed(tx) == [first]
    assert await hands.states(tx, [second]) == ["blocked"]


async def test_strict_order_is_the_order_of_enqueue_whatever_the_priority(tx: Tx) -> None:
    [first] = await put(tx, concurrency="strict", priority=50)
    [second] = await put(tx, concurrency="strict", priority=10)
    [third] = await put(tx, concurrency="strict", priority=90)
    for expected in (first, second, third):
        held = await hands.claim_special(tx)
        assert [task.id for task in held] == [expected]
        await hands.end(tx, held)


async def test_strict_order_waits_for_one_that_is_not_due(tx: Tx) -> None:
    [later] = await put(tx, concurrency="strict", delay=60)
    [now] = await put(tx, concurrency="strict")
    assert await claimed(tx) == []
    await hands.make_due(tx, later)
    await promote.once(tx)
    held = await hands.claim_special(tx)
    assert [task.id for task in held] == [later]
    await hands.end(tx, held)
    assert await claimed(tx) == [now]


async def test_strict_and_loose_tasks_under_one_key_all_run(tx: Tx) -> None:
    left = {
        *await put(tx, concurrency=3, priority=10), *await put(tx, concurrency="strict", priority=90),
        *await put(tx, concurrency=3, priority=90), *await put(tx, concurrency="strict", priority=10),
    }  # fmt: skip
    for _ in range(8):
        await promote.unblock(tx)
        held = await hands.claim_special(tx)
        await hands.end(tx, held)
        left -= {task.id for task in held}
    assert left == set()


async def test_the_sweep_finds_keys_that_have_room_and_fills_them(tx: Tx) -> None:
    made = await put(tx, 9, concurrency=4)
    await tx.run("update weft.tasks set state = 'blocked'")
    assert await promote.unblock(tx) == 4
    assert await hands.states(tx, made) == ["ready"] * 4 + ["blocked"] * 5
    assert await promote.unblock(tx) == 0


async def test_scheduled_tasks_of_a_key_are_held_to_it_when_they_are_due(tx: Tx) -> None:
    made = await put(tx, 5, delay=60, concurrency=2)
    await hands.make_due(tx, *made)
    assert await promote.once(tx) == 5
    assert len(await claimed(tx)) == 2
    assert await claimed(tx) == []


async def test_a_strict_key_runs_one_at_a_time_with_eight_claimers(database: Database) -> None:
    async with database.tx() as tx:
        made = await put(tx, 30, concurrency="strict")
    order: list[str] = []

    async def claimer() -> None:
        while len(order) < 30:
            async with database.tx() as tx:
                held = await hands.claim_special(tx, 3)
            assert len(held) <= 1
            order.extend(task.id for task in held)
            if held:
                async with database.tx() as tx:
                    await hands.end(tx, held)

    async with asyncio.timeout(60):
        await asyncio.gather(*(claimer() for _ in range(8)))
    assert order == made


candidates = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 3), st.integers(0, 2)), max_size=30
).map(lambda rows: [
    Candidate(f"{n:03}", "org", "q", key, limit if key else None, losses) for n, (key, limit, losses) in enumerate(rows)
])  # fmt: skip


@hypothesis.given(candidates, st.integers(0, 10), st.integers(0, 10), st.integers(0, 3), st.integers(1, 5))
def test_choosing_never_exceeds_a_key_the_room_or_what_is_wanted(
    offered: list[Candidate], want: int, places: int, running: int, suspects: int
) -> None:
    keys = {("org", key): (running, next((one.id for one in offered if one.key == key), "")) for key in ("a", "b")}
    chosen, full = choose(offered, room=Room({"org org": places}), keys=keys, want=want, suspects=suspects)
    by_id = {one.id: one for one in offered}
    assert len(chosen) <= min(want, places) and not set(chosen) & set(full)
    for key in ("a", "b"):
        mine = [by_id[id] for id in chosen if by_id[id].key == key]
        for position, one in enumerate(mine):
            assert running + position < max(one.concurrency or 0, 1)
            assert one.concurrency != 0 or one.id == keys[("org", key)][1]
    lost = [by_id[id].losses for id in chosen if by_id[id].losses]
    assert len(lost) <= (1 if 2 in lost else suspects)
    assert all(by_id[id].key is not None for id in full)
