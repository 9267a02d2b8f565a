"""Cron: equal to an independent walk over every minute, around every change of every zone's clock."""

import datetime as dt
import functools
import os
import random
import zoneinfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from minute_walk import MINUTE, Walk

from weft.base import errors
from weft.cron import schedule as cron
from weft.cron import zones

UTC = dt.UTC
FULL = os.environ.get("WEFT_CRON_FULL") == "1"
"""Every change of every zone's clock from 2020 to 2037 instead of a sample: `WEFT_CRON_FULL=1 make test ARGS=tests/cron`."""
FIRST, LAST = dt.datetime(2020, 1, 1, tzinfo=UTC), dt.datetime(2038, 1, 1, tzinfo=UTC)

NAMED = (
    "30 2 * * *", "0,30 2 * * *", "0 2,3 * * *", "30 1 * * *", "0 0 * * *", "59 23 * * *", "0 0 1 * *", "*/15 * * * *",
    "30 * * * *", "*/20 2 * * *", "15 */2 * * *", "5 0-4 * * SUN", "10,40 1-2 * 3,10 *", "0 0 L * *", "0 12 * * 5#2",
    "30 2 * * 0L", "45 23 13 * FRI", "0 0-3/1 */2 * 6", "1 1 * * 6-7", "17 3/5 * JAN-DEC/3 MON-FRI",
)  # fmt: skip


def random_expression(dice: random.Random) -> str:
    def field(low: int, high: int) -> str:
        def one() -> str:
            first = dice.randint(low, high)
            last = dice.randint(first, high)
            return dice.choice([
                str(first), f"{first}-{last}", f"{first}-{last}/{dice.randint(1, min(9, high))}",
                f"{first}/{dice.randint(1, high)}",
            ])  # fmt: skip

        kind = dice.random()
        if kind < 0.4:
            return dice.choice(["*", "*", f"*/{dice.randint(1, 20)}"] if high > 20 else ["*", "*", "*/2"])
        return ",".join(one() for _ in range(dice.choice([1, 1, 1, 2, 3])))

    while True:
        weekday = dice.choice(["*", "*", field(0, 6), field(0, 7), f"{dice.randint(0, 7)}#{dice.randint(1, 5)}",
                               f"{dice.randint(0, 7)}L", "MON-FRI"])  # fmt: skip
        hour = dice.choice([field(0, 23), field(0, 4), "*"])
        day, month = dice.choice(["*", field(1, 31), "L", "1,L"]), dice.choice(["*", field(1, 12)])
        text = f"{field(0, 59)} {hour} {day} {month} {weekday}"
        try:
            cron.parse(text)
        except errors.InvalidCron as error:
            assert "never fits" in error.message or "at most 100" in error.message, error
            continue
        return text


def changes(name: str) -> list[dt.datetime]:
    """The minutes in which a zone's clock is changed, found by asking `zoneinfo` for every day."""
    zone = zoneinfo.ZoneInfo(name)
    found, offset = [], FIRST.astimezone(zone).utcoffset()
    for day in range(1, (LAST - FIRST).days):
        low, high = FIRST + dt.timedelta(days=day - 1), FIRST + dt.timedelta(days=day)
        if high.astimezone(zone).utcoffset() != offset:
            while high - low > MINUTE:
                middle = low + (high - low) // MINUTE // 2 * MINUTE
                low, high = (middle, high) if middle.astimezone(zone).utcoffset() == offset else (low, middle)
            found.append(high)
            offset = high.astimezone(zone).utcoffset()
    return found


@functools.cache
def zones_to_try() -> list[tuple[str, list[dt.datetime]]]:
    """Some zones with their changes; in full, all but those whose clocks always show what another's do."""
    names = sorted(zones._names())
    found: dict[tuple[object, ...], tuple[str, list[dt.datetime]]] = {}
    for name in names if FULL else random.Random(2).sample(names, 40):
        zone, at = zoneinfo.ZoneInfo(name), changes(name)
        found.setdefault(tuple((one, one.astimezone(zone).utcoffset()) for one in (FIRST, *at)), (name, at))
    return list(found.values())


def compare(text: str, name: str, start: dt.datetime, end: dt.datetime) -> int:
    """That the next and the previous times in [start, end) are those of the walk; answers how many."""
    schedule, zone = cron.parse(text), zones.zone(name)
    expected = list(Walk(text).times(zoneinfo.ZoneInfo(name), start, end))
    assert list(cron.between(schedule, zone, start - MINUTE, end - MINUTE)) == expected, (text, name, start)
    back = []
    at = cron.before(schedule, zone, end - MINUTE)
    while at is not None and at >= start:
        back.append(at)
        at = cron.before(schedule, zone, at - MINUTE)
    assert back[::-1] == expected, (text, name, start)
    return len(expected)


def around(change: dt.datetime) -> tuple[dt.datetime, dt.datetime]:
    return change - dt.timedelta(hours=26), change + dt.timedelta(hours=26)


