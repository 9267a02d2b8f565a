"""When to look again: after a moment of quiet, at the latest after a while, never all the time."""

from hypothesis import given
from hypothesis import strategies as st

from weft.live.debounce import LONGEST, QUIET, SHARE, Debounce


def test_a_single_change_waits_for_a_moment_of_quiet() -> None:
    one = Debounce()
    assert one.pause(10.0) == 0.0
    one.touch(10.0)
    assert abs(one.pause(10.0) - QUIET) < 1e-9 and one.pause(10.0 + QUIET + 0.001) == 0.0


@given(st.lists(st.floats(min_value=0, max_value=QUIET * 0.9), min_size=1, max_size=100))
def test_a_flurry_is_looked_at_in_the_end(gaps: list[float]) -> None:
    one, now = Debounce(), 100.0
    for gap in gaps:
        one.touch(now)
        now += gap
    assert now + one.pause(now) <= max(100.0 + LONGEST, now) + 1e-9


@given(st.floats(min_value=0, max_value=10))
def test_a_slow_look_rests_longer_than_it_took(took: float) -> None:
    one = Debounce()
    one.touch(0.0)
    one.looking()
    one.looked(took, took=took)
    one.touch(took)
    assert one.pause(took) >= took * SHARE - 1e-6
