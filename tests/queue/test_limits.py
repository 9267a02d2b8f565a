"""Limits: an org's max_concurrent, a queue's max_running, token buckets. Exact, however many claim at once."""

import asyncio
import datetime as dt
import uuid
from collections import Counter

import hypothesis
import psycopg
import pytest
from hypothesis import strategies as st

import hands
from hands import ORG
from weft.access import orgs
from weft.base import errors, ids
from weft.db.database import Database
from weft.db.tx import Tx
from weft.queue import claim, explain, late, limits, tasks
from weft.queue.lanes import Lane, Take
from weft.queue.limits import Room
from weft.queue.tasks import QueueSettings

EVERY = ids.EVERY_ORG
HOUR = dt.timedelta(hours=1)


async def limit(tx: Tx, queue: str = "default", *, org: uuid.UUID = ORG, **settings: object) -> None:
    await tasks.set_queue(tx, org=org, queue=queue, settings=QueueSettings(**settings), actor="test")  # type: ignore[arg-type]


async def test_an_orgs_limit_holds_across_its_queues(tx: Tx) -> None:
    await orgs.change(tx, id=ORG, max_concurrent=3, actor="test")
    await hands.put_many(tx, 5, queue="a")
    await hands.put_many(tx, 5, queue="b", capabilities=["gpu"])
    held = await hands.claim_special(tx, capabilities=["gpu"])
    assert len(held) == 3 and await hands.claim_special(tx, capabilities=["gpu"]) == []
    await hands.end(tx, held[:2])
    assert len(await hands.claim_special(tx, capabilities=["gpu"])) == 2


