"""The local buffer: nothing is lost, each org keeps its order, orgs take turns."""

import asyncio
import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from weft.queue.model import Claimed, Rest
from weft.worker.buffer import Buffer

NOW = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)


def task(org: str, number: int, *, kind: str = "work", losses: int = 0) -> Claimed:
    return Claimed(f"{org}{number}", org, kind, "{}", 1, "default", 50, NOW, Rest(losses=losses))


def pops(buffer: Buffer) -> list[str]:
    found = []
    while (one := buffer.pop()) is not None:
        found.append(one.id)
    return found


orgs = st.sampled_from("abc")
words = st.sampled_from(["pop", "kept", "like", "drain", "fresh"])
steps = st.lists(st.one_of(st.lists(orgs, max_size=8), words), max_size=40)


@given(steps)
def test_nothing_is_lost_nothing_comes_twice_and_each_org_keeps_its_order(steps: list[list[str] | str]) -> None:
    buffer = Buffer()
    put: dict[str, list[str]] = {}
    got: list[Claimed] = []
    number = 0
    fresh = False
    for step in steps:
        if step in ("pop", "kept"):
            got += [one] if (one := buffer.pop(only_fresh=step == "kept")) is not None else []
        elif step == "fresh":
            fresh = not fresh
        elif step == "like":
            if (first := buffer.pop()) is not None:
                more = buffer.pop_like(first, at_most=3)
                assert all(one.org == first.org for one in more) and len(more) <= 3
                got += [first, *more]
        elif step == "drain":
            got += buffer.drain()
            assert len(buffer) == 0
        else:
            new = []
            for org in step:
                number += 1
                new.append(task(org, number))
                put.setdefault(org, []).append(new[-1].id)
            buffer.put(new, fresh=fresh)
        assert len(buffer) == number - len(got)
    got += buffer.drain()
    assert {org: [one.id for one in got if one.org == org] for org in put} == put
    assert buffer.pop() is None and len(buffer) == 0


@given(st.lists(orgs, max_size=40))
def test_orgs_take_turns(line: list[str]) -> None:
    buffer = Buffer()
    buffer.put([task(org, number) for number, org in enumerate(line)])
    waiting = {org: line.count(org) for org in set(line)}
    served: list[str] = []
    for id in pops(buffer):
        served.append(id[0])
        # nobody is served a second time while another waits for its first in this round
        for org, left in waiting.items():
            behind = left - served.count(org)
            if behind > 0:
                assert served.count(id[0]) - served.count(org) <= 1
    assert len(served) == len(line)


def test_whoever_comes_new_is_next() -> None:
    buffer = Buffer()
    buffer.put([task("a", number) for number in range(3)])
    assert buffer.pop() is not None
    buffer.put([task("b", 1)])
    assert pops(buffer) == ["b1", "a1", "a2"]


def test_who_comes_with_a_little_has_one_before_all_others_and_then_turns_like_everybody() -> None:
    buffer = Buffer()
    buffer.put([task("a", number) for number in range(4)])
    buffer.put([task("b", 0), task("b", 1), task("c", 0)], fresh=True)
    buffer.put([task("d", 0)])
    assert buffer.fresh
    assert pops(buffer) == ["b0", "c0", "d0", "a0", "b1", "a1", "a2", "a3"]
    assert not buffer.fresh


def test_runners_that_are_kept_get_nothing_else() -> None:
    buffer = Buffer()
    buffer.put([task("a", 0), task("a", 1)])
    assert buffer.pop(only_fresh=True) is None
    buffer.put([task("b", 0), task("b", 1)], fresh=True)
    buffer.put([task("a", 2)], fresh=True)  # it has something here already
    buffer.put_first([task("c", 0)])
    kept = [buffer.pop(only_fresh=True) for _ in range(3)]
    assert [one and one.id for one in kept] == ["c0", "b0", None]
    assert len(buffer) == 4