HARD = ("America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Nuuk", "Asia/Beirut", "Africa/Casablanca",
        "Europe/Dublin", "America/Havana", "Pacific/Chatham", "Antarctica/Troll")  # fmt: skip


@pytest.mark.parametrize("name", HARD)
def test_hard_zones_equal_a_walk_over_every_minute(name: str) -> None:
    dice = random.Random(name)
    found = changes(name)[:: 1 if FULL else 8]
    assert found
    for change in found:
        for text in (*dice.sample(NAMED, 3), random_expression(dice)):
            compare(text, name, *around(change))


PARTS = 60 if FULL else 1


@pytest.mark.parametrize("part", range(PARTS))
def test_every_zone_equals_a_walk_over_every_minute(part: int) -> None:
    """In full all changes of all zones with four expressions each, else one change of some zones with two."""
    dice = random.Random(part)
    ticks = 0
    for name, found in zones_to_try()[part::PARTS]:
        for change in found if FULL else dice.sample(found, min(1, len(found))):
            expressions = (*dice.sample(NAMED, 2), random_expression(dice), random_expression(dice))
            for text in expressions if FULL else dice.sample(expressions, 2):
                ticks += compare(text, name, *around(change))
    assert ticks or FULL


def test_a_month_of_many_expressions_equals_a_walk() -> None:
    dice = random.Random(5)
    for number in range(60 if FULL else 8):
        start = FIRST + dt.timedelta(minutes=dice.randrange(int((LAST - FIRST) / MINUTE)))
        compare(random_expression(dice), dice.choice(HARD), start, start + dt.timedelta(days=32 if number % 4 else 2))


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=UTC)


def following(text: str, name: str, start: str, count: int) -> list[str]:
    at, found = utc(start), []
    for _ in range(count):
        at = cron.after(cron.parse(text), zones.zone(name), at) or at
        found.append(f"{at:%Y-%m-%dT%H:%M}")
    return found


@pytest.mark.parametrize(("text", "name", "start", "found"), [
    ("0 9 * * *", "America/New_York", "2024-01-15T10:30", ["2024-01-15T14:00", "2024-01-16T14:00"]),
    ("30 2 * * *", "America/New_York", "2026-03-07T12:00", ["2026-03-08T07:00", "2026-03-09T06:30"]),
    ("0,30 2,3 * * *", "America/New_York", "2026-03-08T06:59", ["2026-03-08T07:00", "2026-03-08T07:30", "2026-03-09T06:00"]),
    ("30 1 * * *", "America/New_York", "2026-10-31T12:00", ["2026-11-01T05:30", "2026-11-02T06:30"]),
    ("*/30 * * * *", "America/New_York", "2026-11-01T05:00", ["2026-11-01T05:30", "2026-11-01T06:00", "2026-11-01T06:30"]),
    ("0 * * * *", "Europe/Berlin", "2026-03-29T00:30", ["2026-03-29T01:00", "2026-03-29T02:00"]),
    ("0 0 29 2 *", "UTC", "2026-01-01T00:00", ["2028-02-29T00:00", "2032-02-29T00:00"]),
    ("0 0 29 2 *", "UTC", "2096-03-01T00:00", ["2104-02-29T00:00"]),
    ("0 0 29 2 */7", "UTC", "2088-03-01T00:00", ["2116-02-29T00:00".replace("2116", "2128")]),
    ("0 0 13 * 5", "UTC", "2026-02-01T00:00", ["2026-02-06T00:00", "2026-02-13T00:00", "2026-02-20T00:00"]),
    ("0 0 */10 * 1", "UTC", "2026-01-01T00:00", ["2026-05-11T00:00"]),
    ("0 0 L 2 *", "UTC", "2027-01-01T00:00", ["2027-02-28T00:00", "2028-02-29T00:00"]),
    ("0 0 * * 5L", "UTC", "2026-01-01T00:00", ["2026-01-30T00:00", "2026-02-27T00:00"]),
    ("0 0 * * FRI-SUN", "UTC", "2026-01-01T00:00", ["2026-01-02T00:00", "2026-01-03T00:00", "2026-01-04T00:00"]),
    ("@weekly", "UTC", "2026-01-01T00:00", ["2026-01-04T00:00"]),
    ("0 0 * * *", "Africa/Cairo", "2026-04-23T12:00", ["2026-04-23T22:00", "2026-04-24T21:00"]),
])  # fmt: skip
def test_times_written_by_hand(text: str, name: str, start: str, found: list[str]) -> None:
    assert following(text, name, start, len(found)) == found


def test_seconds_do_not_count() -> None:
    schedule, zone = cron.parse("0 9 * * *"), zones.zone("UTC")
    nine = utc("2026-01-01T09:00")
    assert cron.after(schedule, zone, nine - dt.timedelta(microseconds=1)) == nine
    assert cron.after(schedule, zone, nine) == nine + dt.timedelta(days=1)
    assert cron.before(schedule, zone, nine) == nine
    assert cron.before(schedule, zone, nine - dt.timedelta(microseconds=1)) == nine - dt.timedelta(days=1)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.datetimes(dt.datetime(2020, 1, 1), dt.datetime(2037, 1, 1)))
