"""Cron by walking: every minute of a time zone looked at, one after another, with nothing of ours but the expression's text.

Slow and plain on purpose. Fields are sets made by their description; local times come from `zoneinfo` alone.
"""

import calendar
import datetime as dt
import zoneinfo
from collections.abc import Iterator

MINUTE = dt.timedelta(minutes=1)
NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
MONTHS = {name: number for number, name in enumerate(NAMES, 1)}
WEEKDAYS = {name: number for number, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])}


def numbers(field: str, low: int, high: int, names: dict[str, int]) -> set[int]:
    found: set[int] = set()
    for part in field.upper().split(","):
        base, _, step = part.partition("/")
        bounds = [names.get(one, one) for one in base.split("-")]
        if base == "*":
            first, last = low, high
        elif len(bounds) == 2:
            first, last = int(bounds[0]), int(bounds[1])
        else:
            first = int(bounds[0])
            last = high if step else first
        found |= set(range(first, last + 1, int(step or 1)))
    return found


class Walk:
    """An expression, asked minute by minute."""

    def __init__(self, text: str) -> None:
        minute, hour, day, month, weekday = text.split()
        self.minutes, self.hours = numbers(minute, 0, 59, {}), numbers(hour, 0, 23, {})
        self.months = numbers(month, 1, 12, MONTHS)
        self.interval = minute[0] == "*" or hour[0] == "*"
        self.either = day[0] != "*" and weekday[0] != "*"
        self.last = "L" in day.split(",")
        self.dates = numbers(",".join(one for one in day.split(",") if one != "L") or "99", 1, 31, {}) - {99}
        simple = [one for one in weekday.split(",") if "#" not in one and not (one[-1] == "L" and len(one) > 1)]
        self.weekdays = {one % 7 for one in numbers(",".join(simple), 0, 6, WEEKDAYS)} if simple else set()
        self.nth = {(int(one[0]) % 7, int(one[2])) for one in weekday.split(",") if "#" in one}
        self.final = {int(one[:-1]) % 7 for one in weekday.split(",") if len(one) > 1 and one[-1] == "L"}

    def fits_day(self, date: dt.date) -> bool:
        length = calendar.monthrange(date.year, date.month)[1]
        weekday = date.isoweekday() % 7
        by_date = date.day in self.dates or (self.last and date.day == length)
        by_weekday = (
            weekday in self.weekdays
            or (weekday, (date.day - 1) // 7 + 1) in self.nth
            or (weekday in self.final and date.day > length - 7)
        )
        days = by_date or by_weekday if self.either else by_date and by_weekday
        return days and date.month in self.months

    def fits(self, local: dt.datetime) -> bool:
        return local.minute in self.minutes and local.hour in self.hours and self.fits_day(local.date())

    def times(self, zone: zoneinfo.ZoneInfo, start: dt.datetime, end: dt.datetime) -> Iterator[dt.datetime]:
        """Every time in [start, end)."""
        seen: dt.datetime | None = None  # the furthest that the local clock has shown
        at = start - dt.timedelta(days=1)
        while at < end:
            local = at.astimezone(zone).replace(tzinfo=None, fold=0)
            if self.interval:
                fire = self.fits(local)
            elif seen is not None and local <= seen:
                fire = False  # shown before
            else:
                fire = self.fits(local)
                if seen is not None:
                    left_out = seen + MINUTE
                    while left_out < local and not fire:
                        fire = self.fits(left_out)
                        left_out += MINUTE
            if fire and at >= start:
                yield at
            seen = local if seen is None else max(seen, local)
            at += MINUTE
