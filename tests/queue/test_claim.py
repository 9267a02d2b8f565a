"""Claiming plain work: in order, only what one serves, fairly between orgs, each task once."""

import asyncio
import uuid
from collections import Counter

import msgspec

import hands
from hands import ORG
from weft.access import orgs
from weft.base import ids
from weft.db.database import Database
from weft.db.tx import Tx
from weft.queue import claim, tasks
from weft.queue.lanes import Lane, Mark, Take
from weft.queue.tasks import QueueSettings

EVERY = ids.EVERY_ORG
TOKEN = "select lease_token from weft.tasks where id = %(id)s"


async def pause(tx: Tx, queue: str, *, org: uuid.UUID = ORG, paused: bool = True) -> None:
    await tasks.set_queue(tx, org=org, queue=queue, settings=QueueSettings(paused=paused), actor="test")


async def test_priority_comes_first_then_time_then_order(tx: Tx) -> None:
    late = await hands.put(tx, priority=50)
    urgent = await hands.put(tx, priority=90)
    early = await hands.put(tx, priority=50)
    await hands.make_due(tx, early)
    last = await hands.put(tx, priority=0)
    assert [task.id for task in await hands.claim_plain(tx)] == [urgent, early, late, last]


async def test_a_claimed_task_is_held_with_a_token_by_a_node(tx: Tx) -> None:
    id = await hands.put(tx, payload={"to": "x"}, tags=["t"])
    [held] = await hands.claim_plain(tx)
    assert (held.id, held.attempt, held.payload, held.queue) == (id, 1, '{"to": "x"}', "default")
    assert (held.org, held.tags, held.losses, held.uncounted) == (str(ORG), ["t"], 0, 0)
    task = await hands.look(tx, id)
    assert (task.state, task.attempt, str(task.node_id)) == ("running", 1, hands.NODE)
    assert task.claimed_at is not None and task.started_at is None
    assert await hands.claim_plain(tx) == []


async def test_only_kinds_that_are_served_are_claimed(tx: Tx) -> None:
    await hands.put(tx, "sms")
    mail = await hands.put(tx, "mail")
    assert [task.id for task in await hands.claim_plain(tx, kinds=["mail", "fax"])] == [mail]


async def test_only_queues_that_are_served_are_claimed(tx: Tx) -> None:
    a, b, c = [await hands.put(tx, queue=queue) for queue in "abc"]
    assert {task.id for task in await hands.claim_plain(tx, queues=["a", "c"])} == {a, c}
    assert [task.id for task in await hands.claim_plain(tx)] == [b]


async def test_a_task_waits_for_a_worker_with_all_its_capabilities(tx: Tx) -> None:
    id = await hands.put(tx, capabilities=["gpu", "big"])
    assert await hands.claim_plain(tx) == []
    assert await hands.claim_plain(tx, capabilities=["gpu"]) == []
    assert [task.id for task in await hands.claim_plain(tx, capabilities=["gpu", "big", "more"])] == [id]


async def test_a_paused_queue_is_not_claimed_until_it_is_resumed(tx: Tx) -> None:
    await hands.put(tx, queue="a", capabilities=["gpu"])
    other = await hands.put(tx, queue="b")
    await pause(tx, "a")
    assert [task.id for task in await hands.claim_plain(tx, capabilities=["gpu"])] == [other]
    await pause(tx, "a", paused=False)
    assert len(await hands.claim_plain(tx, capabilities=["gpu"])) == 1


