"""Cron expressions: read, and asked for the next and the previous time. No minute is walked: fields are masks of bits.

    minute 0-59   hour 0-23   day of month 1-31   month 1-12 or JAN-DEC   day of week 0-7 or SUN-SAT (0 and 7: Sunday)

Each field: `*`, numbers and names, ranges `a-b`, steps `*/n`, `a-b/n`, `a/n` (from a on), lists of these. Day of month:
`L` is the last. Day of week: `5L` is the last Friday, `5#2` the second. If both days are restricted (neither starts
with `*`), either may fit; else both must. @yearly, @monthly, @weekly, @daily and @hourly are names for what they say.

**Time zones.** A time that a gap leaves out fires once, at the first instant after the gap. A time that comes twice
fires once, the first time. But where minute or hour starts with `*` the expression means an interval, and keeps its
real spacing: it fires in both passes of a repeated hour, and nothing is made up for in a gap. (As Debian's cron does.)
"""

import datetime as dt
import functools
from collections.abc import Iterator

import msgspec

from weft.base import errors
from weft.cron import zones
from weft.cron.fields import Days, read
from weft.cron.zones import Stretch, Zone

MAX_LENGTH = 100
NICKNAMES = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip

_DAY = 1440
_FAR = 41 * 366 * _DAY
"""How far to look: 29 February on a Sunday is 40 years away at worst."""
_ORDINAL = dt.date(1970, 1, 1).toordinal()
_ONE_DAY = dt.timedelta(days=1)


