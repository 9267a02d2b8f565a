"""What a worker asks its lanes for."""

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from weft.queue import lanes
from weft.queue.lanes import Lane, Mark
from weft.queue.model import Claimed
from weft.worker.warm import BATCH, WarmLanes, portion

THEN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ids = st.integers(0, 30).map(str)


def lane(org: str, name: str = "default", **traits: bool) -> Lane:
    return Lane(name, org, plain=traits.pop("plain", True), **traits)


def claimed(org: str, number: int, name: str = "default") -> Claimed:
    return Claimed(
        id=f"{org}-{number}", org=org, kind="k", payload="{}", attempt=1, lane=name, urgency=50, run_at=THEN, token="t",
        claimed=0.0,
    )  # fmt: skip


def warm(*orgs: str) -> WarmLanes:
    found = WarmLanes()
    found.found([lane(org) for org in orgs], special=[], now=0.0)
    return found


@given(st.sets(ids, min_size=1, max_size=30), st.integers(1, 1000))
def test_full_lanes_share_the_room_and_no_more(orgs: set[str], room: int) -> None:
    takes = warm(*orgs).shares(room)
    assert sum(take.take for take in takes) == room and all(take.take > 0 for take in takes)


def test_a_lane_that_gave_less_is_asked_for_a_little_and_the_full_ones_have_the_rest() -> None:
    known = warm("flood", "light")
    takes = known.shares(100)
    known.took(takes, [claimed("flood", n) for n in range(50)] + [claimed("light", 0)], now=1.0)
    assert known.more
    assert {take.lane.org: take.take for take in known.shares(100)} == {"flood": 100, "light": 50}


def test_a_mark_moves_with_what_was_taken_and_is_forgotten_by_a_look() -> None:
    known = warm("a")
    known.took(known.shares(1), [claimed("a", 7)], now=1.0)
    assert [take.mark for take in known.shares(1)] == [Mark(50, THEN, "a-7")]
    known.found([lane("a")], special=[], now=2.0)
    assert [take.mark for take in known.shares(1)] == [lanes.START]


def test_a_claim_that_leaves_nothing_behind_brings_the_mark_back() -> None:
    """Or else every claim would walk over all that died since, as long as a lane is empty."""
    known = warm("a")
    known.took(known.shares(1), [claimed("a", 7)], now=1.0)
    known.found([lane("a")], special=[], now=2.0)
    known.took(known.shares(5), [], now=2.0)
    assert [take.mark for take in known.shares(1)] == [Mark(50, THEN, "a-7")]


def test_a_claim_that_may_have_left_something_before_the_old_mark_goes_on_from_there() -> None:
    known = warm("a")
    known.took(known.shares(1), [claimed("a", 7)], now=1.0)
    known.found([lane("a")], special=[], now=2.0)
    known.took(known.shares(2), [claimed("a", 1), claimed("a", 2)], now=2.0)  # late, and as many as were asked for
    assert [take.mark for take in known.shares(2)] == [Mark(50, THEN, "a-2")]
    known.took(known.shares(2), [claimed("a", 3)], now=2.0)
    assert [take.mark for take in known.shares(2)] == [Mark(50, THEN, "a-7")]


def test_marks_can_be_forgotten_a_few_at_a_time_until_all_were() -> None:
    known = warm("a", "b", "c", "d")
    known.took(known.shares(4), [claimed(org, 7) for org in "abcd"], now=1.0)
    known.found([lane(org) for org in "abcd"], special=[], now=2.0, forget=False)
    forgotten = []
    for share in (0.5, 0.5, 0.01):
        before = {take.lane.org for take in known.shares(4) if take.mark == lanes.START}
        known.forget(share)
        forgotten.append({take.lane.org for take in known.shares(4) if take.mark == lanes.START} - before)
    assert [len(one) for one in forgotten] == [2, 2, 0] and forgotten[0] | forgotten[1] == set("abcd")


def test_newcomers_are_those_who_have_nothing_in_the_buffer() -> None:
    known = warm("flood", "light", "other")
    assert {take.lane.org: take.take for take in known.newcomers(["flood"], room=50)} == {"light": 5, "other": 5}
    assert known.newcomers(["flood"], room=0) == []
    assert [take.take for take in known.newcomers(["flood", "other"], room=2)] == [2]


def test_the_scout_leaves_the_flood_itself_to_the_bulk_even_when_the_buffer_has_run_empty() -> None:
    known = warm("flood", "light")
    known.took(known.shares(100), [*(claimed("flood", n) for n in range(50)), claimed("light", 0)], now=1.0)
    assert [take.lane.org for take in known.newcomers([], room=50)] == ["light"]
    known.found([lane("flood"), lane("light")], special=[], now=2.0)
    assert [take.lane.org for take in known.newcomers([], room=50)] == ["light"]


