"""Time zones as stretches of constant offset, which is what arithmetic with local times needs.

Found once for each zone by asking `zoneinfo` week by week and halving the weeks in which the offset changed, further
into the future as somebody asks. Everything is in whole minutes since 1970; offsets have been such since 1972.

    wall  a local time as a number: minutes since 1970 of a clock that knows no offset
"""

import bisect
import datetime as dt
import functools
import zoneinfo
from typing import NamedTuple

from weft.base import errors
from weft.base.names import closest

UTC = dt.UTC
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = 2 * 365 * 1440
_WEEK = 7 * 1440
_YEARS = 4 * 366 * 1440
LAST = (dt.datetime(2200, 1, 1, tzinfo=UTC) - EPOCH) // dt.timedelta(minutes=1)
"""Nothing is looked for beyond: a date far away would cost a search through all weeks until then."""


class Stretch(NamedTuple):
    """From one change of the offset to the next: [start, end) in minutes, and minutes to add for the local time."""

    start: int
    end: int
    offset: int


class Zone:
    """A zone's stretches. Made by `zone`, one for each name."""

    def __init__(self, info: zoneinfo.ZoneInfo) -> None:
        self.name = info.key
        self._info = info
        self._epoch = EPOCH.replace(tzinfo=info)
        self._starts = [_FIRST]
        self._offsets = [self._ask(_FIRST)]
        self._known = _FIRST

    def at(self, minute: int) -> int:
        """The number of the stretch a minute is in."""
        self._look(minute)
        return max(bisect.bisect_right(self._starts, minute) - 1, 0)

    def stretch(self, number: int) -> Stretch | None:
        """A stretch by its number, as far as it is known; None before the first."""
        if number < 0:
            return None
        end = self._starts[number + 1] if number + 1 < len(self._starts) else self._known
        return Stretch(self._starts[number], end, self._offsets[number])

    def _look(self, until: int) -> None:
        """Finds the changes up to a minute, and some years more, so that the next who asks finds them there."""
        if until < self._known:
            return
        wanted = min(until + _YEARS, LAST)
        while self._known < wanted:
            week = self._known + _WEEK
            if self._ask(week) != self._offsets[-1]:
                change = self._change(self._known, week)
                self._starts.append(change)
                self._offsets.append(self._ask(change))
                week = change
            self._known = week

    def _change(self, low: int, high: int) -> int:
        before = self._offsets[-1]
        while high - low > 1:
            middle = (low + high) // 2
            if self._ask(middle) == before:
                low = middle
            else:
                high = middle
        return high

    def _ask(self, minute: int) -> int:
        offset = self._info.fromutc(self._epoch + dt.timedelta(minutes=minute)).utcoffset()
        assert offset is not None
        return _whole(offset)


@functools.cache
def zone(name: str) -> Zone:
    """The zone of an IANA name; InvalidTimezone if there is none."""
    # "localtime" and the like mean something else on every machine
    if name not in _names():
        raise errors.InvalidTimezone(
            f"unknown time zone {name[:50]!r}{closest(name, sorted(_names()))}"
            + ("; use an IANA name such as Europe/Berlin" if "/" not in name else "")
        )
    return Zone(zoneinfo.ZoneInfo(name))


def minutes(moment: dt.datetime) -> int:
    """The minute a moment is in."""
    return _whole(moment - EPOCH)


def moment(minute: int) -> dt.datetime:
    return EPOCH + dt.timedelta(minutes=minute)


def _whole(span: dt.timedelta) -> int:
    """Its minutes, rounded down: a good deal faster than to divide it."""
    return span.days * 1440 + span.seconds // 60


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones() - {"localtime", "Factory"})