def test_a_batch_takes_only_the_same_kind_and_nothing_beside_a_suspect() -> None:
    buffer = Buffer()
    buffer.put([task("a", 0), task("a", 1), task("a", 2, losses=1), task("a", 3), task("a", 4, kind="other")])
    first = buffer.pop()
    assert first is not None and [one.id for one in buffer.pop_like(first, at_most=9)] == ["a1"]
    suspect = buffer.pop()
    assert suspect is not None and suspect.id == "a2" and buffer.pop_like(suspect, at_most=9) == []
    third = buffer.pop()
    assert third is not None and buffer.pop_like(third, at_most=9) == []
    assert pops(buffer) == ["a4"]


def test_work_under_a_limit_comes_before_all_others() -> None:
    buffer = Buffer()
    buffer.put([task("a", 0), task("a", 1)])
    buffer.put_first([task("b", 2), task("a", 3)])
    assert len(buffer) == 4
    assert pops(buffer) == ["b2", "a3", "a0", "a1"]
    buffer.put_first([task("b", 4)])
    assert [one.id for one in buffer.drain()] == ["b4"] and len(buffer) == 0


def test_it_tells_when_it_runs_low() -> None:
    buffer = Buffer()
    told: list[int] = []
    buffer.low = 2
    buffer.on_low = lambda: told.append(len(buffer))
    buffer.put([task("a", number) for number in range(5)])
    pops(buffer)
    assert told == [2]


async def get(buffer: Buffer) -> Claimed:
    """As a runner does it."""
    while (found := buffer.pop()) is None:
        await buffer.wait()
    return found


async def test_those_who_wait_are_woken_in_order_and_one_who_leaves_passes_its_turn_on() -> None:
    buffer = Buffer()
    got: list[tuple[int, str]] = []

    async def run(number: int) -> None:
        got.append((number, (await get(buffer)).id))
        # what comes in wakes one; whoever took something sees to the rest
        buffer.wake(len(buffer))

    async with asyncio.timeout(10):
        runners = [asyncio.create_task(run(number)) for number in range(3)]
        while buffer.idle < 3:
            await asyncio.sleep(0)
        buffer.put([task("a", 0), task("a", 1)])
        # woken, and cancelled before it could take anything
        runners[0].cancel()
        await asyncio.gather(runners[0], return_exceptions=True)
        await asyncio.gather(*runners[1:])
    assert sorted(id for _, id in got) == ["a0", "a1"]
    assert len(buffer) == 0 and buffer.idle == 0


async def test_those_who_are_cancelled_while_waiting_are_forgotten() -> None:
    buffer = Buffer()
    runners = [asyncio.create_task(get(buffer)) for _ in range(3)]
    await asyncio.sleep(0)
    for runner in runners:
        runner.cancel()
    buffer.put([task("a", 0)])
    await asyncio.gather(*runners, return_exceptions=True)
    assert buffer.idle == 0 and [one.id for one in buffer.drain()] == ["a0"]


async def test_runners_are_idle_that_what_waits_here_leaves_without_work() -> None:
    buffer = Buffer()
    runners = [asyncio.create_task(get(buffer)) for _ in range(5)]
    await asyncio.sleep(0)
    assert buffer.idle == 5
    buffer.put([task("a", 0), task("a", 1)])
    # one is woken already
    assert buffer.idle == 2
    buffer.put([task("a", n) for n in range(2, 9)])
    assert buffer.idle == 0
    buffer.wake(5)
    await asyncio.gather(*runners)


async def test_the_last_runner_who_waits_tells_that_all_is_done() -> None:
    buffer, told = Buffer(), []
    buffer.runners, buffer.on_idle = 2, lambda: told.append(len(buffer))
    first = asyncio.create_task(buffer.wait())
    await asyncio.sleep(0)
    assert told == []
    second = asyncio.create_task(buffer.wait())
    await asyncio.sleep(0)
    assert told == [0]
    buffer.put([task("a", 1), task("a", 2)])
    await first
    # not while something is left, nor while the other one is at it
    waits = asyncio.create_task(buffer.wait())
    await asyncio.sleep(0)
    pops(buffer)
    assert told == [0]
    for one in (second, waits):
        one.cancel()
