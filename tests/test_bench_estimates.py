"""The benchmark decides: an interval that is counted, a verdict that follows from it."""

import itertools
import random
import statistics

import pytest
from bench.estimate import FEWEST, WANTED, Estimate, Interval, confidence, depth, estimate
from bench.scenarios.measurement import Line
from bench.verdict import Bound
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.floats(min_value=0.001, max_value=1000)
MANY = st.lists(VALUES, min_size=FEWEST, max_size=40)
BOUNDS = VALUES.flatmap(lambda at: st.sampled_from([Bound(at_least=at), Bound(at_most=at), Bound(below=at)]))
# from the worst to the best
VERDICTS = ("missed", "missed, not surely", "met, not surely", "met")


def ends(found: Estimate) -> Interval:
    assert found.interval is not None
    return found.interval


@pytest.mark.parametrize("rounds", range(FEWEST, 11))
def test_the_confidence_is_the_share_of_all_ways_that_rounds_fall_on_both_sides(rounds: int) -> None:
    # a round is below (0) or above (1) the true median; the interval holds it if there are that many on each side
    ways = list(itertools.product((0, 1), repeat=rounds))
    for ends_at in range(1, rounds // 2 + 1):
        held = [way for way in ways if ends_at <= sum(way) <= rounds - ends_at]
        assert confidence(rounds, depth=ends_at) == len(held) / len(ways)


@pytest.mark.parametrize("rounds", range(FEWEST, 60))
def test_the_interval_is_the_narrowest_that_is_confident_enough(rounds: int) -> None:
    found = depth(rounds)
    assert confidence(rounds, depth=found) >= (WANTED if rounds > FEWEST else 0.9375)
    assert confidence(rounds, depth=found + 1) < WANTED
    assert depth(rounds) <= depth(rounds + 1)


def test_ten_rounds_leave_out_one_at_each_end_and_eight_none() -> None:
    assert estimate(range(1, 11)) == Estimate(5.5, low=1, high=10, repeats=10, interval=Interval(2, 9, 1 - 22 / 1024))
    assert ends(estimate(range(1, 9))) == Interval(1, 8, 1 - 2 / 256)


@given(st.lists(VALUES, min_size=1, max_size=FEWEST - 1))
def test_few_rounds_have_no_interval(values: list[float]) -> None:
    found = estimate(values)
    assert found.interval is None
    assert (found.low, found.median, found.high) == (min(values), statistics.median(values), max(values))


@given(MANY)
def test_the_interval_holds_the_estimate_and_stays_within_the_rounds(values: list[float]) -> None:
    found = estimate(values)
    assert found.low <= ends(found).low <= found.median <= ends(found).high <= found.high
    assert {ends(found).low, ends(found).high} <= set(values)


@given(MANY, st.randoms())
def test_the_order_of_the_rounds_says_nothing(values: list[float], dice: random.Random) -> None:
    shuffled = list(values)
    dice.shuffle(shuffled)
    assert estimate(shuffled) == estimate(values)


@given(MANY, st.floats(min_value=0, max_value=1))
def test_a_further_round_that_agrees_never_widens_the_interval(values: list[float], share: float) -> None:
    before = ends(estimate(values))
    agreeing = min(max(before.low + share * (before.high - before.low), before.low), before.high)
    after = ends(estimate([*values, agreeing]))
    assert before.low <= after.low <= after.high <= before.high


@given(MANY, st.integers(min_value=-8, max_value=8))
def test_another_unit_changes_the_unit_only(values: list[float], power: int) -> None:
    # by powers of two, because only those are exact
    found, scaled, unit = estimate(values), estimate(value * 2.0**power for value in values), 2.0**power
    assert scaled.median == found.median * unit
    assert ends(scaled) == Interval(ends(found).low * unit, ends(found).high * unit, ends(found).confidence)


@given(MANY)
def test_one_wild_round_of_ten_does_not_move_the_end_of_the_interval_beyond_the_others(values: list[float]) -> None:
    tame = (values * 2)[:9]
    found = ends(estimate([*tame, 1e9]))
    assert min(tame) <= found.low <= found.high <= max(tame)


@pytest.mark.parametrize(
    ("bound", "verdicts"),
    [
        (Bound(at_least=1), ["met", "met, not surely", "missed, not surely", "missed"]),
        (Bound(at_most=1), ["missed", "missed, not surely", "met, not surely", "met"]),
    ],
)
def test_a_verdict_is_sure_if_the_whole_interval_agrees(bound: Bound, verdicts: list[str]) -> None:
    rounds = ([1.1, 1.2, 1.3, 1.4, 1.5], [0.9, 1.1, 1.1, 1.2, 1.3], [0.7, 0.8, 0.9, 0.9, 1.1], [0.5, 0.6, 0.7, 0.8, 0.9])
    assert [bound.judge(estimate(values)) for values in rounds] == verdicts


def test_the_target_itself_is_good_unless_it_must_stay_below() -> None:
    found = estimate([2.0] * FEWEST)
    judged = [bound.judge(found) for bound in (Bound(at_least=2), Bound(at_most=2), Bound(below=2))]
    assert judged == ["met", "met", "missed"]


def test_without_an_interval_the_median_decides() -> None:
    assert Bound(at_least=1).judge(estimate([0.5, 1.1, 1.2])) == "met"
    assert Bound(at_least=1).judge(estimate([0.5, 0.9, 1.2])) == "missed"


@given(BOUNDS, MANY)
def test_a_verdict_says_met_if_and_only_if_the_median_is_on_the_good_side(bound: Bound, values: list[float]) -> None:
    found = estimate(values)
    verdict = bound.judge(found)
    assert verdict.startswith("met") == bound.met(found.median)
    crossed = bound.met(ends(found).low) != bound.met(ends(found).high)
    assert verdict.endswith("not surely") == crossed


@given(BOUNDS, MANY, st.floats(min_value=1, max_value=100))
def test_better_rounds_never_make_a_worse_verdict(bound: Bound, values: list[float], times: float) -> None:
    larger = [value * times for value in values]
    worse, better = (values, larger) if bound.at_least is not None else (larger, values)
    ranks = [VERDICTS.index(bound.judge(estimate(rounds))) for rounds in (worse, better)]
    assert ranks == sorted(ranks)


def test_a_target_for_every_round_is_missed_by_one_of_ten() -> None:
    values = [*[10.0] * 9, 11.0]
    every = Line("most at once", "highest", at_most=10, every=True)
    assert (every.judge(estimate(values)), every.judge(estimate([10.0] * 3))) == ("missed", "met")
    assert Line("most at once", "highest", at_most=10).judge(estimate(values)) == "met"