async def test_a_pause_of_one_org_is_not_a_pause_of_another(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    await hands.put(tx)
    theirs = await hands.put(tx, org=other)
    await pause(tx, "default")
    assert [task.id for task in await hands.claim_plain(tx)] == [theirs]


async def test_a_pause_for_every_org_holds_everybody(tx: Tx) -> None:
    other = await hands.new_org(tx, "other")
    await hands.put(tx)
    await hands.put(tx, org=other)
    await pause(tx, "default", org=EVERY)
    assert await hands.claim_plain(tx) == []


async def test_what_was_told_is_claimed_as_anything_is(database: Database) -> None:
    """The short way, by itself and in a transaction, beside the usual one."""
    async with database.tx() as tx:
        for _ in range(3):
            await hands.put(tx, payload={"to": "ä"}, tags=["t"], timeout="2m", retry={"backoff": "fixed"}, queue="ö")
    takes = [Take(Lane("ö", str(ORG), True), 1)]
    rest = {"node_id": hands.NODE, "kinds": ["mail", "fax"], "takes": takes}
    async with database.once() as tx:
        usual = await claim.plain(tx, token=str(ids.token()), **rest)
    async with database.once() as tx:
        short = await claim.plain(tx, token=str(ids.token()), told=True, **rest)
    async with database.tx() as tx:
        inside = await claim.plain(tx, token=str(ids.token()), told=True, **rest)
    held = [*usual, *short, *inside]
    assert [one.id for one in held] == sorted({one.id for one in held}) and len(held) == 3
    same = [msgspec.structs.replace(one, id="", token="", run_at=Mark().run_at, claimed=0.0) for one in held]
    assert same[0] == same[1] == same[2]
    async with database.tx() as tx:
        for one in held:
            assert (await hands.look(tx, one.id)).state == "running"
        assert len({str(await tx.value(TOKEN, {"id": one.id})) for one in held} & {one.token for one in held}) == 3


async def test_what_was_told_is_not_claimed_if_it_must_not_be(database: Database) -> None:
    async def told(mark: Mark = Mark(), kind: str = "mail") -> int:  # noqa: B008
        takes = [Take(Lane("default", str(ORG), True), 10, mark)]
        async with database.once() as tx:
            token = str(ids.token())
            return len(await claim.plain(tx, node_id=hands.NODE, token=token, kinds=[kind], takes=takes, told=True))

    async with database.tx() as tx:
        await hands.put(tx, delay="1h")
        id = await hands.put(tx)
        run_at = await tx.value("select run_at from weft.tasks where id = %(id)s", {"id": id})
    assert await told(kind="fax") == 0 and await told(Mark(50, run_at, id)) == 0
    for paused in (True, False):
        async with database.tx() as tx:
            await pause(tx, "default", org=EVERY, paused=paused)
        assert not paused or await told() == 0
    for most in (5, None):
        async with database.tx() as tx:
            await orgs.change(tx, id=ORG, max_concurrent=most, actor="test")
        assert await told() == (0 if most else 1)


async def _take(tx: Tx, count: int, mark: Mark = Mark()) -> list[str]:  # noqa: B008
    takes = [Take(Lane("default", str(ORG), True), count, mark)]
    found = await claim.plain(tx, node_id=hands.NODE, token=str(ids.token()), kinds=["mail"], takes=takes)
    return [task.id for task in found]


async def test_a_queue_paused_after_the_look_is_left_out_by_the_claim_itself(tx: Tx) -> None:
    id = await hands.put(tx)
    await pause(tx, "default")
    assert await _take(tx, 10) == []
    await pause(tx, "default", paused=False)
    assert await _take(tx, 10) == [id]


async def test_an_org_limited_after_the_look_is_left_out_by_the_claim_itself(tx: Tx) -> None:
    await hands.put(tx)
    await orgs.change(tx, id=ORG, max_concurrent=1, actor="test")
    assert await _take(tx, 10) == []


async def test_a_mark_skips_what_is_before_it_and_nothing_else(tx: Tx) -> None:
    first, second, third = [await hands.put(tx) for _ in range(3)]
    seen = await hands.look(tx, first)
    assert await _take(tx, 10, Mark(50, seen.run_at, first)) == [second, third]
    assert await _take(tx, 10) == [first]


async def test_one_org_with_a_mountain_does_not_starve_another(tx: Tx) -> None:
    small = await hands.new_org(tx, "small")
    await hands.put_many(tx, 2000)
    await hands.put_many(tx, 20, org=small)
    claimed = Counter(task.org for task in await hands.claim_plain(tx, 40))
    assert claimed == {str(ORG): 20, str(small): 20}


async def test_weights_divide_a_claim_between_orgs(tx: Tx) -> None:
    heavy = await hands.new_org(tx, "heavy", weight=3)
    await hands.put_many(tx, 100)
    await hands.put_many(tx, 100, org=heavy)
    claimed = Counter(task.org for task in await hands.claim_plain(tx, 40))
    assert claimed == {str(ORG): 10, str(heavy): 30}


async def test_lanes_say_who_has_work_and_what_holds_it(tx: Tx) -> None:
    other = await hands.new_org(tx, "other", max_concurrent=1)
    await hands.put_many(tx, 50)
    await hands.put(tx, org=other, queue="slow", capabilities=["gpu"])
    await hands.put(tx, queue="slow", concurrency_key="k")
    await pause(tx, "slow")
    found = {(lane.lane, lane.org, lane.plain): (lane.limited, lane.paused) for lane in await claim.lanes(tx)}
    assert found == {
        ("default", str(ORG), True): (False, False),
        ("slow", str(ORG), False): (False, True),
        ("slow+gpu", str(other), True): (True, False),
    }


async def test_what_is_scheduled_blocked_or_running_is_in_no_lane(tx: Tx) -> None:
    await hands.put(tx, delay=60)
    await hands.put_many(tx, 3)
    await hands.claim_plain(tx)
    assert await claim.lanes(tx) == []


async def test_eight_claimers_at_once_take_each_task_once(database: Database) -> None:
    async with database.tx() as tx:
        made = await hands.put_many(tx, 400)

    async def claimer() -> list[str]:
        mine: list[str] = []
        for _ in range(10):
            async with database.tx() as tx:
                mine += [task.id for task in await hands.claim_plain(tx, 20)]
        return mine

    claimed = [id for mine in await asyncio.gather(*(claimer() for _ in range(8))) for id in mine]
    assert len(claimed) == len(set(claimed))
    async with database.tx() as tx:
        left = [task.id for task in await hands.claim_plain(tx, 400)]
    assert sorted(claimed + left) == made


async def test_a_claim_that_is_rolled_back_claimed_nothing(database: Database) -> None:
    async with database.tx() as tx:
        id = await hands.put(tx)
    try:
        async with database.tx() as tx:
            await hands.claim_plain(tx)
            raise LookupError
    except LookupError:
        pass
    async with database.tx() as tx:
        assert (await hands.look(tx, id)).attempt == 0
        assert len(await hands.claim_plain(tx)) == 1
