"""The five fields of a cron expression, read into masks; what is wrong is told with its position."""

import calendar
import functools
import re
from typing import NoReturn

import msgspec

from weft.base import errors

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_WORD = re.compile(r"\S+")


class Kind(msgspec.Struct, frozen=True):
    """One of the five: what it is called and what it takes."""

    name: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()


MINUTE = Kind("minute", 0, 59)
HOUR = Kind("hour", 0, 23)
DAY = Kind("day of month", 1, 31)
MONTH = Kind("month", 1, 12, _MONTHS)
WEEKDAY = Kind("day of week", 0, 7, _WEEKDAYS)
KINDS = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)


class Days(msgspec.Struct, frozen=True):
    """Which days of a month fit."""

    dates: int
    """Bit n: the day n."""
    last: bool
    """The last day too."""
    weekdays: int
    """Bit n: the weekday n, Sunday 0."""
    nth: tuple[tuple[int, int], ...]
    """(weekday, which): the second Friday is (5, 2), the last is (5, 0)."""
    either: bool
    """Both are restricted: a day of month or a day of week is enough."""

    def of(self, year: int, month: int) -> int:
        """Bit n: the day n of this month fits."""
        return _days(self.dates, self.last, self.weekdays, self.nth, self.either, *_shape(year, month))


class Fields(msgspec.Struct, frozen=True):
    minutes: int
    hours: int
    months: int
    days: Days


def read(text: str) -> Fields:
    """The fields of an expression; InvalidCron if they are not five or one of them is wrong."""
    words = [(found[0], found.start()) for found in _WORD.finditer(text)]
    if len(words) != 5:
        names = ", ".join(kind.name for kind in KINDS)
        raise errors.InvalidCron(f"cron {text!r} has {len(words)} fields, it needs 5: {names}", fields=len(words))
    minute, hour, day, month, weekday = (_Field(text, kind, *word) for kind, word in zip(KINDS, words, strict=True))
    dates, last = day.dates()
    weekdays, nth = weekday.weekdays()
    either = not day.starred and not weekday.starred
    return Fields(minute.mask(), hour.mask(), month.mask(), Days(dates, last, weekdays, nth, either))


class _Field:
    def __init__(self, text: str, kind: Kind, word: str, start: int) -> None:
        self._text, self._kind, self._start = text, kind, start
        self.starred = word.startswith("*")
        self._parts: list[tuple[str, int]] = []
        at = start
        for part in word.split(","):
            self._parts.append((part.upper(), at))
            at += len(part) + 1

    def mask(self) -> int:
        found = 0
        for part, at in self._parts:
            found |= self._part(part, at)
        return found

    def dates(self) -> tuple[int, bool]:
        """Days of a month, and whether its last one is among them."""
        plain = [one for one in self._parts if one[0] != "L"]
        last = len(plain) < len(self._parts)
        self._parts = plain
        return self.mask(), last

    def weekdays(self) -> tuple[int, tuple[tuple[int, int], ...]]:
        """Weekdays, and those that only count once a month."""
        plain, nth = [], []
        for part, at in self._parts:
            day, sharp, which = part.partition("#")
            if sharp:
                if which not in {"1", "2", "3", "4", "5"}:
                    self._refuse(at, f"{part}: after # comes 1 to 5, which of the month's it is")
                nth.append((self._number(day, at) % 7, int(which)))
            elif len(part) > 1 and part.endswith("L"):
                nth.append((self._number(part[:-1], at) % 7, 0))
            else:
                plain.append((part, at))
        self._parts = plain
        mask = self.mask()
        return (mask | mask >> 7) & 0x7F, tuple(nth)

    def _part(self, part: str, at: int) -> int:
        base, slash, step = part.partition("/")
        if slash and (not step.isdecimal() or not step.isascii() or not 0 < int(step) <= self._kind.highest):
            self._refuse(at, f"{part}: after / comes a whole number from 1 to {self._kind.highest}")
        low, dash, high = base.partition("-")
        if base == "*":
            first, last = self._kind.lowest, self._kind.highest - (self._kind is WEEKDAY)
        elif dash:
            first, last = self._number(low, at), self._number(high, at)
            if self._kind is WEEKDAY and last == 0 < first:
                last = 7  # FRI-SUN
            if first > last:
                self._refuse(at, f"{base}: a range goes up; write {low}-{self._kind.highest},{self._kind.lowest}-{high}")
        else:
            first = last = self._number(base, at)
            if slash:
                last = self._kind.highest - (self._kind is WEEKDAY)
        return functools.reduce(int.__or__, (1 << one for one in range(first, last + 1, int(step or 1))), 0)

    def _number(self, word: str, at: int) -> int:
        kind = self._kind
        if word in kind.names:
            return kind.names.index(word) + kind.lowest
        if not word.isdecimal() or not word.isascii():
            named = f" or {kind.names[0]} to {kind.names[-1]}" if kind.names else ""
            found = f"{word!r} is" if word else "something is missing:"
            self._refuse(at, f"{found} not {kind.lowest} to {kind.highest}{named}")
        if len(word) > 4 or not kind.lowest <= int(word) <= kind.highest:
            self._refuse(at, f"{word[:20]} is not {kind.lowest} to {kind.highest}")
        return int(word)

    def _refuse(self, at: int, message: str) -> NoReturn:
        raise errors.InvalidCron(
            f"cron {self._text!r}: position {at + 1}: {self._kind.name} {message}", position=at + 1, field=self._kind.name
        )


@functools.lru_cache(maxsize=4096)
def _shape(year: int, month: int) -> tuple[int, int]:
    """The weekday of the first (Sunday 0), and how many days there are."""
    weekday, length = calendar.monthrange(year, month)
    return (weekday + 1) % 7, length


@functools.lru_cache(maxsize=65_536)
def _days(
    dates: int, last: bool, weekdays: int, nth: tuple[tuple[int, int], ...], either: bool, begins: int, length: int
) -> int:
    """The mask of a month that begins on this weekday and has so many days: there are only 28 such months."""
    by_date = dates | (last << length)
    by_weekday = 0
    for day in range(1, length + 1):
        weekday = (begins + day - 1) % 7
        ordinal, final = (day + 6) // 7, day + 7 > length
        fits = weekdays >> weekday & 1 or (weekday, ordinal) in nth or (final and (weekday, 0) in nth)
        by_weekday |= bool(fits) << day
    whole = (2 << length) - 2
    return (by_date | by_weekday if either else by_date & by_weekday) & whole