async def test_an_orgs_limit_does_not_touch_another_org(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    await orgs.change(tx, id=ORG, max_concurrent=0, actor="test")
    await hands.put_many(tx, 5)
    await hands.put_many(tx, 5, org=other)
    assert {task.org for task in await hands.claim_plain(tx)} == {str(other)}
    assert await hands.claim_special(tx) == []


async def test_a_lifted_limit_is_gone(tx: Tx) -> None:
    await orgs.change(tx, id=ORG, max_concurrent=1, actor="test")
    await hands.put_many(tx, 5)
    await orgs.change(tx, id=ORG, max_concurrent=None, actor="test")
    assert len(await hands.claim_plain(tx)) == 5


async def test_what_runs_when_a_limit_is_set_counts_against_it(tx: Tx) -> None:
    await hands.put_many(tx, 10)
    held = await hands.claim_plain(tx, 4)
    await limit(tx, max_running=5)
    assert len(await hands.claim_special(tx)) == 1
    await hands.end(tx, held)
    assert len(await hands.claim_special(tx)) == 4


@pytest.mark.parametrize("which", ["org", "queue", "everybodys queue"])
async def test_what_a_claim_took_that_did_not_know_of_the_limit_is_counted_by_a_chore(
    database: Database, which: str
) -> None:
    async with database.tx() as tx:
        await hands.put_many(tx, 10)
        other = await hands.new_org(tx, "other")
        await hands.put_many(tx, 2, org=other, queue="elsewhere")
    async with database.tx() as setting:
        if which == "org":
            await orgs.change(setting, id=ORG, max_concurrent=5, actor="test")
        else:
            await limit(setting, org=ORG if which == "queue" else EVERY, max_running=5)
        async with database.tx() as tx:  # it begins, and ends, before the limit is committed, and is not seen by it
            held = await hands.claim_plain(tx, 100)
    assert len(held) == 12
    clock = iter([0.0, 0.0, 10.0, 100.0, 100.0, 200.0])
    claims = late.LateClaims(lambda: next(clock))
    async with database.tx() as tx:
        assert await claims.peek(tx) and await claims.once(tx) == 10
        assert not await claims.peek(tx)
    async with database.tx() as tx:
        # once more when no claim can be left that did not know; then never again
        await tx.run("update weft.tasks set limited = false where id = %(id)s", {"id": held[0].id})
        assert await claims.peek(tx) and await claims.once(tx) == (1 if held[0].org == str(ORG) else 0)
        assert not await claims.peek(tx)
        await hands.put_many(tx, 1)
        assert await hands.claim_special(tx) == []
        assert await tx.value("select count(*) from weft.tasks where limited and queue = 'elsewhere'") == 0


async def test_a_queues_limit_of_one_org_and_of_every_org_both_hold(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    await hands.put_many(tx, 10)
    await hands.put_many(tx, 10, org=other)
    await limit(tx, max_running=2)
    await limit(tx, org=EVERY, max_running=5)
    claimed = [task.org for task in await hands.claim_special(tx)]
    assert len(claimed) == 5 and claimed.count(str(ORG)) <= 2
    assert await hands.claim_special(tx) == []


async def test_what_is_given_back_or_retried_gives_its_place_back(tx: Tx) -> None:
    await limit(tx, max_running=1)
    await hands.put_many(tx, 3)
    for how in ("released", "failed", "snoozed", "lost"):
        held = await hands.claim_special(tx)
        assert len(held) == 1
        await hands.end(tx, held, how, delay=60.0)
    assert len(await hands.claim_special(tx)) == 1


async def test_a_limited_queue_that_is_paused_gives_nothing(tx: Tx) -> None:
    await hands.put_many(tx, 3)
    await limit(tx, max_running=2, paused=True)
    lane = Lane("default", str(ORG), True, limited=True)
    taken = await limits.claim(tx, node_id=hands.NODE, token=str(ids.token()), kinds=["mail"], lanes=[lane], want=5)
    assert taken.tasks == []


async def test_a_bucket_gives_its_burst_and_then_what_flows_in(tx: Tx) -> None:
    await limit(tx, rate_limit=10, rate_period=HOUR, rate_burst=4)
    await hands.put_many(tx, 20)
    assert len(await hands.claim_special(tx)) == 4
    assert await hands.claim_special(tx) == []
    await tx.run("update weft.queues set refilled_at = refilled_at - interval '13 minutes'")
    assert len(await hands.claim_special(tx)) == 2
    await tx.run("update weft.queues set refilled_at = refilled_at - interval '1 day'")
    assert len(await hands.claim_special(tx)) == 4


async def test_parts_of_a_token_are_kept(tx: Tx) -> None:
    await limit(tx, rate_limit=1, rate_period=HOUR, rate_burst=1)
    await hands.put_many(tx, 3)
    assert len(await hands.claim_special(tx)) == 1
    for _ in range(2):
        await tx.run("update weft.queues set refilled_at = refilled_at - interval '40 minutes'")
        got = len(await hands.claim_special(tx))
    assert got == 1


async def test_a_rate_of_every_org_is_shared(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    await limit(tx, org=EVERY, rate_limit=1, rate_period=HOUR, rate_burst=6)
    await hands.put_many(tx, 10)
    await hands.put_many(tx, 10, org=other)
    claimed = [task.org for task in await hands.claim_special(tx)]
    assert len(claimed) == 6 and {claimed.count(str(ORG)), claimed.count(str(other))} == {3}
    assert await hands.claim_special(tx) == []


async def test_one_place_at_a_time_goes_to_each_org_in_turn(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    await limit(tx, org=EVERY, max_running=1)
    for org in (ORG, other):
        await hands.put_many(tx, 20, org=org)
        for n in range(20):
            await hands.put(tx, org=org, concurrency_key=f"key {n}")
    seen = Counter()
    for turn in range(24):
        [held] = await hands.claim_special(tx, turn=turn)
        seen[(held.org, held.concurrency_key is None)] += 1
        await hands.end(tx, [held])
    assert len(seen) == 4 and min(seen.values()) >= 4


async def test_keyed_work_spends_tokens_and_places_too(tx: Tx) -> None:
    await limit(tx, rate_limit=1, rate_period=HOUR, rate_burst=3, max_running=2)
    for key in "abcd":
        await hands.put(tx, concurrency_key=key)
    held = await hands.claim_special(tx)
    assert len(held) == 2
    await hands.end(tx, held)
    assert len(await hands.claim_special(tx)) == 1


async def test_a_limit_somebody_else_is_counting_is_not_waited_for(database: Database) -> None:
    async with database.tx() as tx:
        await limit(tx, max_running=2)
        await hands.put_many(tx, 4)
    lane = Lane("default", str(ORG), True, limited=True)
    arguments = {"node_id": hands.NODE, "kinds": ["mail"], "lanes": [lane], "want": 5}
    async with database.tx() as frozen, database.tx() as other:
        assert len((await limits.claim(frozen, token=str(ids.token()), **arguments)).tasks) == 2  # type: ignore[arg-type]
        taken = await limits.claim(other, token=str(ids.token()), **arguments)  # type: ignore[arg-type]
        assert (taken.tasks, taken.contended) == ([], True)


async def test_settings_that_make_no_sense_are_refused(database: Database) -> None:
    wrong = ({"max_running": -1}, {"rate_limit": 5}, {"rate_limit": 0, "rate_period": HOUR, "rate_burst": 1})
    for settings in wrong:
        with pytest.raises(errors.InvalidInput):
            async with database.tx() as tx:
                await limit(tx, **settings)
    async with database.tx() as tx:
        with pytest.raises(errors.InvalidInput, match="whole number from 0"):
            await orgs.change(tx, id=ORG, max_concurrent=-1, actor="test")
        with pytest.raises(errors.NotFound):
            await orgs.change(tx, id=EVERY, max_concurrent=1, actor="test")
        with pytest.raises(errors.NotFound):
            await orgs.change(tx, id=uuid.uuid4(), max_concurrent=1, actor="test")
        with pytest.raises(errors.InvalidName):
            await limit(tx, "a+b")


async def test_a_limit_is_journaled_with_what_was_before(tx: Tx) -> None:
    await limit(tx, max_running=2)
    await limit(tx, paused=True)
    [(before, after)] = await tx.rows("select before, after from weft.journal order by id desc limit 1")
    assert (before["max_running"], before["paused"], after["max_running"], after["paused"]) == (2, False, None, True)


async def claim_counted(tx: Tx, want: int = 100, *, marks: limits.Marks | None = None) -> limits.Taken:
    """As a worker that was told of work in a lane under limits."""
    lane = Lane("default", str(ORG), plain=True, limited=True, countable=True)
    token = str(ids.token())
    return await limits.claim_counted(
        tx, node_id=hands.NODE, token=token, kinds=["mail"], lane=lane, want=want, marks=marks or {}
    )


@pytest.mark.parametrize(
    ("limited", "way"),
    [(limited, way) for limited in ("org", "queue", "key") for way in ("crowded", "alone", "counted")
     if (limited, way) != ("key", "counted")],
)  # fmt: skip
async def test_never_eleven_under_a_limit_of_ten_with_eight_claimers(
    database: Database, database_url: str, limited: str, way: str
) -> None:
    async with database.tx() as tx:
        if limited == "org":
            await orgs.change(tx, id=ORG, max_concurrent=10, actor="test")
        elif limited == "queue":
            await limit(tx, org=EVERY, max_running=10)
        for _ in range(150):
            await hands.put(tx, **({"concurrency_key": "k", "concurrency": 10} if limited == "key" else {}))
    finished = 0
    counts: list[int] = []

    async def claimer() -> None:
        nonlocal finished
        while finished < 150:
            # what is not crowded is asked as the claimer does: begun, locked and counted in one message
            async with database.tx(waits=way == "crowded") as tx:
                if way == "counted":
                    held = (await claim_counted(tx, 4)).tasks
                else:
                    held = await hands.claim_special(tx, 4, crowded=way == "crowded")
            # an independent look: how many hold a lease at this instant, in a snapshot of its own
            async with database.once() as tx:
                counts.append(int(await tx.value("select count(*) from weft.tasks where lease_token is not null")))
            if held:
                async with database.tx() as tx:
                    await hands.end(tx, held)
                finished += len(held)

    async with asyncio.timeout(60):
        await asyncio.gather(*(claimer() for _ in range(8)))
    assert finished == 150 and max(counts) <= 10
    with psycopg.connect(database_url) as connection:
        # from history: at no claim did more than ten overlap
        overlaps = connection.execute(
            "select max((select count(*) from weft.task_history as o "
            "where o.claimed_at <= h.claimed_at and o.finished_at > h.claimed_at)) from weft.task_history as h"
        ).fetchone()
    assert overlaps is not None and 2 <= overlaps[0] <= 10


async def test_what_is_counted_in_one_round_trip_is_what_the_limits_leave(tx: Tx) -> None:
    await hands.put_many(tx, 20)
    await orgs.change(tx, id=ORG, max_concurrent=9, actor="test")
    assert len((await claim_counted(tx, 2)).tasks) == 2
    await limit(tx, org=EVERY, max_running=7)
    assert len((await claim_counted(tx)).tasks) == 5
    assert await claim_counted(tx) == limits.Taken([])
    await limit(tx, org=EVERY)
    assert len((await claim_counted(tx)).tasks) == 2
    await orgs.change(tx, id=ORG, max_concurrent=None, actor="test")
    await limit(tx, paused=True)
    assert (await claim_counted(tx)).tasks == []
    await limit(tx, rate_limit=100, rate_period=dt.timedelta(seconds=1), rate_burst=100)
    # a bucket is not spent here: the look says so, and it is claimed the long way
    assert (await claim_counted(tx)).tasks == []
    assert [lane.countable for lane in await hands.served(tx)] == [False]
    await limit(tx)
    assert [lane.countable for lane in await hands.served(tx)] == [True]
    await orgs.change(tx, id=ORG, suspended=True, actor="test")
    assert (await claim_counted(tx)).tasks == []
    await orgs.change(tx, id=ORG, suspended=False, actor="test")
    taken = await claim_counted(tx)
    assert len(taken.tasks) == 11 and not taken.contended and not taken.short
    assert (await claim_counted(tx, marks=taken.marks)).short


async def test_what_somebody_else_is_counting_is_not_counted_in_one_round_trip(database: Database) -> None:
    async with database.tx() as tx:
        await limit(tx, max_running=5)
        await hands.put_many(tx, 3)
    async with database.tx() as other:
        assert len((await claim_counted(other, 1)).tasks) == 1
        async with database.tx(waits=False) as tx:
            assert await claim_counted(tx) == limits.Taken([], contended=True)
    async with database.tx(waits=False) as tx:
        assert len((await claim_counted(tx)).tasks) == 2


names = st.sampled_from(["a", "b", "c"])


requests = st.lists(st.tuples(st.lists(names, max_size=3, unique=True), st.integers(0, 9)))


@hypothesis.given(st.dictionaries(names, st.integers(-3, 20)), requests)
def test_room_is_never_overdrawn(places: dict[str, int], asks: list[tuple[list[str], int]]) -> None:
    room, given = Room(dict(places)), dict.fromkeys(places, 0)
    for wanted, want in asks:
        got = room.take(wanted, want=want)
        assert 0 <= got <= want
        for name in wanted:
            if name in given:
                given[name] += got
    assert all(given[name] <= max(places[name], 0) for name in places)


weighed = st.lists(st.integers(1, 9), min_size=1, max_size=8)


@hypothesis.given(weighed, st.integers(0, 50), st.integers(0, 30), st.integers(0, 99))
def test_dividing_gives_no_more_than_is_wanted_or_free(weights: list[int], want: int, free: int, turn: int) -> None:
    lanes = [Lane(f"q{n}", "org", True, weight=weight) for n, weight in enumerate(weights)]
    takes = limits.divide(lanes, room=Room({"org org": free}), want=want, turn=turn)
    assert sum(takes.values()) == min(want, free)
    assert all(take > 0 for take in takes.values())


async def test_nothing_of_a_suspended_org_is_claimed_until_it_is_lifted(tx: Tx) -> None:
    plain, keyed = await hands.put(tx), await hands.put(tx, concurrency_key="k")
    warm = [Take(Lane("default", str(ORG), plain=True), 9)]
    await orgs.change(tx, id=ORG, suspended=True, actor="test")
    assert await hands.claim_plain(tx) == [] and await hands.claim_special(tx) == []
    assert await claim.plain(tx, node_id=hands.NODE, token=str(ids.token()), kinds=["mail"], takes=warm) == []
    special = [Lane("default", str(ORG), plain=False)]
    taken = await limits.claim(tx, node_id=hands.NODE, token=str(ids.token()), kinds=["mail"], lanes=special, want=9)
    assert taken.tasks == []
    assert (await explain.explain(tx, id=uuid.UUID(plain), org=ORG)).code == "suspended"
    await orgs.change(tx, id=ORG, suspended=False, actor="test")
    assert {one.id for one in await hands.claim_plain(tx) + await hands.claim_special(tx)} == {plain, keyed}
