"""Durations as people write them."""

import contextlib
import datetime as dt

import hypothesis
import pytest
from hypothesis import strategies as st

from weft.base import durations, errors


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (90, 90), (1.5, 1.5), ("90", 90), ("90s", 90), ("1h30m", 5400), ("1h 30m", 5400), ("2d", 172_800), ("1w", 604_800),
        ("250ms", 0.25), ("0", 0), ("1.5h", 5400), (dt.timedelta(minutes=2), 120), (0, 0), (-5, -5),
    ],
)  # fmt: skip
def test_what_people_write_is_understood(written: object, seconds: float) -> None:
    assert durations.parse(written) == dt.timedelta(seconds=seconds)  # type: ignore[arg-type]


@pytest.mark.parametrize("written", ["", "soon", "1x", "s", "1h-2m", "1h30", "nan", "inf", float("nan"), 1e300])
def test_what_is_no_duration_is_refused_by_name(written: object) -> None:
    with pytest.raises(errors.InvalidInput, match=r"^timeout .* is not a duration; write 30, '30s', '1h30m' or '2d'$"):
        durations.parse(written, name="timeout")  # type: ignore[arg-type]


@pytest.mark.parametrize("written", [None, True, [1], b"1s", dt.date(2026, 1, 1)])
def test_what_is_of_no_fitting_type_is_refused(written: object) -> None:
    with pytest.raises(errors.InvalidInput, match="delay must be a timedelta, seconds or text"):
        durations.parse(written, name="delay")  # type: ignore[arg-type]


@hypothesis.given(st.integers(0, 100), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_parts_add_up(days: int, hours: int, minutes: int, seconds: int) -> None:
    expected = dt.timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    assert durations.parse(f"{days}d{hours}h{minutes}m{seconds}s") == expected
    assert durations.parse(expected.total_seconds()) == expected


@hypothesis.given(st.text(max_size=20))
def test_any_text_is_understood_or_refused_in_our_words(written: str) -> None:
    with contextlib.suppress(errors.InvalidInput):
        durations.parse(written)