class Schedule(msgspec.Struct, frozen=True):
    """A cron expression, read. Bit n of a mask: the minute, hour or month n."""

    text: str
    minutes: int
    hours: int
    months: int
    days: Days
    interval: bool

    def first(self, low: int, high: int) -> int | None:
        """The first wall in [low, high) that fits."""
        day, minute = divmod(low, _DAY)
        date = dt.date.fromordinal(_ORDINAL + day)
        while (found := self._day_from(date, _ORDINAL + (high - 1) // _DAY)) is not None:
            at = self._time_from(minute if found == date else 0)
            if at is not None:
                wall = (found.toordinal() - _ORDINAL) * _DAY + at
                return wall if wall < high else None
            date, minute = found + _ONE_DAY, 0
        return None

    def last(self, low: int, high: int) -> int | None:
        """The last wall in [low, high) that fits."""
        if high <= low:
            return None
        day, minute = divmod(high - 1, _DAY)
        date = dt.date.fromordinal(_ORDINAL + day)
        while (found := self._day_up_to(date, _ORDINAL + low // _DAY)) is not None:
            at = self._time_up_to(minute if found == date else _DAY - 1)
            if at is not None:
                wall = (found.toordinal() - _ORDINAL) * _DAY + at
                return wall if wall >= low else None
            date, minute = found - _ONE_DAY, _DAY - 1
        return None

    def _time_from(self, minute: int) -> int | None:
        hour, minute = divmod(minute, 60)
        if self.hours >> hour & 1 and (rest := self.minutes >> minute):
            return hour * 60 + minute + _lowest(rest)
        if rest := self.hours >> hour + 1:
            return (hour + 1 + _lowest(rest)) * 60 + _lowest(self.minutes)
        return None

    def _time_up_to(self, minute: int) -> int | None:
        hour, minute = divmod(minute, 60)
        if self.hours >> hour & 1 and (rest := self.minutes & (2 << minute) - 1):
            return hour * 60 + _highest(rest)
        if rest := self.hours & (1 << hour) - 1:
            return _highest(rest) * 60 + _highest(self.minutes)
        return None

    def _day_from(self, date: dt.date, limit: int) -> dt.date | None:
        """The first day from `date` on that fits, if its ordinal is within the limit."""
        year, month, day = date.year, date.month, date.day
        while True:
            if rest := self.months >> month & 1 and self.days.of(year, month) >> day:
                found = dt.date(year, month, day + _lowest(rest))
                return found if found.toordinal() <= limit else None
            later = self.months >> month + 1
            year, month, day = (year, month + 1 + _lowest(later), 1) if later else (year + 1, _lowest(self.months), 1)
            if year > 9999 or dt.date(year, month, 1).toordinal() > limit:
                return None

    def _day_up_to(self, date: dt.date, limit: int) -> dt.date | None:
        year, month, day = date.year, date.month, date.day
        while True:
            if rest := self.months >> month & 1 and self.days.of(year, month) & (2 << day) - 1:
                found = dt.date(year, month, _highest(rest))
                return found if found.toordinal() >= limit else None
            earlier = self.months & (1 << month) - 1
            year, month, day = (year, _highest(earlier), 31) if earlier else (year - 1, _highest(self.months), 31)
            if year < 1 or dt.date(year, month, 28).toordinal() + 3 < limit:
                return None


@functools.lru_cache(maxsize=65_536)
def parse(text: str) -> Schedule:
    """The schedule of an expression; InvalidCron says what is wrong, where, and what would be right."""
    if len(text) > MAX_LENGTH:
        raise errors.InvalidCron(f"a cron expression has at most {MAX_LENGTH} characters, this one {len(text)}")
    plain = text.strip()
    if plain.startswith("@"):
        if plain.lower() not in NICKNAMES:
            known = ", ".join(NICKNAMES)
            raise errors.InvalidCron(f"cron {text!r}: position 1: {plain} is not known; known: {known}", position=1)
        plain = NICKNAMES[plain.lower()]
    fields = read(plain if plain != text.strip() else text)
    schedule = Schedule(
        text=plain,
        minutes=fields.minutes,
        hours=fields.hours,
        months=fields.months,
        days=fields.days,
        interval=plain.split()[0].startswith("*") or plain.split()[1].startswith("*"),
    )
    # the calendar repeats after 400 years
    if schedule.first(0, 400 * 366 * _DAY) is None:
        raise errors.InvalidCron(f"cron {text!r} never fits: no month it names has such a day")
    return schedule


def after(schedule: Schedule, zone: Zone, moment: dt.datetime) -> dt.datetime | None:
    """The first time after a moment, in UTC; None if there is none in the next forty years."""
    return _after(schedule, zone, zones.minutes(moment) + 1)


# what falls due together was mostly written alike
@functools.lru_cache(maxsize=16_384)
def _after(schedule: Schedule, zone: Zone, minute: int) -> dt.datetime | None:
    """The first time that is not before a minute."""
    far = min(minute + _FAR, zones.LAST)
    while minute < far:
        number = zone.at(minute)
        stretch = zone.stretch(number)
        assert stretch is not None
        found = _first_in(schedule, stretch, zone.stretch(number - 1), minute)
        if found is not None:
            return zones.moment(found)
        minute = stretch.end
    return None


def before(schedule: Schedule, zone: Zone, moment: dt.datetime) -> dt.datetime | None:
    """The last time at or before a moment, in UTC; None if there is none in the forty years before."""
    minute = min(zones.minutes(moment), zones.LAST - 1)
    number = zone.at(minute)
    while (stretch := zone.stretch(number)) is not None and stretch.end > minute - _FAR:
        found = _last_in(schedule, stretch, zone.stretch(number - 1), minute)
        if found is not None:
            return zones.moment(found)
        number -= 1
    return None


def between(schedule: Schedule, zone: Zone, start: dt.datetime, end: dt.datetime) -> Iterator[dt.datetime]:
    """All times after `start`, up to `end`."""
    found = after(schedule, zone, start)
    while found is not None and found <= end:
        yield found
        found = after(schedule, zone, found)


def _first_in(schedule: Schedule, stretch: Stretch, previous: Stretch | None, minute: int) -> int | None:
    """The first time in a stretch, not before a minute."""
    reached = _reached(schedule, stretch, previous)
    start = stretch.start + stretch.offset
    if minute <= stretch.start and reached < start and schedule.first(reached, start) is not None:
        return stretch.start  # the gap before it left something out
    wall = schedule.first(max(minute + stretch.offset, start, reached), stretch.end + stretch.offset)
    return None if wall is None else wall - stretch.offset


def _last_in(schedule: Schedule, stretch: Stretch, previous: Stretch | None, minute: int) -> int | None:
    """The last time in a stretch, not after a minute."""
    reached = _reached(schedule, stretch, previous)
    start = stretch.start + stretch.offset
    wall = schedule.last(max(start, reached), min(minute + 1, stretch.end) + stretch.offset)
    if wall is not None:
        return wall - stretch.offset
    return stretch.start if reached < start and schedule.last(reached, start) is not None else None


def _reached(schedule: Schedule, stretch: Stretch, previous: Stretch | None) -> int:
    """The wall that the clock had reached before this stretch; an interval does not look back."""
    if schedule.interval or previous is None:
        return stretch.start + stretch.offset
    return previous.end + previous.offset


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _highest(mask: int) -> int:
    return mask.bit_length() - 1
