"""Who counts as lost, decided from looks; and one who is really killed."""

import asyncio
import datetime as dt
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.cluster import leaders, nodes
from weft.cluster.model import Sign, Vitals
from weft.db.database import Database
from weft.db.tx import Tx
from weft.settle import rescue
from weft.upkeep import chore, liveness
from weft.upkeep.chore import Chore
from weft.upkeep.liveness import Liveness, Memory
from weft.upkeep.sight import Sight

PROCESS = Path(__file__).parents[1] / "cluster" / "process.py"
PATIENCE = liveness.PATIENCE.total_seconds()
UNSEEN = liveness.UNSEEN_PATIENCE.total_seconds()

WELL = Sign(id="n", overdue=False, absent=None, watched=True)
ABSENT = Sign(id="n", overdue=False, absent=1, watched=True)
OVERDUE = Sign(id="n", overdue=True, absent=None, watched=True)


def verdicts(looks: list[tuple[float, Sign]]) -> list[bool]:
    """Whether the node is lost after each look."""
    memories: dict[str, Memory] = {}
    found = []
    for at, sign in looks:
        memories = liveness.remember(memories, [sign], at=at)
        found.append(liveness.lost(memories, [sign], at=at) == [sign])
    return found


def test_a_node_that_was_well_is_lost_after_a_second_without_its_lock() -> None:
    assert verdicts([(0, WELL), (1, ABSENT), (1.9, ABSENT), (2, ABSENT)]) == [False, False, False, True]


def test_coming_back_starts_the_count_anew() -> None:
    assert verdicts([(0, WELL), (1, ABSENT), (1.5, WELL), (2, ABSENT), (2.9, ABSENT)]) == [False] * 5


def test_a_node_that_was_well_is_lost_at_once_when_its_lease_ran_out() -> None:
    assert verdicts([(0, WELL), (10, OVERDUE)]) == [False, True]


@pytest.mark.parametrize("sign", [ABSENT, OVERDUE])
def test_a_node_this_term_never_saw_well_gets_time_to_come_back(sign: Sign) -> None:
    assert verdicts([(0, sign), (UNSEEN - 0.1, sign), (UNSEEN, sign)]) == [False, False, True]


@pytest.mark.parametrize("sign", [ABSENT, OVERDUE])
def test_in_a_steady_term_nobody_gets_more_time_than_one_who_was_well(sign: Sign) -> None:
    memories = liveness.remember({}, [sign], at=0)
    assert liveness.lost(memories, [sign], at=PATIENCE - 0.1, steady=True) == []
    assert liveness.lost(memories, [sign], at=PATIENCE, steady=True) == [sign]


def test_who_is_not_there_any_more_is_forgotten() -> None:
    assert liveness.remember({"gone": Memory(seen_well=True, missing_since=None)}, [], at=0) == {}


@given(st.lists(st.tuples(st.floats(0.01, 3), st.sampled_from([WELL, ABSENT, OVERDUE])), max_size=30))
def test_nobody_is_lost_who_was_well_within_the_patience(steps: list[tuple[float, Sign]]) -> None:
    at, well_at = 0.0, None
    looks = []
    for pause, sign in steps:
        at += pause
        looks.append((at, sign))
    for (now, sign), is_lost in zip(looks, verdicts(looks), strict=True):
        if sign is WELL:
            well_at = now
            assert not is_lost
        elif well_at is None:
            assert is_lost == (now - looks[0][0] >= UNSEEN)
        elif sign is ABSENT and now - well_at < PATIENCE:
            assert not is_lost


@given(st.lists(st.floats(0.01, 0.5), min_size=12, max_size=30), st.sampled_from([ABSENT, OVERDUE]))
def test_whoever_stays_missing_is_lost_in_the_end(pauses: list[float], sign: Sign) -> None:
    ats = [sum(pauses[: count + 1]) for count in range(len(pauses))]
    is_lost = verdicts([(at, sign) for at in ats])
    assert is_lost == [at - ats[0] >= UNSEEN for at in ats]


async def running_task(tx: Tx, *, node_id: str) -> str:
    id: str = await tx.value("select weft.enqueue('send')::text")
    await tx.run(
        "update weft.tasks set state = 'running', attempt = 1, claimed_at = weft.now(), node_id = %(node_id)s,"
        " lease_token = gen_random_uuid() where id = %(id)s",
        {"node_id": node_id, "id": id},
    )
    return id