def test_the_next_time_and_the_previous_one_agree(seed: int, moment: dt.datetime) -> None:
    dice = random.Random(seed)
    schedule, zone = cron.parse(random_expression(dice)), zones.zone(dice.choice(HARD))
    at = moment.replace(tzinfo=UTC)
    after, before = cron.after(schedule, zone, at), cron.before(schedule, zone, at)
    assert after is None or (after > at and cron.before(schedule, zone, after) == after)
    assert before is None or (before <= at and cron.after(schedule, zone, before) == after)


def test_the_end_of_the_calendar_is_not_an_error() -> None:
    schedule, zone = cron.parse("0 0 1 1 *"), zones.zone("Europe/Berlin")
    assert cron.after(schedule, zone, dt.datetime(9999, 6, 1, tzinfo=UTC)) is None
    assert cron.before(schedule, zone, dt.datetime(1, 6, 1, tzinfo=UTC)) is None
    assert cron.before(schedule, zone, dt.datetime(9999, 6, 1, tzinfo=UTC)) is not None


@pytest.mark.parametrize(("text", "message"), [
    ("", "has 0 fields, it needs 5"),
    ("* * * *", "has 4 fields, it needs 5: minute, hour, day of month, month, day of week"),
    ("0 0 9 * * *", "has 6 fields"),
    ("61 * * * *", "position 1: minute 61 is not 0 to 59"),
    ("* 24 * * *", "position 3: hour 24 is not 0 to 23"),
    ("* * 0 * *", "position 5: day of month 0 is not 1 to 31"),
    ("* * * 13 *", "position 7: month 13 is not 1 to 12"),
    ("* * * * 8", "position 9: day of week 8 is not 0 to 7"),
    ("5,10,x * * * *", "position 6: minute 'X' is not 0 to 59"),
    ("* * * FOO *", "month 'FOO' is not 1 to 12 or JAN to DEC"),
    ("*/0 * * * *", "after / comes a whole number from 1 to 59"),
    ("*/x * * * *", "after / comes a whole number"),
    ("22-2 * * * *", "a range goes up; write 22-59,0-2"),
    ("1- * * * *", "something is missing"),
    ("1,,2 * * * *", "position 3: minute something is missing"),
    ("* * 15W * *", "position 5: day of month '15W' is not"),
    ("* * * * 5#6", "after # comes 1 to 5"),
    ("0 0 30 2 *", "never fits: no month it names has such a day"),
    ("0 0 31 4,6,9,11 *", "never fits"),
    ("@reboot", "@reboot is not known; known: @yearly"),
    ("* " * 60, "at most 100 characters"),
    ("٣ * * * *", "position 1"),
    ("1e3 * * * *", "position 1"),
])  # fmt: skip
def test_what_is_wrong_is_told_with_its_position(text: str, message: str) -> None:
    with pytest.raises(errors.InvalidCron) as caught:
        cron.parse(text)
    assert message in caught.value.message


@settings(deadline=None)
@given(st.text(st.sampled_from("0123456789*/,-#LWJANMON@ \t"), max_size=30))
def test_any_text_is_a_schedule_or_refused(text: str) -> None:
    try:
        schedule = cron.parse(text)
    except errors.InvalidCron:
        return
    assert cron.after(schedule, zones.zone("UTC"), FIRST) is not None


@pytest.mark.parametrize("name", [
    "Europe/Berlim", "localtime", "", "../etc/passwd", "/etc/localtime", "right/UTC", "posixrules", "Europe",
    "Europe/\0Berlin", "x" * 500,
])  # fmt: skip
def test_an_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(errors.InvalidTimezone, match="unknown time zone"):
        zones.zone(name)


def test_a_zone_that_was_nearly_right_is_named() -> None:
    with pytest.raises(errors.InvalidTimezone, match="did you mean 'Europe/Berlin'"):
        zones.zone("europe/berlin")


def test_offsets_are_whole_minutes_and_last_longer_than_a_week() -> None:
    """What `zones` builds on."""
    for name, _ in zones_to_try():
        zone = zones.zone(name)
        zone.at(zones.minutes(LAST))
        info = zoneinfo.ZoneInfo(name)
        number = zone.at(zones.minutes(FIRST))
        while (stretch := zone.stretch(number)) is not None and stretch.start < zones.minutes(LAST):
            offset = zones.moment(max(stretch.start, zones.minutes(FIRST))).astimezone(info).utcoffset()
            assert offset is not None and offset.total_seconds() == stretch.offset * 60
            assert stretch.end - stretch.start > 7 * 1440
            number += 1
            if stretch.end >= zones.minutes(LAST):
                break
