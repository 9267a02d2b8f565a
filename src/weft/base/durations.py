"""Durations as people write them: `90`, `"90s"`, `"1h30m"`, `"2d"`, or a timedelta."""

import datetime as dt
import re

from weft.base import errors

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")


def parse(value: "dt.timedelta | float | int | str", *, name: str = "duration") -> dt.timedelta:
    """The timedelta meant by `value`; InvalidInput names the argument if it means none."""
    if isinstance(value, dt.timedelta):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise errors.InvalidInput(f"{name} must be a timedelta, seconds or text like '1h30m', not {value!r}")
    try:
        seconds = _from_text(value) if isinstance(value, str) else float(value)
        return dt.timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        raise errors.InvalidInput(f"{name} {value!r} is not a duration; write 30, '30s', '1h30m' or '2d'") from None


def _from_text(text: str) -> float:
    compact = text.replace(" ", "")
    parts = _PART.findall(compact)
    if parts and "".join(number + unit for number, unit in parts) == compact:
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    return float(compact)
