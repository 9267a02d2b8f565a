"""Whose turn it is: shares by weight, lanes by queue and capability. Pure, but for the name both sides must agree on."""

from collections.abc import Sequence

import hypothesis
from hypothesis import strategies as st

from weft.db.tx import Tx
from weft.queue import lanes
from weft.queue.lanes import Lane

weights = st.lists(st.integers(1, 100), min_size=1, max_size=40)


@hypothesis.given(weights, st.integers(0, 1000), st.integers(0, 10**9))
def test_shares_sum_to_what_is_wanted(weighed: list[int], want: int, turn: int) -> None:
    given = lanes.shares(weighed, want=want, turn=turn)
    assert len(given) == len(weighed) and sum(given) == want and min(given) >= 0


@hypothesis.given(weights, st.integers(1, 1000), st.integers(0, 10**9))
def test_a_share_is_what_the_weight_is_worth_give_or_take_one(weighed: list[int], want: int, turn: int) -> None:
    for weight, share in zip(weighed, lanes.shares(weighed, want=want, turn=turn), strict=True):
        assert abs(share - want * weight / sum(weighed)) < 1


@hypothesis.given(st.lists(st.integers(1, 10), min_size=1, max_size=20), st.integers(1, 5), st.integers(0, 10**6))
def test_over_many_turns_everybody_gets_what_its_weight_is_worth(weighed: list[int], want: int, start: int) -> None:
    turns = 1000
    totals = [0] * len(weighed)
    for turn in range(start, start + turns):
        totals = [sum(pair) for pair in zip(totals, lanes.shares(weighed, want=want, turn=turn), strict=True)]
    for weight, got in zip(weighed, totals, strict=True):
        assert abs(got - turns * want * weight / sum(weighed)) <= 10


def test_with_more_lanes_than_places_nobody_waits_for_ever() -> None:
    longest = [0] * 50
    for turn in range(1000):
        given = lanes.shares([1] * 50, want=1, turn=turn)
        longest = [0 if got else waited + 1 for waited, got in zip(longest, given, strict=True)]
        assert max(longest) < 150


def test_nobody_gets_nothing_of_nothing() -> None:
    assert lanes.shares([], want=5) == []
    assert lanes.shares([1, 2], want=0) == [0, 0]
    assert lanes.shares([1, 2], want=-3) == [0, 0]


names = st.text("abcXYZ019", min_size=1, max_size=5)
capability_sets = st.frozensets(names, max_size=4)


def _lane(queue: str, capabilities: Sequence[str], *, paused: bool = False) -> Lane:
    return Lane("+".join([queue, *sorted(capabilities)]), "org", True, paused=paused)


@hypothesis.given(names, capability_sets, st.frozensets(names, max_size=3), capability_sets)
def test_a_worker_serves_a_lane_whose_queue_and_needs_it_has(
    queue: str, needs: frozenset[str], queues: frozenset[str], has: frozenset[str]
) -> None:
    lane = _lane(queue, sorted(needs))
    assert (lane.queue, lane.capabilities) == (queue, needs)
    expected = (not queues or queue in queues) and needs <= has
    assert (lanes.served([lane], queues=queues, capabilities=has) == [lane]) == expected


def test_a_paused_lane_is_served_by_nobody() -> None:
    assert lanes.served([_lane("q", (), paused=True)], queues=frozenset(), capabilities=frozenset()) == []


async def test_sql_and_python_name_a_lane_the_same(tx: Tx) -> None:
    for needs in ([], ["gpu"], ["gpu", "Big", "big", "GPU", "10", "9"], ["ä", "a", "z", "é"], ["gpu", "gpu"]):
        named = await tx.value("select weft.lane('post', %(needs)s::text[])", {"needs": needs})
        assert named == lanes.name("post", needs) == "+".join(["post", *sorted(set(needs))])