async def state(database: Database, id: str) -> str:
    async with database.once() as tx:
        found: str = await tx.value("select state from weft.tasks where id = %(id)s", {"id": id})
        return found


async def test_the_tasks_of_a_killed_worker_are_taken_from_it_within_two_seconds(database: Database) -> None:
    async with database.tx() as tx:
        term = await leaders.take(tx, role=leaders.SCHEDULER, node_id=nodes.here(version="test").id)
    assert term is not None
    watch = Liveness(own_id="", quiet=dt.timedelta())
    looked, rescued = asyncio.Event(), asyncio.Event()

    async def peek(tx: Tx) -> bool:
        found = await watch.peek(tx)
        if watch.every() < PATIENCE * dt.timedelta(seconds=1):
            looked.set()
        return found

    async def once(tx: Tx) -> int:
        done = await watch.once(tx)
        if done:
            rescued.set()
        return done

    looking = Chore(name="liveness", every=watch.every, peek=peek, once=once, batch=1000)
    loop = asyncio.create_task(
        chore.run(looking, database=database, role=leaders.SCHEDULER, term=term, sight=Sight())
    )
    worker = await asyncio.create_subprocess_exec(
        sys.executable, str(PROCESS), await database.url(), "worker", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert worker.stdout is not None
        node_id = (await asyncio.wait_for(worker.stdout.readline(), 20)).split()[0].decode()
        async with database.tx() as tx:
            id = await running_task(tx, node_id=node_id)
        await asyncio.wait_for(looked.wait(), 5)
        killed = time.monotonic()
        worker.kill()
        await asyncio.wait_for(rescued.wait(), 5)
        assert time.monotonic() - killed < 2
        async with database.tx() as tx:  # after the rescue's commit: it holds the node's row
            await tx.rows("select from weft.nodes for update")
        assert await state(database, id) in ("ready", "scheduled")
    finally:
        loop.cancel()
        if worker.returncode is None:
            worker.kill()
        await worker.wait()


async def test_a_node_that_comes_back_before_it_is_given_up_keeps_its_tasks(database: Database) -> None:
    clock = iter([0.0, UNSEEN])
    watch = Liveness(own_id="", quiet=dt.timedelta(), clock=lambda: next(clock))
    node = nodes.here(version="test")
    async with database.tx() as tx:
        await nodes.register(tx, node=node, liveness=1)
        await nodes.beat(tx, node_id=node.id, vitals=Vitals())
        id = await running_task(tx, node_id=node.id)
        assert [await watch.peek(tx), await watch.peek(tx)] == [False, True]
        await nodes.register(tx, node=node, liveness=2)
        assert await watch.once(tx) == 0
    assert await state(database, id) == "running"


async def test_what_a_transaction_of_the_dead_still_holds_is_taken_when_that_is_over(database: Database) -> None:
    clock = iter([0.0, UNSEEN, UNSEEN, UNSEEN])
    watch = Liveness(own_id="", quiet=dt.timedelta(), clock=lambda: next(clock))
    node = nodes.here(version="test")
    async with database.tx() as tx:
        await nodes.register(tx, node=node, liveness=1)
        held, free = [await running_task(tx, node_id=node.id) for _ in range(2)]
        assert [await watch.peek(tx), await watch.peek(tx)] == [False, True]
    async with database.tx() as frozen:
        await frozen.run("select from weft.tasks where id = %(id)s for update", {"id": held})
        async with database.tx() as tx:
            assert await watch.once(tx) == 1
    assert [await state(database, free), await state(database, held)] == ["ready", "running"]
    async with database.tx() as tx:
        assert await watch.peek(tx)
        assert await watch.once(tx) == 1
        assert not await watch.peek(tx)
    assert await state(database, held) == "ready"


async def test_more_tasks_than_one_batch_are_taken_in_several(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescue, "BATCH", 2)
    clock = iter([0.0, UNSEEN, UNSEEN, UNSEEN])
    watch = Liveness(own_id="", quiet=dt.timedelta(), clock=lambda: next(clock))
    node = nodes.here(version="test")
    async with database.tx() as tx:
        await nodes.register(tx, node=node, liveness=1)
        for _ in range(3):
            await running_task(tx, node_id=node.id)
        assert [await watch.peek(tx), await watch.peek(tx)] == [False, True]
        assert await watch.once(tx) == 2
        assert await watch.peek(tx)
        assert await watch.once(tx) == 1
        assert not await watch.peek(tx)