def test_what_one_lane_gave_is_told_from_what_several_gave() -> None:
    one, several = warm("a"), warm("a", "b")
    for known in (one, several):
        known.took(known.shares(4), [claimed("a", 1), claimed("a", 2)], now=1.0)
        assert {take.lane.org: take.mark.id for take in known.shares(4)}["a"] == "a-2"
    assert not one.more and several.more


def test_a_wake_up_names_a_lane_that_was_not_known() -> None:
    known = warm("a")
    [take] = known.named([("default+gpu", "b")], room=10, now=1.0)
    assert (take.lane.place, take.take, take.mark) == (("default+gpu", "b"), 10, lanes.START)
    known.took([take], [], now=1.0)
    assert {one.lane.org for one in known.shares(10)} == {"a", "b"}


def test_limited_lanes_are_not_warm_and_keyed_ones_may_be() -> None:
    known = warm("a", "b")
    keyed, limited = lane("a", plain=False), lane("b", limited=True)
    known.found([lane("a")], special=[keyed, limited], now=1.0)
    assert known.special == {keyed.place, limited.place} and known.limited == {limited.place}
    assert [take.lane.org for take in known.shares(10)] == ["a"]


def test_a_limited_lane_is_remembered_for_a_minute_though_no_look_sees_it_or_until_it_is_limited_no_more() -> None:
    known = warm("a")
    limited, keyed, other = lane("b", limited=True), lane("b", limited=True, plain=False), lane("c", limited=True)
    known.found([], special=[limited, keyed, other], now=1.0)
    known.found([], special=[other], now=50.0)
    assert known.limited == known.special == {limited.place, other.place}
    assert known.limits({limited.place}, beside=[other]) == [limited, keyed, other]
    known.found([lane("c")], special=[], now=60.0)
    assert known.limited == {limited.place}
    known.found([], special=[], now=62.0)
    assert not known.limited and known.limits({limited.place}, beside=[]) == []


def test_a_lane_without_work_is_forgotten_after_a_minute() -> None:
    known = warm("a")
    known.found([], special=[], now=59.0)
    assert known
    known.found([], special=[], now=61.0)
    assert not known


def test_while_others_look_after_the_rest_only_lanes_with_much_are_asked() -> None:
    known = warm("flood", "light")
    known.took(known.shares(100), [claimed("flood", n) for n in range(50)], now=1.0)
    assert [take.lane.org for take in known.shares(100, only_deep=True)] == ["flood"]
    # that a look saw something of it does not make it much: in a bulk claim it would wait for the whole of that
    known.found([lane("flood"), lane("light")], special=[], now=2.0)
    assert [take.lane.org for take in known.shares(100, only_deep=True)] == ["flood"]
    known.took(known.shares(100, only_deep=True), [], now=2.0)
    assert {take.lane.org for take in known.shares(100, only_deep=True)} == {"flood", "light"}


def test_who_comes_with_a_little_is_told_from_who_has_come_to_the_end_of_much() -> None:
    known = warm("flood", "light")
    takes = known.shares(4)
    assert known.took(takes, [claimed("flood", 0), claimed("flood", 1), claimed("light", 0)], now=1.0)
    assert known.deep(lane("flood")) and not known.deep(lane("light")) and not known.deep(lane("unknown"))
    assert not known.took(known.shares(4), [claimed("flood", 2)], now=2.0)
    assert not known.took(known.shares(4), [], now=3.0)
    assert known.took(known.named([("default", "light")], room=5, now=4.0), [claimed("light", 1)], now=4.0)


@given(st.integers(0, 10_000))
def test_a_claim_fills_the_room_at_most_and_makes_headway(room: int) -> None:
    assert 0 < portion(room) <= min(room, BATCH) if room else portion(room) == 0


def test_who_has_just_given_very_many_does_not_come_with_a_little() -> None:
    """Courtesy would slow down the only one there is: between two floods of its own few are left, or few come first."""
    known = warm("a")
    known.took(known.shares(100), [claimed("a", n) for n in range(100)], now=1.0)
    assert not known.took(known.shares(100), [], now=1.1)
    assert not known.took(known.shares(100), [claimed("a", 101)], now=1.2)
    assert not known.took(known.shares(100), [], now=1.3)
    assert known.took(known.shares(100), [claimed("a", 102)], now=2.5)
